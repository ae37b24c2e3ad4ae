//! What a sandboxed program leaves behind runs nothing when the user next looks at it with git, and
//! git works inside as it does outside.

use crate::support::{Backend, Sandbox};

on_every_backend! {
    no_file_leads_git_to_an_unprotected_repository,
    no_folder_becomes_a_repository_with_a_harmful_configuration,
    hooks_are_kept_out_of_every_repository,
    a_submodule_is_added_as_outside,
    linked_trees_of_bare_repositories_have_submodules_as_outside,
    everyday_commands_work_as_outside,
    harmless_settings_are_taken,
    a_repository_is_copied_and_a_harmful_one_is_told,
    a_call_that_had_to_wait_is_decided_when_it_is_done,
}

/// Makes the folder of a repository whose configuration runs a program, without any name that git
/// reserves.
const EVIL: &str = "mkdir -p evil/objects evil/refs/heads; echo 'ref: refs/heads/main' > evil/HEAD_;
    printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tworktree = '$PWD'\\n\\tfsmonitor = \"touch '$PWD'/PWNED; false\"\\n' > evil/config_; ";

/// Runs the act inside, looks at every folder of the workspace with git outside, and checks that
/// nothing ran; and that with the layer switched off it does, because else the act proves nothing.
fn leaves_nothing_that_runs(on: Backend, act: &str) {
    let (ran, said) = runs_outside(Sandbox::repository_on(on), act);
    assert!(!ran, "{act}: {said}");
    if on == Backend::Vm {
        // That the act does something is shown once; a machine takes its time.
        return;
    }
    let sandbox = Sandbox::repository().policy(UNPROTECTED);
    let (ran, said) = runs_outside(sandbox, act);
    assert!(ran, "without the broker {act} does nothing: {said}");
}

/// A policy in which nothing is protected.
const UNPROTECTED: &str = "[filesystem]\nread = [\"/usr\", \"/bin\", \"/lib\", \"/lib64\", \"/etc\"]\n\
    write = [\"workspace\"]\nprotect_absent = \"off\"\n";

/// Whether git outside runs what the act has left.
fn runs_outside(sandbox: Sandbox, act: &str) -> (bool, String) {
    let outcome = sandbox.run(&format!("{EVIL} {act}"));
    sandbox.host(
        "find . -type d -not -path '*/objects/*' | while read d; do (cd \"$d\" && \
         git status; git diff; git log -1; git add -n .) > /dev/null 2>&1 < /dev/null; done; true",
    );
    let ran = sandbox.workspace().join("PWNED").exists();
    (ran, outcome.stderr())
}

fn no_file_leads_git_to_an_unprotected_repository(on: Backend) {
    for act in [
        "mv evil/config_ evil/config; mv evil/HEAD_ evil/HEAD; mkdir sub; echo 'gitdir: ../evil' > sub/.git",
        "mkdir sub; echo 'gitdir: ../evil' > sub/x; mv sub/x sub/.git; cp evil/config_ evil/config; cp evil/HEAD_ evil/HEAD",
        "mkdir sub; echo 'gitdir: ../evil' > sub/x; ln sub/x sub/.git; cp evil/config_ evil/config; cp evil/HEAD_ evil/HEAD",
        "cp evil/config_ evil/config; echo ../evil > .git/commondir",
        "git worktree add -q tree; cp evil/config_ evil/config; echo ../../../evil > .git/worktrees/tree/commondir",
        "cp evil/config_ evil/config; cp evil/HEAD_ evil/HEAD; ln -s ../evil link; mkdir sub; ln -P link sub/.git",
        "cp evil/config_ evil/config; cp evil/HEAD_ evil/HEAD; mkdir sub; ln -s ../evil sub/.git",
        "git init -q r; mv r/.git r/g; cp evil/config_ r/g/config; chmod 200 r/g; mv r/g r/.git; chmod 755 r/.git",
        "rm .git/config; mv evil/config_ .git/config",
        // What working trees have in common, taken apart and put together again.
        "git clone -q --bare . b.git; git -C b.git worktree add -q ../tree; rm b.git/HEAD; \
         mv b.git/refs b.git/r; cp evil/config_ b.git/config; mv b.git/r b.git/refs",
        "git clone -q --bare . b.git; git -C b.git worktree add -q ../tree; rm b.git/HEAD; \
         cp evil/config_ b.git/config; rm b.git/config; mv evil/config_ b.git/config",
        "git clone -q --bare . b.git; git -C b.git worktree add -q ../tree; rm b.git/HEAD; \
         mv b.git/objects b.git/o; rm b.git/config; cp evil/config_ b.git/config; mkdir b.git/objects",
        "cp evil/config_ evil/config; cp evil/HEAD_ evil/HEAD; ln -s ../evil sub; mv sub .g; mkdir s; mv .g s/.git",
    ] {
        leaves_nothing_that_runs(on, act);
    }
}

