# git.sh OPTION…: clones a repository and sends it a commit, with these options of git.
set -eu
git "$@" clone --quiet "$BASE/hello.git"
cp posted hello
cd hello
git fsck --strict >&2
echo clone - - "$(git rev-parse HEAD)"
git config user.name t
git config user.email t@t.test
git add posted
git commit --quiet --message Second
git "$@" push --quiet origin HEAD:sent >&2
echo push - - "$(git rev-parse HEAD)"
