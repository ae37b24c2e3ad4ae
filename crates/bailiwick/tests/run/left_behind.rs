//! What a run leaves in a repository is data: whatever the user then does with git outside, nothing of it is
//! executed, connected to or read. Each case is a reproducer of an attack: what a program does inside, and
//! what a user does after it.

mod doubts;
mod ended;
mod indexes;
mod objects;
mod oracle;
mod random;
mod ways;

use crate::support::Sandbox;

/// An attack and the user's next commands.
struct Case {
    name: &'static str,
    /// What the user has made before.
    before: &'static str,
    inside: &'static str,
    /// In the shell of the user; what it prints is compared with nothing.
    after: &'static str,
    /// What must hold in the end, in the shell of the user.
    holds: &'static str,
}

/// Writes an index of one entry by hand: mode, id of the object, path, where to.
const INDEX: &str = "cat > index.py <<'X'
import hashlib, struct, sys
mode, oid, path, to = int(sys.argv[1], 8), sys.argv[2], sys.argv[3].encode(), sys.argv[4]
body = b'DIRC' + struct.pack('>II', 2, 1)
entry = bytes(24) + struct.pack('>I', mode) + bytes(12) + bytes.fromhex(oid) + struct.pack('>H', len(path)) + path + b'\\0'
body += entry + bytes(-len(entry) % 8)
open(to, 'wb').write(body + hashlib.sha1(body).digest())
X
blob=$(printf '#!/bin/sh\\ntouch PWNED\\n' | git hash-object -w --stdin)
";

const EVERYDAY: &str = "git status; git diff; git add -A; git commit -qm x; git restore .; git checkout .; git stash; \
    git log -p -1; git worktree list; git submodule status; git gc --auto";
const CLEAN: &str = "test ! -e PWNED -a ! -e sub/PWNED -a ! -e ../PWNED";