fn no_folder_becomes_a_repository_with_a_harmful_configuration(on: Backend) {
    for act in [
        "cp evil/config_ evil/config; cp evil/HEAD_ evil/HEAD",
        "cp evil/HEAD_ evil/HEAD; cp evil/config_ evil/config",
        "cp evil/HEAD_ evil/HEAD; mv evil/config_ evil/config",
        "cp evil/HEAD_ evil/HEAD; ln evil/config_ evil/config",
        "cp evil/HEAD_ evil/HEAD; ln -s config_ evil/config",
        "cp evil/config_ evil/config; ln -s refs/heads/main evil/HEAD",
        // A file that is open since before it was a configuration.
        "exec 3> evil/config; cp evil/HEAD_ evil/HEAD; cat evil/config_ >&3",
        "mkdir e2; mv evil/config_ e2/config; mv evil/objects evil/refs e2; cp evil/HEAD_ e2/HEAD",
        "git config extensions.worktreeConfig true; git worktree add -q tree; \
         cp evil/config_ .git/worktrees/tree/config.worktree; cp evil/config_ .git/config.worktree",
        "git init -q r; cp evil/config_ r/.git/config; mv evil/config_ r/.git/config",
        "cp evil/config_ evil/config; cp evil/HEAD_ evil/HEAD; mkdir s; mv evil s/.git",
        "git init -q r; mv r/.git r/g; cp evil/config_ r/g/config; mv r/g r/.git",
    ] {
        leaves_nothing_that_runs(on, act);
    }
}

fn hooks_are_kept_out_of_every_repository(on: Backend) {
    let hook = "printf '#!/bin/sh\\ntouch PWNED\\n' > h; chmod +x h;";
    for act in [
        "git init -q --bare b.git; mkdir -p b.git/hooks; cp h b.git/hooks/post-receive",
        "git init -q --bare b.git; rm -rf b.git/hooks; mkdir k; cp h k/post-receive; mv k b.git/hooks",
        "git init -q --bare b.git; rm -rf b.git/hooks; mkdir k; cp h k/post-receive; ln -s ../k b.git/hooks",
        "mkdir -p b/objects b/refs b/hooks; cp h b/hooks/post-receive; cp evil/HEAD_ b/HEAD",
        "mkdir e; ln -s ../../e r2m; mkdir r2; mv r2m r2/modules; mkdir s; mv r2 s/.git; \
         mkdir -p e/x/hooks; cp h e/x/hooks/post-checkout",
        "git init -q r; mkdir -p r/.git/hooks; cp h r/.git/hooks/post-checkout; mv h r/.git/hooks/pre-commit",
    ] {
        let sandbox = Sandbox::repository_on(on);
        sandbox.run(&format!("{EVIL} {hook} {act}"));
        // A file in a folder that git takes for one of hooks, whatever links there are.
        let found = sandbox.host(
            "find -L . -path '*hooks/*' -not -name '*.sample' -type f 2> /dev/null | while read f; do \
             d=$(dirname \"$(dirname \"$f\")\"); test -e \"$d/HEAD\" && echo \"$f\"; done; true",
        );
        assert_eq!(found, "", "{act}");
    }
}

fn a_submodule_is_added_as_outside(on: Backend) {
    let script = "set -e; git init -q -b main lib; git -C lib config user.name t; git -C lib config user.email t@t.test
        echo l > lib/l; git -C lib add l; git -C lib commit -qm lib
        git -c protocol.file.allow=always submodule --quiet add $PWD/lib gone; rm -rf gone .git/modules/gone; git reset -q --hard; mv lib /tmp/lib.$$
        git -c protocol.file.allow=always submodule --quiet add /tmp/lib.$$ vendor/lib; git commit -qm sub
        git -C vendor/lib status --porcelain; cat vendor/lib/.git; cat .git/modules/vendor/lib/config | grep worktree
        git mv vendor/lib vendor/two; git commit -qm mv; git -C vendor/two status --porcelain; mkdir v; git mv vendor/two v/two; git mv v/two vendor; git -C vendor/two status --porcelain; git submodule deinit -f vendor/two > /dev/null 2>&1
        git -c protocol.file.allow=always submodule --quiet update --init 2> /dev/null; git -C vendor/two log --oneline | wc -l
        git submodule status | cut -c 2- | wc -l; git worktree add -q tree -b side; cat tree/.git | sed \"s#$PWD##\"
        git -C tree log --oneline | wc -l; git worktree list | wc -l; git worktree remove --force tree
        git clone -q . copy; git -C copy log --oneline | wc -l; git init -q --bare -b main b.git; git push -q ./b.git main
        git -C b.git log --oneline | wc -l; git fsck --no-dangling";
    let sandbox = Sandbox::repository_on(on);
    let inside = sandbox.run(script);
    inside.success();
    let outside = Sandbox::repository_on(on).host(script);
    assert_eq!(inside.stdout(), outside);
    assert_eq!(inside.stderr(), "");
    // A commit from before has no list of submodules.
    sandbox.run("set -e; b=$(git branch --show-current); git switch -qd $(git rev-list --max-parents=0 HEAD); test ! -e .gitmodules; git switch -q $b; test -e .gitmodules").success();
}

