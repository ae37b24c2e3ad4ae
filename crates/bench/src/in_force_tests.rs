use super::*;
use crate::testing::{folder, helper, needs_bwrap};
use proptest::prelude::*;

fn yard() -> (tempfile::TempDir, Yard) {
    let directory = folder();
    let yard = Yard::new(directory.path().join("outside")).unwrap();
    (directory, yard)
}

fn bwrap(flags: &[&str], command: &[OsString]) -> Vec<OsString> {
    needs_bwrap();
    let mut argv: Vec<OsString> = vec!["bwrap".into()];
    argv.extend(flags.iter().map(OsString::from));
    argv.extend(command.iter().cloned());
    argv
}

#[test]
fn without_a_sandbox_everything_forbidden_succeeds_and_is_seen() {
    let (_directory, yard) = yard();
    assert_eq!(yard.control(&helper(), Path::new("/")).unwrap(), Ok(()));
    let found = yard
        .check(&yard.command(&helper()), Path::new("/"), &[])
        .unwrap();
    assert!(!found.holds);
    for breach in ["was changed", "was created", "was reached"] {
        assert!(found.detail.contains(breach), "{}", found.detail);
    }
}

#[test]
fn a_sandbox_holds() {
    let (_directory, yard) = yard();
    let argv = bwrap(
        &["--unshare-all", "--ro-bind", "/", "/"],
        &yard.command(&helper()),
    );
    let found = yard.check(&argv, Path::new("/"), &[]).unwrap();
    assert!(found.holds, "{}", found.detail);
    assert!(found.detail.contains("Read-only"), "{}", found.detail);
}

#[test]
fn a_sandbox_with_a_hole_in_its_network_does_not_hold() {
    let (_directory, yard) = yard();
    let flags = ["--unshare-all", "--share-net", "--ro-bind", "/", "/"];
    let argv = bwrap(&flags, &yard.command(&helper()));
    let found = yard.check(&argv, Path::new("/"), &[]).unwrap();
    assert!(!found.holds);
    assert!(found.detail.contains("loopback"), "{}", found.detail);
    assert!(!found.detail.contains("changed"), "{}", found.detail);
}

#[test]
fn a_write_into_a_private_copy_is_not_a_refusal() {
    let (directory, yard) = yard();
    let outside = directory.path().join("outside");
    let flags = [
        "--unshare-all",
        "--ro-bind",
        "/",
        "/",
        "--tmpfs",
        outside.to_str().unwrap(),
    ];
    let argv = bwrap(&flags, &yard.command(&helper()));
    let found = yard.check(&argv, Path::new("/"), &[]).unwrap();
    assert!(!found.holds, "{}", found.detail);
    assert!(!found.detail.contains("was changed"), "{}", found.detail);
}

#[test]
fn a_sandbox_in_which_nothing_was_attempted_proves_nothing() {
    let (_directory, yard) = yard();
    let found = yard.check(&["true".into()], Path::new("/"), &[]).unwrap();
    assert!(!found.holds);
    assert!(found.detail.contains("not made"), "{}", found.detail);
}

#[test]
fn a_report_that_claims_refusals_does_not_hide_a_touched_file() {
    let (directory, yard) = yard();
    let script = format!(
        "echo x >'{}/outside/canary'; echo '{{\"overwrite\":\"no\",\"create\":\"no\",\"connect\":\"no\"}}'",
        directory.path().display()
    );
    let argv = ["sh", "-c", &script].map(OsString::from);
    let found = yard.check(&argv, Path::new("/"), &[]).unwrap();
    assert!(
        !found.holds && found.detail.contains("was changed"),
        "{}",
        found.detail
    );
}

proptest! {
    #[test]
    fn no_report_can_break_the_host(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }
}
