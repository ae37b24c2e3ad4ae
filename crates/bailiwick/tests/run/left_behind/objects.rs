//! Objects of git whose content is not what their names say, and commits that bring protected files: git takes the
//! one for the other when the user checks something out.

use super::doubts::protecting;
use super::indexes::{told_by, with_filter};
use crate::host_programs::left;
use crate::support::{Background, Outcome, Sandbox};

/// Stores content under another object's id: in a file of its own, or in a pack of one object (gitformat-pack(5)).
const FORGE: &str = r"import glob, hashlib, os, struct, sys, zlib
how, id, content = sys.argv[1], sys.argv[2], sys.argv[3].encode()
store = os.environ.get('STORE', '.git/objects')
loose = f'{store}/{id[:2]}/{id[2:]}'
if how == 'pack':
    head = bytes([3 << 4 | 128 | len(content) & 15, len(content) >> 4]) if len(content) > 15 else bytes([3 << 4 | len(content)])
    pack = b'PACK' + struct.pack('>II', 2, 1) + head + zlib.compress(content)
    pack += hashlib.sha1(pack).digest()
    key = bytes.fromhex(id)
    index = b'\xfftOc' + struct.pack('>I', 2) + b''.join(struct.pack('>I', key[0] <= n) for n in range(256))
    index += key + struct.pack('>II', 0, 12) + pack[-20:]
    index += hashlib.sha1(index).digest()
    for end, text in (('.pack', pack), ('.idx', index)):
        open(f'{store}/pack/pack-{pack[-20:].hex()}{end}', 'wb').write(text)
else:
    packed = zlib.compress(b'blob %d\0' % len(content) + content)
    if how == 'link':
        x = '.git/info/refs_x'; os.link(loose, x); os.chmod(x, 0o644); open(x, 'wb').write(packed); os.remove(x)
    elif how == 'there':
        os.chmod(loose, 0o644); open(loose, 'wb').write(packed)
    else:
        draft = '.git/objects/tmp_obj_x'; open(draft, 'wb').write(packed); os.rename(draft, loose)
";

/// A repository whose hooks are tracked, and whose branch `two` has another one.
fn with_tracked_hooks() -> Sandbox {
    let sandbox = Sandbox::repository().file("forge.py", FORGE);
    sandbox.host(
        "mkdir .githooks; printf '#!/bin/sh\\n' > .githooks/post-checkout; chmod +x .githooks/post-checkout; \
         git add .; git commit -qm hooks; git config core.hooksPath .githooks; git switch -qc two; \
         echo 'echo mine' >> .githooks/post-checkout; git commit -qam two; git switch -q -",
    );
    sandbox
}

#[test]
fn no_object_takes_the_name_of_another() {
    for how in ["new", "there", "link", "pack"] {
        let sandbox = with_tracked_hooks();
        let forge = format!(
            "python3 forge.py {how} $(git rev-parse two:.githooks/post-checkout) \"$(printf '#!/bin/sh\\ntouch PWNED\\n')\""
        );
        let outcome = sandbox.run(&forge);
        outcome.refused_by("filesystem.protect");
        outcome.stderr_has("git would take");
        sandbox.host("git switch -q two 2> /dev/null; test ! -e PWNED");
    }
}

/// The files that commits of the run bring, by the record.
fn told(outcome: &Outcome) -> Vec<String> {
    let left = left(outcome);
    assert!(
        !left.iter().any(|told| told.contains("compare")),
        "{left:?}"
    );
    told_by(
        outcome,
        " git, of which a commit of the run has another version or none",
    )
}

#[test]
fn a_commit_that_brings_protected_files_is_told() {
    let by_own_index = "export GIT_INDEX_FILE=/tmp/i; git read-tree HEAD; id=$(git hash-object -w forge.py); \
         git update-index --add --cacheinfo 100755,$id,.githooks/post-merge --cacheinfo 100644,$id,sub/.mcp.json; \
         commit=$(git commit-tree -p HEAD -m x $(git write-tree)); unset GIT_INDEX_FILE; ";
    for then in [
        "git branch fix $commit",
        "git branch fix $commit; git repack -qad",
        "git branch fix $commit; git branch none $(git commit-tree -p $commit -m z HEAD^{tree})",
        "mkdir .git/rebase-merge; echo $commit > .git/rebase-merge/orig-head",
        "git branch over $(git commit-tree -p $commit -m y HEAD^{tree})",
    ] {
        let outcome = with_tracked_hooks().run(&format!("{by_own_index}{then}"));
        outcome.success();
        assert_eq!(
            told(&outcome),
            [".githooks/post-merge", "sub/.mcp.json"],
            "{then}"
        );
    }
}