fn linked_trees_of_bare_repositories_have_submodules_as_outside(on: Backend) {
    let script = "set -e; export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.file.allow GIT_CONFIG_VALUE_0=always
        export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
        git init -q -b main lib; echo l > lib/l; git -C lib add l; git -C lib commit -qm lib; lib=$PWD/lib
        git submodule --quiet add $lib vendor/lib; git commit -qm sub; git worktree add -q tree -b side
        git -C tree submodule --quiet update --init; cat tree/vendor/lib/l; git -C tree/vendor/lib status
        mkdir project; git clone -q --bare . project/.bare; git clone -q --bare . b.git
        for place in project/.bare b.git; do (
            cd $place; git=$PWD; git worktree add -q ../one side; cd ../one; git submodule --quiet update --init
            git -C vendor/lib status; cat vendor/lib/l; echo one > one; git add one; git commit -qm one; git log --format=%s -1
            git worktree add -q ../two main; git worktree move ../two ../three; git -C ../three status
            git worktree remove ../three; git worktree repair; git worktree list | wc -l; rm -rf ../one; git -C $git worktree prune
        ) done";
    let settings = "git config --global user.name t; git config --global user.email t@t.test";
    let inside = Sandbox::repository_on(on).run(&format!("{settings}; {script}"));
    inside.success();
    let outside =
        Sandbox::repository_on(on).host(&format!("export HOME=$PWD/..; {settings}; {script}"));
    assert_eq!(inside.stderr(), "");
    assert_eq!(inside.stdout(), outside);
}

