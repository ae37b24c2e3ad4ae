use super::*;
use crate::fixture::Machine;
use std::os::unix::fs::symlink;

const SECRET: &str = "machine a.test login me password s3cret\n";

/// A machine with a file of the user's outside of the project and one within it.
fn machine() -> Machine {
    Machine::new()
        .file("~/.netrc", SECRET)
        .file(".env", SECRET)
        .file("conf/unknown.toml", "s3cret = \"s3cret\"\n")
        .file("conf/value.toml", "[limits]\nmemory = \"s3cret\"\n")
        .file("conf/twice.toml", "packs = [\"s3cret\", \"s3cret\"]\n")
        .file("conf/extends.toml", "extends = [\"s3cret\"]\n")
        .file("conf/further.toml", "extends = [\"~/s3cret.toml\"]\n")
        .file(
            "conf/rule.toml",
            "[[rules]]\nid = \"s3cret\"\non = \"s3cret\"\n",
        )
        .file(
            "conf/denied.toml",
            "[network]\nallow = [\"s3cret\"]\ndeny = [\"s3cret\"]\n",
        )
}

#[test]
fn a_project_names_no_file_outside_of_its_folder() {
    let machine = machine().file("x", "");
    symlink(machine.path("~/.netrc"), machine.path("link.toml")).unwrap();
    symlink("../nowhere", machine.path("dangling.toml")).unwrap();
    symlink("..", machine.path("up")).unwrap();
    let mut machine = machine;
    for key in ["extends", "packs"] {
        for name in [
            "~/.netrc",
            "../.netrc",
            "~/nowhere.toml",
            "/proc/self/environ",
            "/dev/zero",
            "./link.toml",
            "./dangling.toml",
            "up/.netrc",
        ] {
            machine = machine.project(&format!("{key} = [\"{name}\"]"));
            let said = machine.error();
            assert!(said.starts_with("./bailiwick.toml:1:"), "{name}: {said}");
            assert!(
                said.contains("cannot be read: it lies outside of the project's folder"),
                "{name}: {said}"
            );
            assert!(said.contains("by --policy"), "{name}: {said}");
            assert!(!said.contains("s3cret"), "{name}: {said}");
        }
    }
}

#[test]
fn of_a_file_that_a_project_names_only_the_place_and_the_kind_of_a_mistake_are_told() {
    let mut machine = machine();
    for (key, name, place, kind) in [
        ("extends", "./.env", "./.env:1:9", "this is not TOML"),
        ("packs", "./.env", "./.env:1:", "no place in a pack"),
        (
            "extends",
            "conf/unknown.toml",
            "./conf/unknown.toml:1:1",
            "no place in a policy",
        ),
        (
            "extends",
            "conf/value.toml",
            "./conf/value.toml:2:",
            "no place in a policy",
        ),
        (
            "extends",
            "conf/rule.toml",
            "./conf/rule.toml:",
            "no place in a policy",
        ),
        (
            "extends",
            "conf/denied.toml",
            "./conf/denied.toml:2:",
            "no place in a policy",
        ),
        (
            "packs",
            "conf/unknown.toml",
            "./conf/unknown.toml:",
            "no place in a pack",
        ),
        (
            "packs",
            "conf/rule.toml",
            "./conf/rule.toml:",
            "no place in a pack",
        ),
        (
            "extends",
            "conf/twice.toml",
            "./conf/twice.toml:1:",
            "what `packs` names here",
        ),
        (
            "extends",
            "conf/extends.toml",
            "./conf/extends.toml:1:",
            "what `extends` names here",
        ),
        (
            "extends",
            "conf/further.toml",
            "./conf/further.toml:1:",
            "what `extends` names here",
        ),
    ] {
        machine = machine.project(&format!("{key} = [\"{name}\"]"));
        let checked = crate::load::check_of(&machine.request, Path::new("bailiwick.toml"));
        let checked = checked.unwrap_err().render();
        let trusted = crate::trust(&machine.request).unwrap_err().render();
        for said in [machine.error(), checked, trusted] {
            assert!(
                said.contains(place) && said.contains(kind),
                "{name}: {said}"
            );
            assert!(
                !said.contains("s3cret") && !said.contains(" | "),
                "{name}: {said}"
            );
        }
    }
}

#[test]
fn the_warnings_of_a_file_that_a_project_names_tell_nothing_of_it() {
    let twice = "[network]\nallow = [\"s3cret.test\", \"s3cret.test\"]\n";
    let machine = Machine::new()
        .file("conf/more.toml", twice)
        .project("extends = [\"conf/more.toml\"]");
    let told = machine.load().notices.join("\n");
    assert!(told.contains("./conf/more.toml:2:"), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
}

#[test]
fn a_projects_policy_that_is_a_link_out_of_its_folder_is_refused() {
    let machine = machine();
    symlink(machine.path("~/.netrc"), machine.path("bailiwick.toml")).unwrap();
    let said = machine.error();
    assert!(
        said.starts_with("the policy ./bailiwick.toml cannot be read: it lies outside"),
        "{said}"
    );
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn a_projects_policy_that_is_a_link_within_its_folder_is_not_shown() {
    let machine = machine();
    symlink(".env", machine.path("bailiwick.toml")).unwrap();
    let said = machine.error();
    assert!(said.contains("this is not TOML"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn a_file_that_the_user_names_himself_is_shown_with_its_mistakes() {
    let machine = machine().policy("~/.netrc");
    assert!(machine.error().contains("s3cret"));
    let machine = Machine::new()
        .file("~/.config/bailiwick/team.toml", "colour = 1\n")
        .user("extends = [\"./team.toml\"]");
    assert!(machine.error().contains("colour = 1"));
}