const CASES: &[Case] = &[
    // A repository made inside `.git/worktrees`, with a hook that was there before it was one.
    Case {
        name: "a repository in .git/worktrees",
        before: "",
        inside: "w=.git/worktrees/w1; mkdir -p $w/hooks sub; printf '#!/bin/sh\\ntouch ../PWNED\\n' > $w/hooks/post-index-change; \
            chmod +x $w/hooks/post-index-change; mkdir -p $w/objects $w/refs/heads; echo 'ref: refs/heads/main' > $w/HEAD; \
            printf 'gitdir: ../.git/worktrees/w1\\n' > sub/.git; (cd sub && git init; echo a > a; git add a; \
            git -c user.name=x -c user.email=y commit -qm s --no-verify); c=$(git -C sub rev-parse HEAD); \
            git update-index --add --cacheinfo 160000,$c,sub; touch -d '2 hours ago' sub/a",
        after: EVERYDAY,
        holds: "test ! -e PWNED -a ! -e .git/worktrees/w1/hooks",
    },
    // An index made by hand, whose paths git would never take.
    Case {
        name: "an index with a hook",
        before: "",
        inside: concat!(
            "python3 index.py 100755 $blob .git/hooks/post-checkout .git/index.tmp; mv .git/index.tmp .git/index; ",
            "python3 index.py 100755 $blob .git/hooks/post-checkout x; mv x .git/index; ",
            "rm -f .git/index; python3 index.py 100755 $blob .git/hooks/post-checkout .git/index"
        ),
        after: "git restore .; git checkout .; git checkout-index -a; git status",
        holds: "test ! -e PWNED -a ! -e .git/hooks/post-checkout",
    },
    Case {
        name: "an index with paths outside",
        before: "",
        inside: "python3 index.py 100644 $blob ../outside x; mv x .git/index",
        after: "git restore .; git checkout-index -af; git add -u; git rm -rf .",
        holds: "test ! -e ../outside",
    },
    // What the user's own configuration leads to.
    Case {
        name: "what the configuration leads to",
        before: "mkdir -p .githooks tools; printf '#!/bin/sh\\ntrue\\n' > .githooks/pre-commit; chmod +x .githooks/pre-commit; \
            printf '#!/bin/sh\\ncat\\n' > tools/clean.sh; chmod +x tools/clean.sh; printf '[user]\\n' > shared.config; \
            git config core.hooksPath .githooks; git config include.path ../shared.config; \
            git config filter.x.clean ./tools/clean.sh; echo '*.dat filter=x' > .gitattributes; echo 1 > a.dat; \
            git add -A; git commit -qm two",
        inside: "for f in .githooks/pre-commit .githooks/post-commit tools/clean.sh; do \
            printf '#!/bin/sh\\ntouch PWNED\\ncat\\n' > $f; chmod +x $f; printf '#!/bin/sh\\ntouch PWNED\\n' > t; chmod +x t; mv t $f; done; \
            printf '[core]\\nfsmonitor = touch PWNED\\n' > shared.config; mv tools tools2; mkdir tools; \
            printf '#!/bin/sh\\ntouch PWNED\\n' > tools/clean.sh; chmod +x tools/clean.sh; mv .githooks g2; touch a.dat",
        after: EVERYDAY,
        holds: CLEAN,
    },
    // Objects that are missing are fetched from wherever the configuration says.
    Case {
        name: "missing objects",
        before: "",
        inside: "git config extensions.partialClone evil; git config remote.evil.promisor true; \
            git config remote.evil.url ext::'sh -c touch% PWNED'; git config remote.evil.url http://127.0.0.1:9/DATA; \
            t=$(git rev-parse 'HEAD^{tree}'); rm -f .git/objects/$(echo $t | cut -c 1-2)/$(echo $t | cut -c 3-) .git/index",
        after: "git status",
        holds: "test -z \"$(git config --get extensions.partialClone)\" -a -z \"$(git config --get remote.evil.promisor)\"",
    },
    // Hooks of repositories in folders: removed, renamed, linked from, made executable.
    Case {
        name: "protected names in folders",
        before: "git init -q sub; printf '#!/bin/sh\\ntouch PWNED\\n' > sub/.git/hooks/post-index-change; \
            printf '#!/bin/sh\\n' > sub/.git/hooks/pre-push; chmod +x sub/.git/hooks/pre-push; echo '{}' > sub/.mcp.json; \
            mkdir -p sub/.claude sub/.vscode; echo '{\"deny\":1}' > sub/.claude/settings.json; echo '{}' > sub/.vscode/tasks.json; \
            chmod -x sub/.git/hooks/post-index-change; git -C sub config alias.mine status",
        inside: "rm -f sub/.git/hooks/pre-push sub/.mcp.json sub/.claude/settings.json sub/.git/config; rm -rf sub/.vscode; \
            chmod +x sub/.git/hooks/post-index-change; mv sub/.git/hooks/pre-push sub/x; mv sub/.git/hooks sub/.git/h; \
            ln sub/.git/hooks/pre-push sub/z && echo 'touch PWNED' >> sub/z; ln sub/.mcp.json sub/y; mv sub/.claude sub/c; \
            touch -d yesterday sub/.mcp.json; python3 -c 'import os; os.setxattr(\"sub/.mcp.json\", \"user.x\", b\"1\")'",
        after: "git -C sub status; git -C sub add .; git -C sub -c user.name=x -c user.email=y commit -qm x",
        holds: "test ! -e sub/PWNED -a -x sub/.git/hooks/pre-push -a ! -x sub/.git/hooks/post-index-change && \
            test -s sub/.mcp.json -a -s sub/.claude/settings.json -a -s sub/.vscode/tasks.json && git -C sub mine > /dev/null && \
            test ! -e sub/y -a ! -e sub/z && ! getfattr -d sub/.mcp.json 2> /dev/null | grep -q user.x",
    },
    // Sockets have names as well.
    Case {
        name: "sockets",
        before: "",
        inside: "python3 -c 'import os, socket\nfor p in [\".envrc\", \".vscode\", \".git/commondir\", \".git/fsmonitor--daemon.ipc\"]:\n    \
            s = socket.socket(socket.AF_UNIX)\n    try: s.bind(p)\n    except OSError: pass'",
        after: "git status",
        holds: "test ! -e .envrc -a ! -e .vscode -a ! -e .git/commondir -a ! -e .git/fsmonitor--daemon.ipc",
    },
    // Wider modes.
    Case {
        name: "wider modes",
        before: "",
        inside: "git config core.sharedRepository 0666",
        after: "git add -A; git commit -qm x",
        holds: "test -z \"$(find .git -perm -0002 -not -type l)\"",
    },
    // What git's own prompt for shells shows as it stands there: bash runs what is in it.
    Case {
        name: "the numbers of a rebase",
        before: "",
        inside: "for d in .git/rebase-merge .git/rebase-apply sub/.git/rebase-merge; do git init -q ${d%%.git*}; mkdir -p $d; \
            echo refs/heads/main > $d/head-name; for f in msgnum end next last; do printf '$(touch PWNED)\\n' > $d/$f; \
            printf '$(touch PWNED)\\n' > x; mv x $d/$f; done; done; true",
        after: "cat > rc <<'X'\n. /usr/lib/git-core/git-sh-prompt\nPROMPT_COMMAND='__git_ps1 a b'\nX\n\
            for d in . sub; do (cd $d; echo exit | bash --rcfile $OLDPWD/rc -i); done; rm rc",
        holds: "test ! -e PWNED -a ! -e sub/PWNED; grep -rsL '^[0-9]*$' .git/rebase-*/msgnum .git/rebase-*/next && exit 1; true",
    },
    // Pipes and devices where git expects files, by other calls than those that make them.
    Case {
        name: "pipes by links, and whiteouts",
        before: "echo x > .gitattributes; git add .; git commit -qm two",
        inside: "mkfifo x; for f in .gitignore d/.gitignore .mailmap .git/info/x .git/HEAD.x; do mkdir -p d; ln x $f; done; \
            python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\".gitattributes\", -100, b\"moved\", 4)'; rm x",
        after: "for c in 'status' 'log -1 -p' 'add -A'; do timeout 20 git $c || touch PWNED; done",
        holds: "test ! -e PWNED -a ! -e .gitignore -a ! -e d/.gitignore -a ! -e .mailmap -a -f .gitattributes",
    },
    // What a rebase that was begun would do at its end.
    Case {
        name: "a rebase that was begun",
        before: "git checkout -qb side; echo 2 > f; git commit -qam two; git checkout -q main; echo 3 > f; git commit -qam three; \
            git branch keep",
        inside: "git rebase side; echo 'exec touch PWNED' >> .git/rebase-merge/git-rebase-todo; \
            printf 'exec touch PWNED\\n' > t; cp t .git/rebase-merge/git-rebase-todo; mv t .git/rebase-merge/git-rebase-todo; \
            printf 'x/evil\\n' > .git/rebase-merge/strategy; printf '#!/bin/sh\\ntouch PWNED\\n' > git-merge-x; \
            mkdir -p git-merge-x.d; echo refs/heads/keep > .git/rebase-merge/refs-to-delete; git checkout --theirs f; git add f",
        after: "GIT_EDITOR=true git rebase --continue; git rebase --abort",
        holds: "test ! -e PWNED && git rev-parse -q --verify keep",
    },
    // Where git worktree and git bisect lead.
    Case {
        name: "worktrees, bisect and remotes",
        before: "mkdir -p ../foreign; echo data > ../foreign/f",
        inside: "git worktree add -q tree; echo $(dirname $PWD)/foreign/.git > .git/worktrees/tree/gitdir; \
            echo ../../../evil > .git/worktrees/tree/commondir; echo --force > .git/BISECT_START; \
            mkdir -p .git/remotes .git/info; echo 'URL: git://127.0.0.1:9/x' > .git/remotes/origin; echo x > .git/info/grafts; \
            echo /var/tmp/objects > .git/objects/info/alternates",
        after: "git worktree repair; git worktree prune; git fetch; git bisect reset",
        holds: "test ! -e ../foreign/.git -a ! -e .git/remotes/origin -a ! -e .git/info/grafts -a ! -e .git/objects/info/alternates",
    },
    // Links that the host would write through.
    Case {
        name: "links in git folders",
        before: "echo victim > ../victim",
        inside: "git checkout -q -b tmaster; rm .git/logs/refs/heads/tmaster; ln -s $PWD/../victim .git/logs/refs/heads/tmaster; \
            ln -s $PWD/../victim .git/tAb12cd; ln -s $PWD/../victim l; mv l .git/tAb12ce; ln -P .git/tAb12ce .git/COMMIT_EDITMSG; \
            git init -q --bare R; git -C R config core.logAllRefUpdates always; rm -rf R/logs; mkdir R/logs; ln -s $PWD/../victim R/logs/HEAD; \
            mkdir m; ln -s $PWD/../victim m/HEAD; rm -rf R/logs; mv m R/logs; mkdir -p late/logs late/objects late/refs; \
            ln -s $PWD/../victim late/logs/HEAD; echo 'ref: refs/heads/main' > late/HEAD",
        after: "echo y >> f; git commit -qam two; for d in R late; do (cd $d; git symbolic-ref HEAD refs/heads/x; \
            git update-ref refs/heads/x $(git -C .. rev-parse HEAD)); done",
        holds: "grep -qx victim ../victim && test $(wc -l < ../victim) = 1",
    },
    // Working trees that are exchanged for links.
    Case {
        name: "working trees elsewhere",
        before: "mkdir ../elsewhere; echo secret > ../elsewhere/secret",
        inside: "mkdir t; ln -s t link; git init -q --bare R; git -C R config core.bare false; git -C R config core.worktree ../link; \
            git -C R config core.worktree ../t; echo evil > t/.bashrc; git -C R add -A; rm link; mv t t2; ln -s $PWD/../elsewhere link; \
            ln -s $PWD/../elsewhere t; mkdir -p sub w; ln -s $PWD/../elsewhere sub/l; git init -q --bare .git/modules/m; \
            printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = ../../../sub/l\\n' > .git/modules/m/config.lock; \
            mv .git/modules/m/config.lock .git/modules/m/config; echo 'gitdir: ../.git/modules/m' > w/.git; sleep 0.2",
        after: "for d in R w; do (cd $d && git add -A; git checkout .; git cat-file -p :secret > ../../read-$d); done",
        holds: "test ! -e ../elsewhere/.bashrc && ! grep -q secret ../read-*",
    },
    // Repositories that nobody looks after.
    Case {
        name: "a file .git that leads out of what may be written",
        before: "git init -q -b main ../foreign; cd ../foreign; git config user.name t; git config user.email t@t.test; echo f > f; \
            git add f; git commit -qm f; git worktree add -q ../foreign-tree -b tree; git config core.fsmonitor 'touch ../PWNED; false'",
        inside: "mkdir w; echo \"gitdir: $(dirname $PWD)/foreign/.git/worktrees/foreign-tree\" > w/.git; sleep 0.2; \
            git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),w",
        after: EVERYDAY,
        holds: CLEAN,
    },
    // What git would wait for.
    Case {
        name: "pipes",
        before: "",
        inside: "git init -q n; mkfifo p; python3 -c 'import ctypes\nctypes.CDLL(None).renameat2(-100, b\"n/.git/info/exclude\", -100, b\"p\", 2)'; \
            mkdir src; mkfifo src/HEAD; mkfifo .gitignore; mkfifo q; mv q .gitattributes",
        after: "for d in . n src; do (cd $d; timeout 10 git status || touch ../HANGS HANGS); done",
        holds: "test ! -e HANGS -a ! -p src/HEAD -a ! -p .gitignore -a ! -p n/.git/info/exclude",
    },
    // What is decided in one place and moved to another.
    Case {
        name: "git folders that are moved",
        before: "mkdir ../t; echo secret > ../t/secret",
        inside: "mkdir -p t d; git init -q --bare d/R; git -C d/R config core.bare false; git -C d/R config core.worktree ../../t; mv d/R R; \
            git init -q n; rm -rf n/.git/logs; mkdir -p n/.git/logs/objects n/.git/logs/refs; \
            printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=..\\nfsmonitor=\"touch PWNED; false\"\\n' > n/.git/logs/config; \
            echo ref: refs/heads/main > n/.git/logs/HEAD; mv n/.git/logs n/y",
        after: "(cd R && git add -A; git checkout .; git cat-file -p :secret > ../../read); (cd n/y && git status); (cd n/.git/logs && git status)",
        holds: "test ! -e n/PWNED -a ! -e PWNED -a ! -e n/y/PWNED && ! grep -q secret ../read && test -z \"$(find . -name PWNED)\"",
    },
    // A folder that nobody may go through for a while.
    Case {
        name: "a folder that is closed meanwhile",
        before: "",
        inside: "mkdir P; git init -q --bare P/R; rm -rf P/R/hooks; mkdir P/R/hooks; rm P/R/config; python3 -c 'import os\nR, H, P = (os.open(p, os.O_RDONLY) for p in (\"P/R\", \"P/R/hooks\", \"P\"))\ndef w(name, fd, text, mode):\n    try:\n        f = os.open(name, os.O_CREAT | os.O_WRONLY, mode, dir_fd=fd); os.write(f, text); os.close(f)\n    except OSError: pass\nos.fchmod(P, 0)\nw(\"post-index-change\", H, b\"#!/bin/sh\\ntouch PWNED\\n\", 0o755)\nw(\"config\", R, b\"[core]\\nrepositoryformatversion=0\\nbare=false\\nworktree=../..\\nfsmonitor=touch PWNED\\n\", 0o644)\nos.fchmod(P, 0o755)'",
        after: "cd P/R && git status; git add -A",
        holds: "test -z \"$(find . -name PWNED)\" -a ! -e P/R/hooks/post-index-change",
    },
    // What the configuration of a repository in a folder leads to, wherever both are moved.
    Case {
        name: "what a nested configuration leads to",
        before: "for s in one two three sub; do git init -q $s; git -C $s config core.hooksPath hk; git -C $s config filter.f.clean tools/c.sh; \
            git -C $s config user.name u; git -C $s config user.email u@t.test; echo 1 > $s/f; git -C $s add f; git -C $s commit -qm s; done; \
            git -C three config core.hooksPath \"$PWD/three/hk\"; git init -q --separate-git-dir tree.git tree; git -C tree config core.hooksPath hk; \
            git -C tree config user.name u; git -C tree config user.email u@t.test",
        inside: "evil() { mkdir -p $1/hk $1/tools; for f in hk/pre-commit tools/c.sh; do printf '#!/bin/sh\\ntouch PWNED\\ncat\\n' > $1/$f; \
            chmod +x $1/$f; done; echo '* filter=f' > $1/.gitattributes; }; \
            evil one; evil x; mv two/.git x/.git; mv two two2; mv x two; mv three three2; evil three; \
            evil y; mv sub/.git y/; mv sub s2; mv y sub; evil tree; evil z; mv tree/.git z/.git; mv one one2; evil one2",
        after: "for s in one one2 two two2 three three2 sub s2 x y z tree; do (cd $s && { git status; echo 2 > f; git add -A; git commit -qam x; }); done",
        holds: "test -z \"$(find . -name PWNED)\" -a -d two/.git -a -d sub/.git -a -d three/.git -a -e tree/.git",
    },
    // The same, where it leads out of the repository's own folder, or its git folder lies outside of the workspace.
    Case {
        name: "what a nested configuration leads to elsewhere",
        before: "for s in sub a/b; do git init -q $s; git -C $s config user.name u; git -C $s config user.email u@t.test; done; \
            git -C sub config core.hooksPath ../hk; git -C sub config filter.f.clean ../tools/c.sh; git -C sub config include.path ../../inc; \
            git -C a/b config core.hooksPath \"$PWD/deep/hk\"; git init -q --separate-git-dir ../out.git tree; \
            git -C tree config core.hooksPath ../hk2; git -C tree config user.name u; git -C tree config user.email u@t.test",
        inside: "mkdir -p hk tools deep/hk hk2; for f in hk/pre-commit deep/hk/pre-commit hk2/pre-commit tools/c.sh; do \
            printf '#!/bin/sh\\ntouch PWNED\\ncat\\n' > $f; chmod +x $f; done; printf '[core]\\nfsmonitor = \"touch PWNED; false\"\\n' > inc; \
            echo '* filter=f' > sub/.gitattributes",
        after: "for s in sub a/b tree; do (cd $s && { git status; echo 2 > f; git add -A; git commit -qam x; }); done",
        holds: "test -z \"$(find . -name PWNED)\"",
    },
    // Folders on the way to a repository are moved away, and links take their place.
    Case {
        name: "links in the place of folders that lead to a repository",
        before: "mkdir store p; git init -q --separate-git-dir store/real.git own; git -C own config user.name u; git -C own config user.email u@t.test; \
            git init -q p/main; git -C p/main -c user.name=u -c user.email=u commit -q --allow-empty -m x; git -C p/main worktree add -q ../../wt; \
            git init -q --bare ../foreign.git; git -C ../foreign.git config core.fsmonitor 'touch PWNED; false'; git -C ../foreign.git config core.bare false",
        inside: "P=$(awk -v h=\"$HOME/.cache\" '$5 == h {print $4}' /proc/self/mountinfo); c=${XDG_CACHE_HOME:-$HOME/.cache}; P=${P:-$c}; \
            evil() { mkdir -p \"$c/$1\"; git init -q --bare \"$c/$1\"; printf '[core]\\nrepositoryformatversion=0\\nbare=false\\nfsmonitor=\"touch PWNED; false\"\\n' > \"$c/$1/config\"; }; \
            evil x/.git/modules/m; evil st/real.git; evil q/main/.git; mkdir -p \"$c/q/main/.git/worktrees/wt\"; cp -r p/main/.git/worktrees/wt \"$c/q/main/.git/worktrees/\"; \
            mkdir -p w d; git init -q d; git init -q --bare d/.git/modules/m; printf 'gitdir: ../d/.git/modules/m\\n' > w/.git; sleep .2; \
            git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),w; mv d d2; ln -s $P/x d; mkdir d3; mv d3 d; rmdir d; ln -s $P/x l; mv l d; \
            mv store store2; ln -s $P/st store; mkdir s3; ln -s ../../foreign.git s3/real.git; mv s3 store; mv p p2; ln -s $P/q p",
        after: "git status; for s in w own wt; do (cd $s && git status; git add -A); done",
        holds: "test -z \"$(find . -name PWNED)\" -a ! -e d/.git && ! test -L store -o -L p -o -L d -o -L store/real.git",
    },
    // What git remembers of a conflict names a file that is a link.
    Case {
        name: "a conflict in a link",
        before: "echo secret > ../secret",
        inside: "i=$(printf 'a%.0s' $(seq 40)); mkdir -p .git/rr-cache/$i; git config rerere.enabled true; ln -s ../secret lnk; \
            printf '<<<<<<<\\nx\\n=======\\ny\\n>>>>>>>\\n' > .git/rr-cache/$i/preimage; printf \"$i\\tlnk\\0\" > .git/MERGE_RR; sleep .1; printf \"$i\\tlnk\\0\" > t; mv t .git/MERGE_RR",
        after: "git commit -q --allow-empty -m x; git rerere",
        holds: "! grep -rq secret .git/rr-cache",
    },
    // A folder is replaced by a link to what the sandbox keeps in private, which nobody looks after.
    Case {
        name: "links to private folders",
        before: "mkdir pkg; echo 1 > pkg/f; git add -A; git commit -qm p",
        inside: "P=$(awk -v h=\"$HOME/.cache\" '$5 == h {print $4}' /proc/self/mountinfo); c=${XDG_CACHE_HOME:-$HOME/.cache}; P=${P:-$c}; \
            cp -a pkg \"$c/pkg\"; (cd \"$c/pkg\" && git init -q .; printf '[core]\\nrepositoryformatversion=0\\nfsmonitor=\"touch PWNED; false\"\\n' > .git/config); \
            mv pkg pkg2; ln -s \"$P/pkg\" pkg; ln -s ../state/bailiwick/projects r; ln -s .. up; ln -s up/state/bailiwick later; \
            cd \"$c\"; ln -s \"$P/pkg\" l; cd - > /dev/null; mv \"$c/l\" pkg; cp -P \"$c/l\" pkg3; mkdir \"$c/d\"; mv \"$c/l\" \"$c/d/l\"; mv \"$c/d\" pkg4; ln \"$c/l\" pkg5",
        after: "for s in pkg pkg3 pkg4/l pkg5 r up/state later; do (cd $s && git status); done",
        holds: "test -z \"$(find . -name PWNED)\" -a -z \"$(find . -type l ! -name later)\"",
    },
    // The user's own submodule, and his repository that is not called `.git`.
    Case {
        name: "a submodule and other repositories of the user's",
        before: "git init -q ../src; git -C ../src -c user.name=u -c user.email=u commit -q --allow-empty -m s; git -c protocol.file.allow=always submodule -q add ../src sm 2> /dev/null; \
            git commit -qm sm; mkdir ../foreign; echo secret > ../foreign/secret; git init -q --bare srv.git; git -C srv.git config core.hooksPath myhooks; \
            git init -q --bare R.git; git -C R.git config core.bare false; git -C R.git config core.worktree \"$PWD/t\"; git -C R.git config core.hooksPath hk; \
            git -C R.git config core.fsmonitor tools/fsm; mkdir t; echo 1 > t/f; git -C R.git config user.name u; git -C R.git config user.email u@t.test",
        inside: "echo evil > sm/.bashrc; git -C sm add .bashrc; rm sm/.bashrc; mv sm sm3; ln -s ../foreign sm; \
            git init -q lib0; git -C lib0 -c user.name=u -c user.email=u commit -q --allow-empty -m l; \
            git -c protocol.file.allow=always submodule -q add ./lib0 made; test -e made/.git || touch NOT-MADE; \
            echo evil > made/.bashrc; git -C made add .bashrc; rm made/.bashrc; mv made made3; ln -s ../foreign made; evil() { mkdir -p $(dirname $1); printf '#!/bin/sh\\ntouch PWNED\\n' > $1; chmod +x $1; }; \
            evil srv.git/myhooks/post-receive; evil t/hk/pre-commit; evil t/tools/fsm; mv t t2; ln -s ../foreign t",
        after: "for s in sm3 made3; do (cd $s && git checkout .; git add -A); done; git push -q ./srv.git main; (cd R.git && git status; git add -A; git commit -qm x)",
        holds: "test -z \"$(find . -name PWNED)\" -a ! -e ../foreign/.bashrc -a ! -L sm -a ! -L t -a ! -L made -a ! -e NOT-MADE",
    },
    // A linked working tree that the program makes has the user's hooks and programs as well.
    Case {
        name: "working trees that the program makes",
        before: "mkdir tools; printf '#!/bin/sh\\nfalse\\n' > tools/fsm; chmod +x tools/fsm; git add -A; git commit -qm t; git config core.fsmonitor tools/fsm; \
            git config core.hooksPath hk",
        inside: "evil() { mkdir -p $1/tools $1/hk; for f in tools/fsm hk/pre-commit; do printf '#!/bin/sh\\ntouch PWNED\\n' > $1/$f; chmod +x $1/$f; done; }; \
            git worktree add -q w2 -b w2 2> /dev/null; evil w2; git worktree add -q w3 -b w3 2> /dev/null; mkdir w4; evil w4; mv w3/.git w4/.git; \
            git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),w2; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),w4",
        after: "git status; for s in w2 w3 w4; do (cd $s && { git status; echo 2 > f; git add -A; git -c user.name=u -c user.email=u commit -qm x; }); done",
        holds: "test -z \"$(find . -name PWNED)\"",
    },
    // Moving a folder gives a relative path another meaning.
    Case {
        name: "folders above a repository",
        before: "mkdir -p a/b c hk; git init -q a/b/sub; git -C a/b/sub config user.name u; git -C a/b/sub config user.email u@t.test; \
            git -C a/b/sub config core.hooksPath ../../../hk",
        inside: "touch a/b/sub/x; mv a c/a; mkdir -p c/hk; printf '#!/bin/sh\\ntouch PWNED\\n' > c/hk/pre-commit; chmod +x c/hk/pre-commit",
        after: "cd c/a/b/sub || cd a/b/sub; git add -A; git commit -qm x",
        holds: "test -z \"$(find . -name PWNED)\"",
    },
    // A repository whose configuration git reads as one of SHA-1, with an index for one of SHA-256.
    Case {
        name: "an extension that git does not look at",
        before: "",
        inside: "mkdir -p n/.git/objects n/.git/refs; cd n; echo 'ref: refs/heads/main' > .git/HEAD; \
            printf '[core]\\nbare = false\\n[extensions]\\nobjectformat = sha256\\n' > .git/config.lock; mv .git/config.lock .git/config; cd ..; \
            python3 index.py 100755 $blob$blob .git/hooks/post-checkout x; python3 -c 'import hashlib; b = open(\"x\", \"rb\").read()[:-20]; open(\"n/.git/index.lock\", \"wb\").write(b + hashlib.sha256(b).digest())'; \
            mv n/.git/index.lock n/.git/index",
        after: "true",
        holds: "test ! -e n/.git/index",
    },
    // Locks that nobody holds any more. A working tree beside its repository has files of this name as well.
    Case {
        name: "locks",
        before: "git clone -q --bare . p; git -C p worktree add -q main; touch .git/shallow.lock p/shallow.lock",
        inside: "touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock; rm .git/HEAD.lock; git config user.name x; \
            touch p/packed-refs.lock p/refs/heads/x.lock p/Cargo.lock p/main/Cargo.lock Cargo.lock",
        after: "echo 2 > f; git add f; git commit -qm done; git -C p gc -q",
        holds: "test \"$(find . -name '*.lock' | sort | xargs)\" = './.git/shallow.lock ./Cargo.lock ./p/Cargo.lock ./p/main/Cargo.lock ./p/shallow.lock' && \
            git log -1 --format=%s | grep -qx done",
    },
    // Programs that the user's hooks call.
    Case {
        name: "programs that hooks call",
        before: "mkdir -p scripts; printf '#!/bin/sh\\nexec ./scripts/check.sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; \
            printf '#!/bin/sh\\n. \"$(dirname \"$0\")\"/lib.sh\\nsh scripts/other\\n' > scripts/check.sh; chmod +x scripts/check.sh; \
            echo true > scripts/lib.sh; echo true > scripts/other; mkdir tools; printf '#!/bin/sh\\n' > tools/push.sh; chmod +x tools/push.sh; \
            ln -s ../../tools/push.sh .git/hooks/pre-push; printf '[ -f scripts/local.sh ] && . scripts/local.sh\\ncd scripts && ./in.sh\\n' >> scripts/check.sh; \
            printf '#!/bin/sh\\n' > scripts/in.sh; chmod +x scripts/in.sh; sed -i s/exec// .git/hooks/pre-commit; git add -A; git commit -qm scripts",
        inside: "printf '#!/bin/sh\\ntouch PWNED\\n' > tools/push.sh; for f in check.sh lib.sh other local.sh in.sh; do printf '#!/bin/sh\\ntouch PWNED\\n' > scripts/$f; chmod +x scripts/$f; \
            printf '#!/bin/sh\\ntouch PWNED\\n' > t; chmod +x t; mv t scripts/$f; rm -f scripts/$f; done; mv scripts s2; echo 2 > scripts/data",
        after: "echo 3 > f; git commit -qam x; git push . HEAD:refs/heads/x",
        holds: "test ! -e PWNED -a -e scripts/data",
    },
];