/// What people and agents do with git in a day, in a repository with two branches that conflict.
const EVERYDAY: &str = r#"set -e
    export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z' GIT_EDITOR=true
    t=$(mktemp -d); o=$PWD/other.git; commit() { git commit -qm "$1"; }; quiet() { "$@" > /dev/null 2>&1; }
    printf 'import sys\np = sys.argv[1]\nt = open(p).read()\nopen(p, "w").write(t.replace("pick", "edit", 1))\n' > $t/edit.py
    echo a > a; mkdir -p d/e; echo b > d/e/b; git add .; commit two; git mv a c; git rm -q d/e/b; commit three
    git switch -qc side HEAD~1; echo side > f; git commit -qam side; echo more >> f; git commit -qam more
    git switch -q main; echo main > f; git commit -qam main; git tag v1; git tag -am annotated v2
    quiet git merge side && exit 1; git status --porcelain; git checkout -q --ours f; git add f; git commit -q --no-edit
    git log --oneline | wc -l; git reset -q --hard HEAD~1
    quiet git rebase side && exit 1; echo both > f; git add f; quiet git rebase --continue; git log --format=%s -3
    GIT_SEQUENCE_EDITOR="sed -i '1s/^pick/reword/; 2s/^pick/fixup/'" quiet git rebase -i HEAD~2; git log --format=%s | wc -l
    GIT_SEQUENCE_EDITOR="python3 $t/edit.py" quiet git rebase -i HEAD~1; git status | head -1 | cut -c 1-30; echo x >> f; git commit -q --amend -a --no-edit; quiet git rebase --continue
    git branch copy side; quiet git cherry-pick copy~1 copy || git cherry-pick --abort; git revert --no-edit HEAD > /dev/null
    echo dirty >> f; git stash -q; git stash list | wc -l; git stash pop -q; git checkout -q -- f; git clean -qfd
    quiet git bisect start HEAD HEAD~2; quiet git bisect good; quiet git bisect reset; git status --porcelain
    git format-patch -q -1 -o $t/patches > /dev/null; git reset -q --hard HEAD~1; git am -q $t/patches/*; git notes add -m note; git notes show
    git worktree add -q tree copy 2> /dev/null; echo t > tree/t; git -C tree add t; git -C tree commit -qm tree; git worktree list | wc -l
    git worktree move tree tree2; git worktree lock tree2; git worktree unlock tree2; git worktree remove tree2
    git gc -q; git repack -qad; git pack-refs --all; git prune; git fsck; git reflog expire --expire=now --all
    git init -q --bare -b main $o; git remote add up $o; git push -q up main side; git fetch -q up; git pull -q up main
    git push -q -u up side:side2; quiet git branch --set-upstream-to=up/main main; git remote rename up down 2> /dev/null; git remote set-url down $o
    git clone -q $o clone; git -C clone log --oneline | wc -l; git clone -q --depth 1 file://$o shallow; git -C shallow fetch -q --unshallow
    git clone -q --bare . bare.git; git clone -q --shared clone shared; git -C shared status --porcelain
    git config rerere.enabled true; git switch -q side; quiet git merge main || git merge --abort; git switch -q main
    git update-index --split-index; echo s > s; git add s; commit split; git update-index --no-split-index
    git sparse-checkout set --cone d; git sparse-checkout disable; git checkout -q --orphan empty; git rm -qrf . ; git commit -q --allow-empty -m empty
    git switch -q main; git branch -qm copy copy2; git branch -qD copy2; git tag -d v1 > /dev/null
    git init -q --object-format=sha256 long; echo l > long/l; git -C long add l; git -C long write-tree | wc -c; git -C long config extensions.objectformat; rm long/.git/index; rm -rf long
    git init -q r; echo r > r/r; git -C r add r; rm -rf r clone shared shallow bare.git $o; git status --porcelain; git count-objects > /dev/null; git maintenance run --quiet
    git archive HEAD | tar t; git blame f | wc -l; git grep -c both | head -1; git describe --always | wc -l; git shortlog -sn HEAD | wc -l
"#;

fn everyday_commands_work_as_outside(on: Backend) {
    let inside = Sandbox::repository_on(on).run(EVERYDAY);
    let outside = Sandbox::repository_on(on).host(EVERYDAY);
    assert_eq!(inside.stderr(), "");
    assert_eq!(inside.stdout(), outside);
}

fn harmless_settings_are_taken(on: Backend) {
    let sandbox = Sandbox::repository_on(on);
    sandbox
        .run(
            "git config core.autocrlf false && git config core.quotepath off && git config gc.auto 0 && \
             git config commit.gpgsign false && git config core.fsmonitor false && git config pull.rebase true && \
             git sparse-checkout init && git sparse-checkout disable && git config --list | grep -c autocrlf",
        )
        .success()
        .nothing_refused();
}

fn a_repository_is_copied_and_a_harmful_one_is_told(on: Backend) {
    let sandbox = Sandbox::repository_on(on);
    sandbox
        .run("git init -q -b main r; cp -a r copy; until test -s copy/.git/config; do sleep 0.01; done; \
              git -C copy config core.bare")
        .success()
        .stdout_is("false\n")
        .nothing_refused();
    for order in [["HEAD", "config"], ["config", "HEAD"]] {
        let copied = order.map(|name| format!("cp evil/{name}_ evil/{name}"));
        let outcome = sandbox.run(&format!("rm -rf evil; {EVIL} {}", copied.join("; ")));
        outcome.success().refused_by("filesystem.protect");
        assert!(!sandbox.workspace().join("evil/config").exists());
    }
    // A configuration that is being written when its folder becomes a repository.
    sandbox
        .run("mkdir -p b/objects b/refs; exec 3> b/config; echo 'ref: refs/heads/main' > b/HEAD; \
              printf '[core]\\n\\tbare = true\\n' >&3; exec 3>&-; until test -s b/config; do sleep 0.01; done; \
              git -C b config core.bare")
        .success()
        .stdout_is("true\n")
        .nothing_refused();
    sandbox.host("git config alias.mine status");
    sandbox
        .run("rm .git/config; printf '[core]\n\tbare = false\n' > c; mv c .git/config")
        .failure()
        .refused_by("filesystem.protect");
}

fn a_call_that_had_to_wait_is_decided_when_it_is_done(on: Backend) {
    // While it waits its folder becomes one of git's. The kernel alone would never do it. That it is not done
    // afterwards only time tells; a slow machine does less.
    let act = "git init -q r; mv r/.git r/g; mkdir r/h; mkfifo r/h/config; \
        (cat evil/config_ > r/h/config) & \
        while test -e /proc/$! && ! grep -q '^State:.[SZ]' /proc/$!/status; do \
        sleep 0.01; done; \
        rm r/h/config; mv r/h r/.git; sleep 0.3";
    let (ran, said) = runs_outside(Sandbox::repository_on(on), act);
    assert!(!ran, "{said}");
}
