//! Random acts of a hostile program, by a grammar that knows what git obeys; after each run the oracle looks at
//! what a user's commands do. `BAILIWICK_LEFT_CASES` says how many, `BAILIWICK_LEFT_SEED` with which one to begin.

use super::oracle;
use crate::support::Sandbox;

const GRAMMAR: &str = include_str!("grammar.py");

/// Two branches, a nested repository, a bare one, a working tree, and what lies beside the workspace.
const BEFORE: &str = "git branch keep; git switch -qc side; echo 2 > f; git commit -qam two; git switch -q main; echo 3 > f; git commit -qam three
    git init -q sub; git -C sub -c user.name=t -c user.email=t@t.test commit -q --allow-empty -m s; git init -q --bare -b main bare.git
    mkdir -p src evil new; echo s > src/s; git worktree add -q tree side 2> /dev/null || git worktree add -q tree keep 2> /dev/null
    git init -q -b main ../foreign; echo bwsecret > ../foreign/f; git -C ../foreign add f; git -C ../foreign -c user.name=t -c user.email=t@t.test commit -qm f
    git -C ../foreign worktree add -q ../linked; touch -d yesterday ../foreign/f ../linked/f; git clone -q --bare . ../up.git; git remote add up ../up.git; : > ../user.gitconfig
    git config -f ../user.gitconfig user.name t; git config -f ../user.gitconfig user.email t@t.test";

/// How many cases there are where nobody says otherwise, and the first seed.
fn number(variable: &str, usual: u64) -> u64 {
    std::env::var(variable)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(usual)
}

/// Runs the cases of a part of the seeds, so that several run side by side.
fn nothing_acts(part: u64) {
    const PARTS: u64 = 4;
    let cases = number("BAILIWICK_LEFT_CASES", 300).div_ceil(PARTS);
    let first = number("BAILIWICK_LEFT_SEED", 1) + part * cases;
    for seed in first..first + cases {
        let sandbox = Sandbox::repository().stdin(GRAMMAR);
        sandbox.host(BEFORE);
        let outcome = sandbox.exec(["python3", "-", &seed.to_string()]);
        let found = oracle::objections(&sandbox, seed);
        assert!(
            found.is_empty(),
            "seed {seed} (BAILIWICK_LEFT_CASES=1 BAILIWICK_LEFT_SEED={seed}):\n{}\n{found}",
            outcome.stdout()
        );
    }
}

#[test]
fn nothing_acts_on_the_host_first_part() {
    nothing_acts(0);
}

#[test]
fn nothing_acts_on_the_host_second_part() {
    nothing_acts(1);
}

#[test]
fn nothing_acts_on_the_host_third_part() {
    nothing_acts(2);
}

#[test]
fn nothing_acts_on_the_host_fourth_part() {
    nothing_acts(3);
}