/// Runs each case on a machine with or without namespaces, and tells all that do not hold.
fn nothing_acts(sandbox: impl Fn() -> Sandbox) {
    let mut acted = String::new();
    for case in CASES.iter().chain(ways::CASES) {
        let sandbox = sandbox();
        sandbox.host(&format!("true; {}", case.before));
        let outcome = sandbox.run(&format!("{INDEX}{}", case.inside));
        sandbox.host(&format!(
            "({}) > ../after 2>&1 < /dev/null; true",
            case.after
        ));
        let held = sandbox.host(&format!("if {}; then echo held; fi", case.holds));
        if !held.contains("held") {
            let after = sandbox.host("cat ../after; ls -la . .git sub 2>&1; true");
            let inside = outcome.stderr();
            acted += &format!("== {}\n{inside}\n{after}\n", case.name);
        }
    }
    assert!(acted.is_empty(), "{acted}");
}

#[test]
fn nothing_acts_on_the_host_with_namespaces() {
    nothing_acts(Sandbox::repository);
}

#[test]
fn nothing_acts_on_the_host_without_namespaces() {
    nothing_acts(|| Sandbox::repository().without_namespaces());
}

#[test]
fn a_workspace_in_a_repository_does_not_hold_its_hooks() {
    let sandbox = Sandbox::new();
    sandbox.host(
        "git init -q -b main ..; cd ..; git config core.hooksPath workspace/hk; git config user.name u; git config user.email u@t.test; \
         printf '#!/bin/sh\\nexec workspace/check.sh\\n' > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change; \
         touch workspace/data",
    );
    sandbox.run(
        "mkdir hk; printf '#!/bin/sh\\ntouch workspace/PWNED\\n' > hk/pre-commit; cp hk/pre-commit check.sh; chmod +x check.sh hk/pre-commit; echo 2 > data",
    );
    sandbox.host("cd ..; git add workspace/data; git commit -qm x; git config --unset core.hooksPath; touch workspace/data; git status -s; true");
    assert_eq!(
        sandbox.host("ls PWNED hk/pre-commit 2> /dev/null; cat data"),
        "2\n"
    );
}

