#!/usr/bin/env bash
# Shows an agent's day in a sandbox, then its ledger, then checks that what was allowed happened
# and what was not did not. Everything is made in a temporary folder and removed at the end; no
# setting of yours is read. BAILIWICK names the binary; else the one on PATH is used.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
bailiwick=$(command -v "${BAILIWICK:-bailiwick}") || {
    echo "there is no bailiwick on PATH; \`make run\` builds it, or set BAILIWICK to the binary" >&2
    exit 2
}
bailiwick=$(realpath "$bailiwick")

root=$(realpath "$(mktemp -d "${TMPDIR:-/tmp}/agent-day.XXXXXX")")
server=
finish() {
    # The server ends when its standard input does; this is for the case that it hangs.
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$root"
}
trap finish EXIT
trap 'exit 130' INT TERM

cd "$root"
mkdir -p home/.ssh state config authority sites/notes.test sites/packages.test

# A clean environment, in which the system's own programs come first.
alone() {
    env -i PATH=/usr/local/bin:/usr/bin:/bin HOME="$root/home" LANG=C.UTF-8 TERM="${TERM:-dumb}" \
        XDG_STATE_HOME="$root/state" XDG_CONFIG_HOME="$root/config" PYTHONDONTWRITEBYTECODE=1 "$@"
}

# The user's secret, and the project.
echo "this-is-the-secret-key-$RANDOM$RANDOM" >home/.ssh/id_ed25519
chmod 600 home/.ssh/id_ed25519
cp -r "$here/project" work
cp "$here/agent.py" .
git_work() { alone git -C "$root/work" "$@"; }
alone git init --quiet --initial-branch=main work
git_work config user.name 'Demonstration'
git_work config user.email 'agent@example.com'
git_work add --all
git_work commit --quiet --message 'A function with a bug'

# A certificate authority of the demonstration's own, and the two servers.
echo 'subjectAltName = DNS:packages.test' >authority/leaf.cnf
certificates() {
    cd authority
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
        -subj '/CN=Demonstration authority' -keyout ca.key -out ca.pem
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
        -subj '/CN=packages.test' -keyout leaf.key -out leaf.csr
    openssl x509 -req -in leaf.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 \
        -extfile leaf.cnf -out leaf.pem
}
(certificates) >authority/log 2>&1 || {
    cat authority/log >&2
    exit 1
}
echo 'Version 2: titles may have space around them.' >sites/notes.test/notes.txt
head -c 4096 /dev/urandom >sites/packages.test/package.bin
mkfifo hold
alone python3 "$here/server.py" sites authority/leaf.pem authority/leaf.key <hold >ports &
server=$!
exec 9>hold
for _ in $(seq 100); do
    [ -s ports ] || sleep 0.05
done
read -r http https <ports || {
    echo "the demonstration's servers did not start" >&2
    exit 1
}

sed -e "s|@ROOT@|$root|g" -e "s|@HTTP@|$http|g" -e "s|@HTTPS@|$https|g" \
    "$here/policy.toml.in" >policy.toml

echo "== bailiwick run --policy policy.toml --workspace work -- python3 agent.py"
status=0
(cd work && alone "$bailiwick" run --policy "$root/policy.toml" --workspace "$root/work" \
    -- python3 "$root/agent.py") 2>stderr | tee stdout || status=$?
cat stderr >&2

echo
echo "== bailiwick log"
alone "$bailiwick" log
alone "$bailiwick" log --denied --json >denied.json

echo
echo "== checks"
if [ "$status" -ne 0 ]; then
    echo "FAIL the agent ended with status $status" >&2
    exit 1
fi
alone python3 "$here/check.py" "$root"