#[test]
fn a_repository_of_the_users_that_is_made_anew_is_no_new_one() {
    let sandbox = with_tracked_hooks();
    let made = "git init -q -b main d; cd d; git config user.name t; git config user.email t@t.test; echo 1 > f; \
                git add .; git commit -qm 1; git switch -qc dev; echo 1 > .envrc; git add .; git commit -qm 2; git switch -q main";
    sandbox.host(made);
    let outcome = sandbox.run(
        "cp -r d/.git /tmp/g; cd d; rm -rf .git; git init -q -b main; cp -r /tmp/g/objects /tmp/g/refs .git; \
         git reset -q; python3 ../forge.py there $(git rev-parse dev:.envrc) evil",
    );
    outcome
        .success()
        .stderr_has("git would take it for another object");
    assert_eq!(told(&outcome), ["d/.envrc"]);
    sandbox.host("cd d; ! git checkout -q dev 2> /dev/null; ! grep -s evil .envrc");
}

/// A repository `d` in the workspace, whose branch `dev` has an `.envrc`.
const NESTED: &str = "git init -q -b main d; cd d; git config user.name t; git config user.email t@t.test; echo 1 > f; \
     git add .; git commit -qm 1; git switch -qc dev; echo 1 > .envrc; git add .; git commit -qm 2; git switch -q main; cd ..; ";

#[test]
fn no_way_to_the_objects_of_the_users_repositories_is_overlooked() {
    // The repository as a submodule of another, once checked out and once not.
    let module = "rm -rf ../s; mv d ../s; git -c protocol.file.allow=always submodule --quiet add ../s d; git commit -qm s";
    let away = "; git submodule --quiet deinit -f d; rm -rf .git/modules";
    let forge = "pack $id evil";
    for (before, script, host) in [
        (
            "true",
            "mkdir -p o/objects/pack; STORE=o/objects forge; echo ../../../o/objects > d/.git/objects/info/alternates",
            "cd d",
        ),
        ("true", "mv d e; STORE=e/.git/objects forge; mv e d", "cd d"),
        (
            module,
            "cd .git/modules; mkdir two; cd d; cp -r HEAD index objects refs packed-refs info ../two; cd ../../..; \
             echo 'gitdir: ../.git/modules/two' > d/.git; STORE=.git/modules/two/objects forge",
            "cd d",
        ),
        (
            &format!("{module}{away}"),
            "git init -q --bare .git/modules/d; git -C .git/modules/d config --unset core.bare; \
             cp -r o/. .git/modules/d/objects; mkdir -p .git/modules/d/refs/heads; \
             echo $tip > .git/modules/d/refs/heads/main; STORE=.git/modules/d/objects forge",
            "git submodule --quiet update --init; cd d",
        ),
    ] {
        let sandbox = Sandbox::repository().file("forge.py", FORGE);
        sandbox.host(&format!("{NESTED}git -C d rev-parse dev:.envrc > id; git -C d rev-parse dev > tip; {before}; [ -d ../s ] && cp -r ../s/.git/objects o; true"));
        let outcome = sandbox.run(&format!(
            "id=$(cat id); tip=$(cat tip); forge() {{ python3 forge.py {forge}; }}; {script}"
        ));
        outcome.stderr_has("git would take objects of the pack for others");
        let there = sandbox.host(&format!(
            "{host}; git checkout -q dev || git checkout -q $(cat ../tip); cat .envrc"
        ));
        assert_eq!(there, "1\n", "{script}");
    }
}

#[test]
fn an_object_that_another_run_still_writes_is_taken_away() {
    let sandbox = Sandbox::repository();
    sandbox.host(&format!(
        "{NESTED}cd d; id=$(git rev-parse dev:.envrc); echo .git/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-) > ../path; cp $(cat ../path) ../true; chmod 644 ../true"
    ));
    let hold = "import sys\nf = open('true', 'r+b')\nprint('held', flush=True)\nsys.stdin.read()\n";
    let mut command = sandbox.command();
    command.arg("run").args(sandbox.options());
    command.args(["--", "python3", "-c", hold]);
    let run = Background::begun(command, "held").expect("nothing ends it before");
    let outcome = sandbox.run("cd d; rm -f $(cat ../path); mv ../true $(cat ../path)");
    outcome.stderr_has("another program has it open for writing");
    run.terminate();
    sandbox.host("cd d; test ! -e $(cat ../path)");
}

