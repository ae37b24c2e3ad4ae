use super::*;
use std::os::unix::fs::PermissionsExt as _;

#[test]
fn the_first_program_is_one_that_linux_runs_and_says_its_word() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("init");
    std::fs::write(&program, first_program()).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    // It ends by nothing but its machine's end.
    let mut running = BareMachine::start(&mut Command::new(&program)).unwrap();
    running.wait_for(HELLO, PATIENCE).unwrap();
    assert_eq!(running.said, HELLO);
    assert!(running.child.try_wait().unwrap().is_none());
}

#[test]
fn a_machine_that_says_something_else_is_told_with_what_it_said() {
    let mut command = Command::new("echo");
    command.arg("Kernel panic \u{1b}[2J");
    let mut running = BareMachine::start(&mut command).unwrap();
    let error = running.wait_for(HELLO, PATIENCE).unwrap_err().to_string();
    assert!(error.contains("Kernel panic \\x1b[2J"), "{error}");
}
