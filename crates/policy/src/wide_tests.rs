use crate::fixture::Machine;
use crate::load::check_of;
use crate::{Access, fixture::access};
use bailiwick_event::Failure;
use std::path::Path;

fn refused(machine: &Machine) -> String {
    match Failure::from(machine.try_load().unwrap_err()) {
        Failure::Refused(refused) => {
            assert_eq!(refused.rule.id, "filesystem.write");
            format!(
                "{}: {} ({})",
                refused.rule.origin, refused.resource, refused.remedy
            )
        }
        other => panic!("{other}"),
    }
}

#[test]
fn an_entry_that_opens_what_no_workspace_may_be_is_refused_with_its_line() {
    for (entry, what) in [
        ("/", "the root of the file system"),
        ("~", "the home directory"),
        ("~/", "the home directory"),
        ("~/..", "a folder that contains the home directory"),
        ("~/project/..", "the home directory"),
        ("~/.config", "a folder that contains the user's policy"),
        ("~/link", "the home directory"),
    ] {
        let text = format!("extends = [\"default\"]\n[filesystem]\nwrite = [\"x\", \"{entry}\"]");
        let layers: [fn(Machine, &str) -> Machine; 3] = [
            |machine, text| machine.user(text),
            |machine, text| machine.system(text),
            |machine, text| machine.file("p.toml", text).policy("./p.toml"),
        ];
        for layer in layers {
            let mut machine = layer(Machine::new().user("").link("~/link", "~/"), &text);
            let said = refused(&machine);
            assert!(said.contains(&format!(" is {what}")), "{entry}: {said}");
            assert!(said.contains(":3:15: "), "{entry}: {said}");
            assert!(said.contains("--allow-wide-workspace"), "{said}");
            // The remedy works.
            machine.request.allow_wide_workspace = true;
            assert!(machine.try_load().is_ok(), "{entry}");
        }
    }
}

#[test]
fn a_pattern_is_judged_by_what_it_can_match() {
    let machine = |entry: &str| {
        let text = format!("[filesystem]\nwrite = [\"{entry}\"]");
        Machine::new()
            .user("")
            .file("p.toml", &text)
            .policy("./p.toml")
    };
    for (entry, what) in [
        ("/**", "the home directory"),
        ("~/../h*", "the home directory"),
        ("../*", "everything in the home directory"),
        ("~/[!.]*", "everything in the home directory"),
        ("~/**/*", "everything in the home directory"),
        ("~/.c*", "a folder that contains the user's policy"),
    ] {
        let said = refused(&machine(entry));
        assert!(said.contains(&format!("matches {what}")), "{entry}: {said}");
    }
    let said = refused(&machine("~/.config/bailiwick/*"));
    assert!(said.contains("keeps its own files"), "{said}");
    for fine in ["~/.claude*", "~/**/target", "*", "~/data/*"] {
        machine(fine).load();
    }
}

#[test]
fn an_entry_among_the_products_own_files_is_refused_whoever_accepts_it() {
    let text = "[filesystem]\nwrite = [\"~/.config/bailiwick/x\"]";
    let mut machine = Machine::new().user(text);
    machine.request.allow_wide_workspace = true;
    let said = refused(&machine);
    assert!(
        said.contains("keeps its own files") && said.contains("(leave the entry out)"),
        "{said}"
    );
}

#[test]
fn what_a_project_asks_for_is_refused_when_it_is_to_be_trusted() {
    let machine = Machine::new().project("extends = [\"default\"]\n[filesystem]\nwrite = [\"~\"]");
    assert!(machine.try_load().is_ok(), "it grants nothing yet");
    let error = crate::trust(&machine.request).unwrap_err().to_string();
    assert!(error.starts_with("./bailiwick.toml:3:10: "), "{error}");
}

#[test]
fn narrower_entries_and_the_workspace_itself_are_taken() {
    let machine = Machine::new()
        .user("[filesystem]\nwrite = [\".\", \"~/.config/tool\", \"~/data/*\", \"**/out\"]");
    let loaded = machine.load();
    assert_eq!(
        access(&loaded, &machine.path("~/.config/tool/x")),
        Access::Write
    );
}

#[test]
fn a_check_of_a_file_finds_it_where_every_run_would() {
    let text = "extends = [\"default\"]\n[filesystem]\nwrite = [\".\"]";
    let check = |machine: &Machine, file: &str| {
        let told = check_of(&machine.request, &machine.path(file));
        told.map_err(|error| error.to_string())
    };
    let machine = Machine::new()
        .file("~/bailiwick.toml", text)
        .file("~/own.toml", text)
        .file("own.toml", text)
        .user(text);
    for file in ["~/bailiwick.toml", "~/own.toml"] {
        let said = check(&machine, file).unwrap_err();
        assert!(said.contains(":3:10: error: "), "{said}");
        assert!(said.contains("is the home directory"), "{said}");
        assert!(said.contains("--allow-wide-workspace"), "{said}");
    }
    // Here `.` is the project, there the workspace of each run.
    for file in ["own.toml", "~/.config/bailiwick/policy.toml"] {
        check(&machine, file).unwrap();
    }
    let user = Machine::new().user("[filesystem]\nwrite = [\"~\"]");
    let said = check(&user, "~/.config/bailiwick/policy.toml").unwrap_err();
    assert!(said.contains("is the home directory"), "{said}");
    let extending = Machine::new()
        .file("p.toml", "extends = [\"./wide.toml\"]")
        .file("wide.toml", "[filesystem]\nwrite = [\"~\"]");
    let said = check(&extending, "p.toml").unwrap_err();
    assert!(said.contains("wide.toml:2:10: error: "), "{said}");
    assert!(check_of(&extending.request, Path::new("none.toml")).is_err());
}