#[test]
fn a_commit_that_brings_a_repository_or_leads_around_what_is_protected_is_told() {
    let (sandbox, add) = with_filter();
    let outcome = sandbox.run(&format!(
        "export GIT_INDEX_FILE=/tmp/i; git read-tree HEAD; {add} \
         git update-ref refs/heads/fix $(git commit-tree -p HEAD -m x $(git write-tree))",
    ));
    outcome.success();
    assert_eq!(told(&outcome), ["README", "docs/HEAD", "scripts"]);
}

#[test]
fn a_flood_of_reported_files_hides_no_commit() {
    let sandbox = Sandbox::repository();
    let outcome = sandbox.run(
        "python3 -c 'import os\nfor n in range(4200): os.makedirs(f\"d/{n}\"); open(f\"d/{n}/Makefile\", \"w\").close()'; \
         export GIT_INDEX_FILE=/tmp/i; git read-tree HEAD; id=$(echo x | git hash-object -w --stdin); \
         git update-index --add --cacheinfo 100644,$id,.mcp.json; git branch fix $(git commit-tree -p HEAD -m x $(git write-tree))",
    );
    outcome.success();
    assert_eq!(told(&outcome), [".mcp.json"]);
}

#[test]
fn honest_objects_stay_and_nothing_is_told_of_them() {
    let sandbox = with_tracked_hooks();
    sandbox.host(
        "for n in $(seq 200); do echo line $n >> long; git add long; git commit -qm $n; done",
    );
    let outcome = sandbox.run(
        "set -e; echo a > a; git add a; git commit -qm a; echo b > a; git stash -q; git stash pop -q; git commit -qam b; \
         git -c pack.window=50 repack -qadf; git commit-graph write --reachable 2> /dev/null; git multi-pack-index write 2> /dev/null; \
         git gc -q; git switch -qc new HEAD~5; git merge -q -m m two~0^; git fsck --strict",
    );
    outcome.success().nothing_refused();
    assert_eq!(told(&outcome), [""; 0]);
    sandbox.host("git fsck --strict && git log --oneline | grep -q . && test ! -e .git/objects/info/commit-graph");
}

/// Stores the commit `$commit` of a file `deploy/run.sh` in the repository of the folder.
const BRINGS: &str = "file=$(echo evil | git hash-object -w --stdin); \
     tree=$(printf \"100644 blob $file\\trun.sh\\n\" | git mktree); \
     commit=$(printf \"040000 tree $tree\\tdeploy\\n\" | git mktree | xargs git -c user.name=t -c user.email=t@t.test commit-tree -m x); ";

#[test]
fn a_commit_is_told_wherever_git_could_check_it_out() {
    let protected = "mkdir deploy; echo good > deploy/run.sh; git add .; git commit -qm deploy";
    for (before, protect, script, place) in [
        // Objects of a repository that the run has made, and of another of the user's.
        (
            protected,
            "deploy/run.sh",
            "git init -q sub; cd sub; BRINGS; cd ..; mkdir -p .git/objects/info; \
             echo ../../sub/.git/objects > .git/objects/info/alternates; git update-ref refs/heads/other $commit",
            "deploy/run.sh",
        ),
        (
            "git init -q -b main d; cd d; git config user.name t; git config user.email t@t.test; mkdir deploy; echo good > deploy/run.sh; git add .; git commit -qm 1",
            "d/deploy/run.sh",
            "BRINGS; echo ../../../.git/objects > d/.git/objects/info/alternates; git -C d update-ref refs/heads/other $commit",
            "d/deploy/run.sh",
        ),
        // A linked working tree of the repository.
        (
            "git worktree add -q wt; cd wt; mkdir deploy; echo good > deploy/run.sh; git add .; git commit -qm 1",
            "wt/deploy/run.sh",
            "cd wt; BRINGS; git update-ref refs/heads/other $commit",
            "wt/deploy/run.sh",
        ),
    ] {
        let sandbox = protecting(protect, before);
        let outcome = sandbox.run(&script.replace("BRINGS; ", BRINGS));
        outcome.success();
        assert_eq!(told(&outcome), [place], "{script}");
    }
}

#[test]
fn a_commit_of_nothing_is_no_doubt() {
    for script in [
        "GIT_SEQUENCE_EDITOR=true git rebase -q -i --root",
        "git commit-tree -m x 4b825dc642cb6eb9a060e54bf8d69288fbee4904 > /tmp/x",
        "git rm -qr .; git commit -qm gone; echo > f; git add f; git commit -qm back",
    ] {
        let outcome = Sandbox::repository().run(script);
        assert_eq!(outcome.success().stderr(), "", "{script}");
    }
}
