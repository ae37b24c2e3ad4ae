//! A policy or a trust store that cannot be read is named, wherever it lies, and never passed over.

use super::{not_started, root};
use crate::support::Sandbox;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

/// Makes a path into something that is no readable policy; the words that must name it.
type Spoiled = (fn(&Path), &'static str);

const SPOILED: [Spoiled; 7] = [
    (
        |path| fs::create_dir(path).unwrap(),
        "it is not a regular file",
    ),
    (
        |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap(),
        "it is not a regular file",
    ),
    (
        |path| symlink("nowhere", path).unwrap(),
        "there is no such file",
    ),
    (
        |path| symlink(path.file_name().unwrap(), path).unwrap(),
        "(os error 40)",
    ),
    (
        |path| symlink("/dev/zero", path).unwrap(),
        "it is not a regular file",
    ),
    (
        |path| fs::write(path, [b'#', 0xff]).unwrap(),
        "it is not UTF-8 (byte 1)",
    ),
    (
        |path| fs::write(path, vec![b'#'; 2 << 20]).unwrap(),
        "it is larger than 1 MiB",
    ),
];

#[test]
fn a_policy_that_cannot_be_read_is_named_wherever_it_lies() {
    for (spoil, why) in SPOILED {
        let sandbox = Sandbox::new();
        let named = sandbox.scratch().root().join("named.toml");
        spoil(&named);
        let words = [
            "run",
            "--policy",
            named.to_str().unwrap(),
            "--",
            "touch",
            "began",
        ];
        let outcome = sandbox.bailiwick(words);
        not_started(&sandbox, &outcome, 2)
            .stderr_has("named.toml cannot be read")
            .stderr_has(why);
        outcome.stderr_has("help: give a template");
    }
    for place in ["workspace/bailiwick.toml", "config/bailiwick/policy.toml"] {
        for (spoil, why) in SPOILED {
            let sandbox = Sandbox::new();
            let file = sandbox.scratch().root().join(place);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            spoil(&file);
            let outcome = sandbox.run("touch began");
            let name = place.rsplit_once('/').unwrap().1;
            // What a link of a project's leads to is not looked at.
            let why = match file.read_link() {
                Ok(target) if target.is_absolute() && name == "bailiwick.toml" => {
                    "it lies outside of the project's folder"
                }
                _ => why,
            };
            not_started(&sandbox, &outcome, 2).stderr_has(&format!("{name} cannot be read"));
            outcome
                .stderr_has(why)
                .stderr_has("help: mend it, or remove it");
        }
    }
}

#[test]
fn a_policy_that_its_mode_closes_is_named_and_never_passed_over() {
    let sandbox = Sandbox::new();
    let files = ["workspace/bailiwick.toml", "config/bailiwick/policy.toml"];
    for file in files {
        let file = sandbox.scratch().write(file, "extends = [\"default\"]\n");
        fs::set_permissions(&file, Permissions::from_mode(0o000)).unwrap();
        let outcome = sandbox.run("touch began");
        if root() {
            outcome.success();
        } else {
            not_started(&sandbox, &outcome, 2).stderr_has("cannot be read: Permission denied");
            outcome.stderr_has("help: mend it, or remove it");
        }
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_trust_store_that_cannot_be_read_trusts_nothing_and_says_so() {
    let sandbox = Sandbox::new().file("bailiwick.toml", "[network]\nallow = [\"a.test\"]\n");
    sandbox.scratch().write("state/bailiwick/trust.json", "{");
    let folder = sandbox.scratch().state().join("bailiwick");
    fs::set_permissions(folder, Permissions::from_mode(0o700)).unwrap();
    let outcome = sandbox.run("getent hosts a.test; true");
    outcome
        .success()
        .stderr_has("trust.json is damaged")
        .refused_by("network.default");
}
