//! What an index of git, as a run leaves it, brings into the working tree at the user's next `git restore .` or
//! `git checkout .`: of what no program could make there he is told.

use crate::host_programs::left;
use crate::support::{Outcome, Sandbox};

/// A repository with a filter of the user's, and a sandbox's commands that store what would be a repository, and links.
pub(super) fn with_filter() -> (Sandbox, &'static str) {
    let sandbox = Sandbox::repository();
    sandbox.host(
        "mkdir scripts; echo '#!/bin/sh' > scripts/c.sh; chmod +x scripts/c.sh; git add .; git commit -qm scripts; \
         git config filter.f.clean ./scripts/c.sh",
    );
    let add = "put() { printf \"$1\" | git hash-object -w --stdin; }; git rm -qr --cached scripts; for entry in \
               \"100644,$(put '[core]\\n\\tfsmonitor = x\\n'),docs/config\" \"100644,$(put ''),docs/objects/k\" \
               \"100644,$(put ''),docs/refs/k\" \"100644,$(put 'ref: refs/heads/main\\n'),docs/HEAD\" \
               \"120000,$(put /home/u/.netrc),README\" \"120000,$(put docs/refs),plain\" \"120000,$(put other),scripts\" \
               \"100755,$(put x),other/c.sh\"; do git update-index --add --cacheinfo \"$entry\"; done;";
    (sandbox, add)
}

/// The files that are told with this reason, in order.
pub(super) fn told_by(outcome: &Outcome, reason: &str) -> Vec<String> {
    let left = left(outcome);
    let names = left.iter().filter_map(|told| told.strip_suffix(reason));
    let mut names: Vec<String> = names.map(str::to_owned).collect();
    names.sort();
    names
}

/// The files that indexes bring, by the record.
fn told(outcome: &Outcome) -> Vec<String> {
    told_by(outcome, " git, whose index has another version of it now")
}

/// What a sandbox's commands begin with: `put CONTENT` stores a file, `add MODE,ID,PATH` adds an entry.
const SHORT: &str = "set -e; put() { printf \"$1\" | git hash-object -w --stdin; }; \
                     add() { git update-index --add --cacheinfo \"$1\"; }; ";
/// Adds what would be a repository in `docs`.
const DOCS: &str = "add 100644,$(put 'ref: refs/heads/main\\n'),docs/HEAD; add 100644,$(put ''),docs/objects/k; \
                    add 100644,$(put ''),docs/refs/k; add 100644,$(put '[core]\\n\\tfsmonitor = x\\n'),docs/config; ";

/// What is told when this ran.
fn told_of(sandbox: &Sandbox, script: &str) -> Vec<String> {
    let outcome = sandbox.run(&format!("{SHORT}{script}"));
    told(outcome.success())
}

#[test]
fn an_index_that_brings_a_repository_or_leads_around_what_is_protected_is_told() {
    let (sandbox, add) = with_filter();
    let outcome = sandbox.run(add);
    assert_eq!(told(outcome.success()), ["README", "docs/HEAD", "scripts"]);

    // Parts of a repository that is in the index already, also where its files are away; and what is no part of it.
    sandbox.host("git commit -qm all; rm -rf docs");
    let hook = "add 100755,$(put x),docs/hooks/post-checkout";
    assert_eq!(told_of(&sandbox, hook), ["docs/HEAD"]);
    assert_eq!(told_of(&sandbox, "add 100755,$(put x),docs/k"), [""; 0]);
}

#[test]
fn what_was_withheld_is_told_where_the_index_has_another_than_the_commit() {
    let sandbox = Sandbox::repository();
    sandbox.host("git branch -M main; git switch -qc dev; echo 1 > .envrc; git add .; git commit -qm dev; git switch -q main");
    assert_eq!(told_of(&sandbox, "git checkout -q dev"), [""; 0]);
    sandbox.host("git checkout -q main");
    let then =
        "git checkout -q dev; add 100644,$(put x),.envrc; git update-index --skip-worktree .envrc";
    assert_eq!(told_of(&sandbox, then), [".envrc"]);
}