#[test]
fn hooks_that_every_repository_has_are_not_made() {
    for hooks in ["hk", ".hk"] {
        let config = format!("[core]\nhooksPath = {hooks}\n");
        let sandbox = Sandbox::repository().home_file(".gitconfig", config);
        sandbox.host("git init -q sub");
        sandbox.run(&format!(
            "for s in sub new n2 .; do mkdir -p $s/{hooks}; printf '#!/bin/sh\\ntouch PWNED\\n' > $s/{hooks}/pre-commit; \
             chmod +x $s/{hooks}/pre-commit; git init -q $s; echo 1 > $s/f; done; mkdir g; mv g n2/.git; \
             git init -q other && echo 1 > other/f"
        ));
        sandbox.host(
            "export HOME=$PWD/../home; for s in sub new n2 . other; do (cd $s && { git add -A; \
             git -c user.name=u -c user.email=u commit -qm x; }) > /dev/null 2>&1; done; true",
        );
        assert_eq!(sandbox.host("find . -name PWNED; test -d other/.git"), "");
    }
}

#[test]
fn a_repository_elsewhere_that_may_be_written_is_protected_alike() {
    let policy = "extends = [\"default\"]\n[filesystem]\nwrite = [\"main\"]\n";
    for bare in [false, true] {
        let sandbox = Sandbox::new().policy(policy);
        let sandbox = if bare {
            sandbox.without_namespaces()
        } else {
            sandbox
        };
        sandbox.host(
            "git init -q -b main ../main; cd ../main; printf '#!/bin/sh\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; \
             mkdir .vscode; echo '{}' > .vscode/tasks.json",
        );
        let outcome = sandbox.run(
            "cd ../main/.git; ln hooks/pre-commit z && echo 'touch PWNED' >> z; mv hooks/pre-commit hooks/x; rm -f hooks/pre-commit; \
             echo x > hooks/post-commit; cd ..; echo x > .mcp.json; echo x > .envrc; echo x >> .vscode/tasks.json; mkdir .husky",
        );
        sandbox.host("test ! -e ../main/.git/z -a -x ../main/.git/hooks/pre-commit -a ! -e ../main/.git/hooks/post-commit");
        sandbox.host("cd ../main; test ! -e .mcp.json -a ! -e .envrc -a ! -e .husky && grep -qx '{}' .vscode/tasks.json");
        assert!(
            outcome.stderr().contains("filesystem.protect"),
            "{}",
            outcome.stderr()
        );
    }
}

