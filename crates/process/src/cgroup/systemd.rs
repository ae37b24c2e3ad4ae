//! Asks systemd for a group: the machine's for root, the user's own for a user, whose login session
//! may not be written and whose processes only systemd can move. One call on the message bus,
//! made by hand: it is the only one, and a library for it would be larger than this backend.

use super::wire::{Method, Value, Writer, answers, call, head, properties};
use super::{group, place};
use crate::limits::Bounds;
use rustix::process::geteuid;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// systemd answers within this time or not at all.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often to look whether the process was moved.
const LOOK: Duration = Duration::from_millis(1);
/// The names that every call goes to.
const MANAGER: Method<'_> = Method {
    destination: "org.freedesktop.systemd1",
    path: "/org/freedesktop/systemd1",
    interface: "org.freedesktop.systemd1.Manager",
    name: "StartTransientUnit",
};
const HELLO: Method<'_> = Method {
    destination: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
    name: "Hello",
};

/// Whether systemd manages the control groups here.
pub(super) fn is_running() -> bool {
    Path::new("/run/systemd/system").exists()
}

/// Where the bus is that this user's manager listens on.
fn bus() -> PathBuf {
    match geteuid().as_raw() {
        0 => "/run/dbus/system_bus_socket".into(),
        uid => format!("/run/user/{uid}/bus").into(),
    }
}

/// Whether a group that systemd makes has these controllers.
pub(super) fn delegates(needed: &[&str]) -> Result<(), String> {
    let (top, _) = place::own()?;
    let folder = match geteuid().as_raw() {
        0 => top,
        uid => top.join(format!("user.slice/user-{uid}.slice/user@{uid}.service")),
    };
    let bus = bus();
    UnixStream::connect(&bus).map_err(|error| format!("{}: {error}", bus.display()))?;
    let has = fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
    match needed
        .iter()
        .find(|name| !has.split_whitespace().any(|found| found == **name))
    {
        None => Ok(()),
        Some(name) => Err(format!("systemd does not delegate the {name} controller")),
    }
}

/// Has a scope made with this process in it, and the limits; returns its folder.
pub(super) fn scope(pid: i32, bounds: &Bounds) -> Result<PathBuf, String> {
    let name = format!("{}{}-{pid}.scope", group::PREFIX, std::process::id());
    let mut bus = Bus::connect().map_err(|error| format!("systemd's bus: {error}"))?;
    let answer = bus
        .call(&HELLO, "", &[])
        .and_then(|_| bus.call(&MANAGER, "ssa(sv)a(sa(sv))", &request(&name, pid, bounds)))
        .map_err(|error| format!("systemd's bus: {error}"))?;
    answer.map_err(|error| format!("systemd: {error}"))?;
    moved(pid, &name)
}

/// The body of the call.
fn request(name: &str, pid: i32, bounds: &Bounds) -> Vec<u8> {
    let pids = [pid.unsigned_abs()];
    let mut list = vec![
        ("Description", Value::Text("a sandbox of bailiwick")),
        ("PIDs", Value::Numbers(&pids)),
        // It goes with its last process, also after its memory ran out.
        ("CollectMode", Value::Text("inactive-or-failed")),
    ];
    if let Some(bytes) = bounds.memory {
        list.push(("MemoryMax", Value::Number(bytes)));
        list.push(("MemorySwapMax", Value::Number(0)));
    }
    if let Some(most) = bounds.tasks() {
        list.push(("TasksMax", Value::Number(most)));
    }
    if let Some(cpu) = bounds.cpu {
        // Microseconds in a second.
        list.push((
            "CPUQuotaPerSecUSec",
            Value::Number(cpu.saturating_mul(1000)),
        ));
    }
    let mut body = Writer::default();
    body.string(name);
    body.string("fail");
    properties(&mut body, &list);
    body.array(8, |_| {});
    body.0
}

/// Waits until the process is where it was asked to be.
fn moved(pid: i32, name: &str) -> Result<PathBuf, String> {
    let (top, _) = place::own()?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
        let path = text.lines().find_map(|line| line.strip_prefix("0::/"));
        if let Some(path) = path.filter(|path| path.ends_with(name)) {
            return Ok(top.join(path));
        }
        if Instant::now() >= deadline {
            return Err("systemd did not move the sandbox into its group".to_owned());
        }
        std::thread::sleep(LOOK);
    }
}

/// A connection to a message bus.
struct Bus {
    stream: UnixStream,
    serial: u32,
}

impl Bus {
    fn connect() -> io::Result<Self> {
        let mut stream = UnixStream::connect(bus())?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // The user id's digits, each as the hexadecimal number of its character.
        let id: String = geteuid()
            .as_raw()
            .to_string()
            .bytes()
            .map(|digit| format!("{digit:02x}"))
            .collect();
        stream.write_all(format!("\0AUTH EXTERNAL {id}\r\n").as_bytes())?;
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") && line.len() < 512 {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            line.push(byte[0]);
        }
        if !line.starts_with(b"OK ") {
            return Err(io::Error::other("it does not know this user"));
        }
        stream.write_all(b"BEGIN\r\n")?;
        Ok(Self { stream, serial: 0 })
    }

    /// Calls a method; the inner error is the other side's.
    fn call(
        &mut self,
        method: &Method<'_>,
        signature: &str,
        body: &[u8],
    ) -> io::Result<Result<(), String>> {
        self.serial += 1;
        let message = call(self.serial, method, signature, body);
        self.stream.write_all(&message)?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let mut first = [0; 16];
            self.stream.read_exact(&mut first)?;
            let head = head(&first).ok_or_else(|| io::Error::other("an unknown message"))?;
            let mut fields = vec![0; head.fields];
            self.stream.read_exact(&mut fields)?;
            let mut body = vec![0; head.body];
            self.stream.read_exact(&mut body)?;
            match (answers(&fields) == Some(self.serial), head.kind) {
                (true, 2) => return Ok(Ok(())),
                (true, 3) => return Ok(Err(text(&body))),
                // Signals and what is not for us.
                _ => {}
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }
}

/// The words of an error.
fn text(body: &[u8]) -> String {
    let words = body.get(4..).unwrap_or_default();
    let words = words.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(words).into_owned()
}