#[test]
fn no_way_hides_what_an_index_brings() {
    let by_copy = |then: &str| {
        format!(
            "cp .git/index /tmp/i; export GIT_INDEX_FILE=/tmp/i; {DOCS} unset GIT_INDEX_FILE; {then}"
        )
    };
    for (before, script) in [
        ("", by_copy("rm .git/index; cat /tmp/i > .git/index")),
        ("", by_copy("cat /tmp/i > .git/index")),
        // What is lost of a first try is not known at the second.
        (
            "",
            by_copy(
                "cp /tmp/i .git/index.lock; chmod 555 .git; ! mv -f .git/index.lock .git/index 2> /dev/null; mkdir x; \
                 echo 'ref: refs/heads/x' > x/HEAD; chmod 755 .git; mv -f .git/index.lock .git/index",
            ),
        ),
        (
            "git config index.version 4; git update-index --index-version 4",
            DOCS.to_owned(),
        ),
        ("git update-index --split-index", DOCS.to_owned()),
        (
            "",
            format!(
                "{DOCS} git ls-files -s docs | sed 's/ 0\t/ 2\t/' > /tmp/s; git rm -q --cached docs -r; \
                     git update-index --index-info < /tmp/s"
            ),
        ),
        (
            "",
            format!(
                "{DOCS} git update-index --skip-worktree docs/HEAD docs/config docs/objects/k docs/refs/k"
            ),
        ),
    ] {
        let sandbox = Sandbox::repository();
        sandbox.host(before);
        assert_eq!(
            told_of(&sandbox, &script),
            ["docs/HEAD"],
            "{before} {script}"
        );
    }
}

#[test]
fn indexes_beside_the_first_are_looked_at() {
    let into = |index: &str| {
        format!(
            "cp {index} /tmp/i; export GIT_INDEX_FILE=/tmp/i; {DOCS} unset GIT_INDEX_FILE; cat /tmp/i > {index}"
        )
    };
    let sandbox = Sandbox::repository();
    sandbox.host("git worktree add -q wt -b other 2> /dev/null");
    let script = into(".git/worktrees/wt/index");
    assert_eq!(told_of(&sandbox, &script), ["wt/docs/HEAD"]);

    sandbox.host("git init -q --separate-git-dir=gd sub; echo x > sub/f; git -C sub add f");
    let script = format!(
        "export GIT_DIR=$PWD/gd GIT_WORK_TREE=$PWD/sub; {}",
        into("gd/index")
    );
    assert_eq!(told_of(&sandbox, &script), ["sub/docs/HEAD"]);

    // Those that come in a run, also where the repository or its name does.
    let sandbox = Sandbox::repository();
    let script = format!("git worktree add -q wt -b other; cd wt; {DOCS}");
    assert_eq!(told_of(&sandbox, &script), ["wt/docs/HEAD"]);
    sandbox.host("rm -rf wt; git init -q sub; echo x > sub/f; git -C sub add f");
    let script = format!("cd sub; {DOCS} cd ..; mv sub sub2");
    assert_eq!(told_of(&sandbox, &script), ["sub2/docs/HEAD"]);
    sandbox.host("rm -rf .git");
    let script = format!("git init -q; {DOCS}");
    assert_eq!(told_of(&sandbox, &script), ["docs/HEAD"]);

    // Entries that another index has, and folders of which an index has the tree alone.
    let sandbox = Sandbox::repository();
    sandbox.host(
        "mkdir docs keep; echo 'ref: refs/heads/main' > docs/HEAD; echo x > keep/x; git add .; git commit -qm two; rm -r docs; \
         touch -d '1 hour ago' f keep/x; git update-index --refresh -q; git update-index --split-index",
    );
    let hook = "add 100755,$(put x),docs/hooks/post-checkout";
    assert_eq!(told_of(&sandbox, hook), ["docs/HEAD"]);
    sandbox.host(
        "git update-index --no-split-index; git reset -q --hard; git sparse-checkout set --cone --sparse-index keep",
    );
    let script = "git ls-files --sparse > /tmp/l; export GIT_INDEX_FILE=/tmp/i; git read-tree HEAD; \
                  add 100644,$(put '{}'),docs/.vscode/tasks.json; add 100644,$(put ''),docs/refs/k; \
                  tree=$(git write-tree --prefix=docs/); unset GIT_INDEX_FILE; cp .git/index /tmp/i; \
                  was=$(git rev-parse HEAD:docs); python3 -c 'import sys, hashlib; was, now = map(bytes.fromhex, sys.argv[1:]); \
                  text = open(\"/tmp/i\", \"rb\").read()[:-20].replace(was, now); \
                  open(\"/tmp/i\", \"wb\").write(text + hashlib.sha1(text).digest())' $was $tree; cat /tmp/i > .git/index";
    let told = told_of(&sandbox, script);
    assert_eq!(told, ["docs/.vscode/tasks.json", "docs/HEAD"]);
}