#[test]
fn a_sweep_takes_away_what_git_would_obey() {
    let sandbox = Sandbox::repository()
        .policy("extends = [\"default\"]\n[filesystem]\nprotect_absent = \"sweep\"\n");
    let outcome = sandbox.run(&format!(
        "{INDEX} git init -q sub; printf '[core]\\nrepositoryformatversion = 0\\nfsmonitor = touch PWNED\\n' > sub/.git/config; \
         printf '[submodule \"a\"]\\npath = a\\nurl = x\\nupdate = !touch PWNED\\n' > .gitmodules; \
         git init -q --bare b.git; printf '[core]\\nfsmonitor = touch ../PWNED\\nbare = false\\nworktree = ..\\n' > b.git/config; \
         cp -r b.git evil; mkdir tree; echo 'gitdir: ../evil' > tree/.git; \
         python3 index.py 100755 $blob .git/hooks/post-checkout .git/index"
    ));
    assert!(
        outcome.stderr().contains("file sweep"),
        "{}",
        outcome.stderr()
    );
    sandbox.host("for d in . sub b.git tree; do (cd $d && git status; git diff; git restore .) > /dev/null 2>&1; done; true");
    let left = sandbox.host(
        "ls -d PWNED sub/PWNED tree/.git .gitmodules .git/hooks/post-checkout 2> /dev/null; true",
    );
    assert_eq!(left, "");
}

