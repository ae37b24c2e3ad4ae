use super::*;

#[test]
fn the_first_program_is_one_that_linux_runs_and_says_its_word() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("init");
    // By another process: a child of another test would hold it open for writing for a moment.
    let source = folder.path().join("source");
    std::fs::write(&source, first_program()).unwrap();
    let mut install = Command::new("install");
    install.args(["-m", "755"]).args([&source, &program]);
    assert!(install.status().unwrap().success());
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