#[test]
fn links_of_an_index_are_told_where_they_lead_out_or_nobody_knows() {
    let sandbox = Sandbox::repository();
    sandbox.host("printf /home/u/.netrc > f; git add f; git commit -qm f; ln -s ../outside bad; git add bad; git commit -qm bad");
    sandbox.host("git update-index --skip-worktree bad; rm bad");
    for (script, told) in [
        // A file that becomes a link by its mode alone.
        (
            "git update-index --cacheinfo 120000,$(git rev-parse :f),f",
            "f",
        ),
        // One of which nobody knows where it leads, and one that git ends before its end.
        (
            "add 120000,$(echo y | git hash-object --stdin),lost",
            "lost",
        ),
        ("add 120000,$(put '.git\\0x'),ends", "ends"),
        // One that git leaves out so far.
        ("git update-index --no-skip-worktree bad", "bad"),
        ("ln -s f near; git add near; rm near", ""),
    ] {
        let told = Some(told).filter(|told| !told.is_empty());
        assert_eq!(told_of(&sandbox, script), Vec::from_iter(told), "{script}");
    }
}

#[test]
fn the_mode_of_a_protected_file_is_told_and_a_file_that_is_withheld_no_more() {
    let sandbox = Sandbox::repository().file(".husky/pre-commit", "true");
    sandbox.host("git add .; git commit -qm husky");
    let script = "git update-index --chmod=+x .husky/pre-commit";
    assert_eq!(told_of(&sandbox, script), [".husky/pre-commit"]);
    let script = "add 100644,$(put x),.mcp.json; git commit -qm mcp; git checkout -q -- .mcp.json";
    assert_eq!(told_of(&sandbox, script), [""; 0]);
    let script = "add 100644,$(put x),.mcp.json; git checkout -q -- .mcp.json";
    let script = format!(
        "git update-index --force-remove .mcp.json; {script}; git update-index --no-skip-worktree .mcp.json"
    );
    assert_eq!(told_of(&sandbox, &script), [".mcp.json"]);
}

#[test]
fn a_sandbox_that_is_killed_ends_and_tells_once() {
    let sandbox = Sandbox::repository();
    let outcome = sandbox.run(&format!("{SHORT}{DOCS} kill -9 -1; kill -9 1; kill -9 $$"));
    outcome.failure();
    assert_eq!(told(&outcome), ["docs/HEAD"]);
}

#[test]
fn what_is_in_the_working_tree_or_gone_again_is_not_told() {
    let sandbox = Sandbox::repository().file(".vscode/tasks.json", "mine");
    sandbox.host(
        "git init -q --bare b.git; touch b.git/refs/k b.git/objects/k; mkdir s; echo x > s/HEAD",
    );
    sandbox.host("git add . -f; git commit -qm two; git branch old HEAD~1; echo y >> s/HEAD; git commit -qam three");
    for honest in [
        "mkdir src; echo x > src/head; git add src; git commit -qm head",
        "echo z > s/HEAD; git stash -q; git stash pop -q; git commit -qam z",
        "git checkout -q HEAD~1; git checkout -q main",
        "rm .git/index; git reset -q; cp .git/index /tmp/i; cat /tmp/i > .git/index",
        "add 100644,$(put x),.mcp.json; git reset -q --hard",
    ] {
        assert_eq!(told_of(&sandbox, honest), [""; 0], "{honest}");
    }
}