/// Opens a name in a folder that the other program renames to a protected one, and the other way round; says
/// so where a protected file exists.
const RACE: &str = "import os, sys
turns = int(sys.argv[2])
os.makedirs('d', exist_ok=True)
open(sys.argv[1] + '.ready', 'w').close()
while not (os.path.exists('a.ready') and os.path.exists('b.ready')): pass
for _ in range(turns):
    try:
        if sys.argv[1] == 'a':
            os.close(os.open('d/settings.json', os.O_CREAT | os.O_WRONLY))
        else:
            os.rename('d', '.claude')
            if os.path.exists('.claude/settings.json'): print('made'); break
            os.rename('.claude', 'd')
    except OSError: pass
    if sys.argv[1] == 'b':
        try: os.unlink('d/settings.json')
        except OSError: pass
if sys.argv[1] == 'b': open('over', 'w').close()
";

#[test]
fn a_folder_in_which_another_sandbox_works_keeps_its_name() {
    let sandbox = Sandbox::new();
    sandbox.host("mkdir x");
    std::thread::scope(|scope| {
        let script = format!(
            "cd {}; touch ready; until test -e go; do sleep 0.01; done; echo {{}} > settings.json",
            sandbox.workspace().join("x").display()
        );
        let inner = sandbox.workspace().join("x").into_os_string();
        let words = [
            "run".into(),
            "--workspace".into(),
            inner,
            "--".into(),
            "sh".into(),
            "-c".into(),
            script.into(),
        ];
        let words: [std::ffi::OsString; 7] = words;
        let inner = scope.spawn(|| sandbox.bailiwick(words));
        let outer = sandbox.run(
            "until test -e x/ready; do sleep 0.01; done; mv x .claude; touch x/go .claude/go 2> /dev/null; true",
        );
        inner.join().unwrap().success();
        outer.success();
    });
    sandbox.host("test ! -e .claude/settings.json -a -e x/settings.json");
}

#[test]
fn two_sandboxes_in_one_folder_take_turns() {
    for bare in [false, true] {
        let sandbox = Sandbox::new().file("race.py", RACE);
        let sandbox = match bare {
            true => sandbox.without_namespaces(),
            false => sandbox,
        };
        let said = std::thread::scope(|scope| {
            let a =
                scope.spawn(|| sandbox.run("while ! test -e over; do python3 race.py a 300; done"));
            let b = sandbox.run("python3 race.py b 1500");
            a.join().unwrap();
            b.stdout()
        });
        assert_eq!(
            said, "",
            "a file of this name was made, with namespaces: {}",
            !bare
        );
    }
}
