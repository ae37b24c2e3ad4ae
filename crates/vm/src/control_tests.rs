use super::*;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::thread::{JoinHandle, spawn};

/// A monitor that says `lines`, one for each command that it hears, after its greeting. Returns what
/// it heard.
fn monitor(lines: &'static [&'static str]) -> (Control, JoinHandle<Vec<Value>>) {
    let flags = SocketFlags::CLOEXEC;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    let heard = spawn(move || {
        let mut socket = UnixStream::from(theirs);
        let mut reader = BufReader::new(socket.try_clone().unwrap());
        socket
            .write_all(b"{\"QMP\": {\"version\": {}}}\r\n")
            .unwrap();
        let mut heard = Vec::new();
        for line in lines {
            let mut command = String::new();
            reader.read_line(&mut command).unwrap();
            heard.push(serde_json::from_str(&command).unwrap());
            socket.write_all(line.as_bytes()).unwrap();
        }
        heard
    });
    (Control::new(ours), heard)
}

#[test]
fn a_command_is_answered_whatever_is_said_before() {
    let (mut control, heard) = monitor(&[
        "{\"return\": {}}\r\n",
        "{\"event\": \"STOP\", \"data\": {}}\r\n{\"return\": {\"a\": 1}}\r\n",
    ]);
    control.open().unwrap();
    // It is opened once.
    control.open().unwrap();
    let answer = control.run("stop", json!({})).unwrap();
    assert_eq!(answer["return"]["a"], 1);
    let heard = heard.join().unwrap();
    assert_eq!(heard[0]["execute"], "qmp_capabilities");
    assert_eq!(heard[1]["execute"], "stop");
}

#[test]
fn a_refusal_names_the_command_and_why() {
    let (mut control, _) = monitor(&[
        "{\"return\": {}}\r\n",
        "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such state\"}}\r\n",
    ]);
    control.open().unwrap();
    let failure = control.run("cont", json!({})).unwrap_err().to_string();
    assert!(
        failure.contains("cont") && failure.contains("no such state"),
        "{failure}"
    );
}

#[test]
fn a_migration_ends_well_or_is_a_failure() {
    let (mut control, _) = monitor(&[
        "{\"return\": {}}\r\n",
        "{\"event\": \"MIGRATION\", \"data\": {\"status\": \"active\"}}\r\n\
         {\"return\": {}}\r\n{\"event\": \"MIGRATION\", \"data\": {\"status\": \"completed\"}}\r\n",
        "{\"return\": {}}\r\n{\"event\": \"MIGRATION\", \"data\": {\"status\": \"failed\"}}\r\n",
    ]);
    control.open().unwrap();
    control.run("migrate", json!({})).unwrap();
    control.wait_for_migration().unwrap();
    control.run("migrate", json!({})).unwrap();
    assert!(control.wait_for_migration().is_err());
}

#[test]
fn a_monitor_that_ends_or_raves_is_a_failure() {
    let (mut control, _) = monitor(&[]);
    assert!(control.open().is_err());
    let (mut control, _) = monitor(&["not json\r\n"]);
    assert!(control.open().is_err());
}
