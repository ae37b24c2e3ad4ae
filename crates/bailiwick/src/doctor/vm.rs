//! `bailiwick doctor --backend vm`: whether machines are what they are said to be, found out from inside.
//!
//! Decision: every machine is a `bailiwick run` of this program, with a policy that a user could write.
//! The guest's checks act as programs of the machine; the host only counts what has reached it, and
//! compares what came out. Four machines: one for most checks, a second for what must be another and
//! what must be the same, one whose output is large, and starts that are timed.

use super::known;
use super::machines::{Machines, SIZE};
use super::report::{self, Checked};
use super::server::Server;
use super::starts;
use super::wheel::wheel;
use crate::Done;
use crate::cli::DoctorArguments;
use crate::output;
use bailiwick_event::Failure;
use bailiwick_vm::Found;
use std::fs::File;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The name that is granted, over TLS.
const GRANTED: &str = "doctor.bailiwick.test";
/// The name that is granted, over TLS that the gate leaves alone.
const DIRECT: &str = "direct.bailiwick.test";
/// The name of the server that says the time, without TLS.
const TIME: &str = "time.bailiwick.test";
/// A name that is not granted.
const DENIED: &str = "denied.bailiwick.test";
/// Bytes of the large output.
const OUTPUT: u64 = 64 << 20;
/// Bytes of the large file.
const LARGE: u64 = 256 << 20;

/// Checks of the host's own, and what has to run for them.
const NEEDS: [(&str, &str); 5] = [
    ("network.untouched", "network.direct-address"),
    ("network.untouched", "network.udp"),
    ("bulk.host", "bulk.workspace"),
    ("again.identity", "identity.set"),
    ("again.fresh", "files.fresh"),
];

/// How names begin that are no checks of the first machine.
const ELSEWHERE: [&str; 6] = [
    "again",
    "terminal",
    "boot",
    "bulk.output",
    "bulk.host",
    "network.untouched",
];

/// Checks of the second machine: the name in the report, and the guest's.
const SECOND: [(&str, &str); 4] = [
    ("again.fresh", "files.fresh"),
    ("again.workspace", "again.workspace"),
    ("again.identity", "again.identity"),
    ("terminal.pty", "terminal.pty"),
];

/// What is tried, and what of it is wanted.
struct Wanted<'a>(&'a [String]);

impl Wanted<'_> {
    fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, name: &str) -> bool {
        self.is_everything() || self.0.iter().any(|only| name.starts_with(only.as_str()))
    }

    /// How the names of the first machine's checks begin; nothing where all are wanted.
    fn first(&self) -> Vec<&str> {
        let own = self.0.iter().map(String::as_str);
        let needed = NEEDS
            .iter()
            .filter(|(name, _)| !self.is_everything() && self.has(name));
        let all = own.chain(needed.map(|(_, needs)| *needs));
        all.filter(|name| {
            !ELSEWHERE
                .iter()
                .any(|elsewhere| name.starts_with(elsewhere))
        })
        .collect()
    }

    /// The second machine's checks.
    fn second(&self) -> Vec<&'static str> {
        let all = SECOND.into_iter().filter(|(name, _)| self.has(name));
        all.map(|(_, check)| check).collect()
    }
}

/// Checks of the host's own.
const OWN: [&str; 6] = [
    "network.untouched",
    "bulk.host",
    "bulk.output",
    "again.fresh",
    "boot.total",
    "boot.stages",
];

/// Refuses what no check's name begins with, before a machine is started.
fn must_name_checks(only: &[String]) -> Result<(), Failure> {
    if only.is_empty() {
        return Ok(());
    }
    let guest = bailiwick_vm::guest_binary()?;
    let listed = Command::new(&guest).args(["doctor", "--list"]).output();
    let listed = listed.map_err(|e| Failure::fault(format!("{}: {e}", guest.display())))?;
    let listed = String::from_utf8_lossy(&listed.stdout);
    let names = listed.lines().filter_map(|line| line.split(' ').next());
    let names: Vec<&str> = names.chain(OWN).collect();
    let is_none = |only: &&String| !names.iter().any(|name| name.starts_with(only.as_str()));
    match only.iter().find(is_none) {
        Some(unknown) => Err(Failure::usage(format!(
            "no check begins with {unknown}\nhelp: they are {}",
            names.join(", ")
        ))),
        None => Ok(()),
    }
}

/// Runs the checks and says what was found.
pub(super) fn doctor(arguments: &DoctorArguments) -> Done {
    must_name_checks(&arguments.only)?;
    // A place that cannot be written is found before the machines have run.
    let mut report = arguments.junit.as_deref().map(Report::new).transpose()?;
    let folder = tempfile::Builder::new()
        .prefix("bailiwick-doctor-")
        .tempdir();
    let folder = folder.map_err(|e| Failure::fault(format!("no temporary folder: {e}")))?;
    let machines = Machines::new(folder.path(), &arguments.machine, arguments.cold);
    let wanted = Wanted(&arguments.only);
    let mut on = String::new();
    let examined = machines.and_then(|machines| {
        let Found { accelerator, why } = machines.found();
        on = format!("machines run on {accelerator}: {why}\n");
        examine(&machines, folder.path(), &wanted)
    });
    if let (Some(report), Err(failure)) = (&mut report, &examined) {
        report.write(&[not_examined(failure)])?;
    }
    let mut all = examined?;
    all.retain(|checked| wanted.has(&checked.name));
    if let Some(report) = &mut report {
        report.write(&all)?;
    }
    output::print(&match arguments.json {
        true => report::lines(&all),
        false => on + &report::table(&all),
    })?;
    Ok(u8::from(all.iter().any(|checked| !checked.passed)))
}

/// The file of `--junit`.
struct Report<'a> {
    path: &'a Path,
    file: File,
}

impl<'a> Report<'a> {
    fn new(path: &'a Path) -> Result<Self, Failure> {
        let file = File::create(path);
        let file = file.map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
        Ok(Self { path, file })
    }

    fn write(&mut self, all: &[Checked]) -> Result<(), Failure> {
        let written = self.file.write_all(report::junit(all).as_bytes());
        written.map_err(|e| Failure::fault(format!("{}: {e}", self.path.display())))
    }
}

/// What a report says where nothing could be found out: an empty one would look like success.
fn not_examined(failure: &Failure) -> Checked {
    let outcome = Err(failure.to_string());
    let expected = "a machine starts, and its checks run to their end";
    let remedy = "`bailiwick boot --cold --trace` starts one without them";
    Checked::new("machine.starts", expected, remedy, outcome, Duration::ZERO)
}

fn examine(
    machines: &Machines,
    folder: &Path,
    wanted: &Wanted<'_>,
) -> Result<Vec<Checked>, Failure> {
    let host = Host::new(machines, folder)?;
    let mut all = Vec::new();
    let first = wanted.first();
    if wanted.is_everything() || !first.is_empty() {
        all.extend(machines.checks(&first, &host.told(machines))?);
        let tried = ["network.direct-address", "network.udp"];
        let tried = tried.map(|name| all.iter().any(|checked| checked.name == name));
        all.push(untouched(&host.arrived, tried == [true; 2]));
        if wanted.has("bulk.host") {
            all.push(seen_by_host(&machines.workspace().join("large")));
        }
    }
    let second = wanted.second();
    if !second.is_empty() {
        all.extend(again(machines, &second, &all)?);
    }
    if wanted.has("bulk.output") {
        all.push(large_output(machines));
    }
    if wanted.has("boot.total") || wanted.has("boot.stages") {
        all.extend(starts::examine(machines)?);
    }
    Ok(all)
}

/// What the host holds ready, and who must not come to it.
struct Host {
    page: String,
    listener: SocketAddr,
    datagrams: SocketAddr,
    arrived: Arc<AtomicUsize>,
}

impl Host {
    fn new(machines: &Machines, folder: &Path) -> Result<Self, Failure> {
        let fault = |e: std::io::Error| Failure::fault(format!("{}: {e}", folder.display()));
        std::fs::create_dir(machines.workspace()).map_err(fault)?;
        let page = format!("bailiwick-doctor-{}-{}", std::process::id(), nanoseconds());
        let serve = |name: &str| {
            let served = page.clone();
            Server::tls(folder, name, Box::new(move |path| content(&served, path)))
        };
        let (https, authority) = serve(GRANTED)?;
        let (direct, other) = serve(DIRECT)?;
        let time = Server::plain(Box::new(|path| {
            (path == "/now").then(|| ("text/plain", nanoseconds().to_string().into_bytes()))
        }))?;
        let policy = format!(
            "extends = [\"default\"]\n[network]\ninspect = {{ \"*\" = \"always\", \"{DIRECT}\" = \"never\" }}\n\
             roots = [{:?}]\n[network.hosts]\n\"{GRANTED}\" = \"127.0.0.1:{}\"\n\
             \"{DIRECT}\" = \"127.0.0.1:{}\"\n\"{TIME}\" = \"127.0.0.1:{}\"\n\
             [limits]\nwall = \"15m\"\n",
            folder.join("roots.pem").display().to_string(),
            https.port,
            direct.port,
            time.port,
        );
        std::fs::write(folder.join("roots.pem"), [authority, other].concat())
            .and_then(|()| std::fs::write(folder.join("policy.toml"), policy))
            .and_then(|()| std::fs::write(machines.workspace().join("kept-before"), &page))
            .map_err(fault)?;
        let arrived = Arc::new(AtomicUsize::new(0));
        let address = address();
        Ok(Self {
            page,
            listener: listen(address, &arrived).map_err(fault)?,
            datagrams: receive(address, &arrived).map_err(fault)?,
            arrived,
        })
    }

    /// What the first machine is told.
    fn told(&self, machines: &Machines) -> Vec<String> {
        let workspace = machines.workspace();
        let workspace = workspace.display();
        vec![
            format!(
                "cmdline={}",
                bailiwick_vm::kernel_words(machines.found().accelerator)
            ),
            format!("listener={}", self.listener),
            format!("datagrams={}", self.datagrams),
            format!("granted={GRANTED}"),
            format!("denied={DENIED}"),
            format!("time=http://{TIME}/now"),
            format!("https=https://{GRANTED}"),
            format!("direct=https://{DIRECT}"),
            format!("page={}", self.page),
            format!("large={LARGE}"),
            format!("large-at={workspace}/large"),
        ]
    }
}

/// Whether the listeners that nobody granted were left alone; `tried` says that somebody tried.
fn untouched(arrived: &AtomicUsize, tried: bool) -> Checked {
    let outcome = match (arrived.load(Ordering::SeqCst), tried) {
        (0, true) => Ok("nothing arrived there".to_owned()),
        (0, false) => Err("nobody tried".to_owned()),
        (arrived, _) => Err(format!("{arrived} connections or datagrams arrived")),
    };
    Checked::new(
        "network.untouched",
        "nothing reaches listeners of the host that nobody granted",
        "the policy grants the address, or this is a defect of the gate: report it",
        outcome,
        Duration::ZERO,
    )
}

fn nanoseconds() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_nanos()
}

/// What the granted server has.
fn content(page: &str, path: &str) -> Option<(&'static str, Vec<u8>)> {
    let (file, archive) = wheel(page);
    let text = |text: String| Some(("text/plain", text.into_bytes()));
    match path.split('?').next().unwrap_or_default() {
        "/page" => text(page.to_owned()),
        "/repository.git/info/refs" => text(format!("{}\trefs/heads/main\n", "5a".repeat(20))),
        "/simple/bailiwick-doctor/" => Some((
            "text/html",
            format!("<!DOCTYPE html><a href=\"/{file}\">{file}</a>").into_bytes(),
        )),
        other if other.trim_start_matches('/') == file => Some(("application/zip", archive)),
        _ => None,
    }
}

/// An address of the host that is not its loopback, where it has one.
fn address() -> IpAddr {
    let of = || {
        let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
        // Nothing is sent: the kernel only says which address it would use.
        socket.connect("203.0.113.1:9").ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    of().unwrap_or(Ipv4Addr::LOCALHOST.into())
}

fn listen(at: IpAddr, arrived: &Arc<AtomicUsize>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind((at, 0))?;
    let address = listener.local_addr()?;
    let arrived = Arc::clone(arrived);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            arrived.fetch_add(1, Ordering::SeqCst);
            let _ = stream.write_all(b"this is the host\n");
        }
    });
    Ok(address)
}

fn receive(at: IpAddr, arrived: &Arc<AtomicUsize>) -> std::io::Result<SocketAddr> {
    let socket = UdpSocket::bind((at, 0))?;
    let address = socket.local_addr()?;
    let arrived = Arc::clone(arrived);
    std::thread::spawn(move || {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 64]) {
            arrived.fetch_add(1, Ordering::SeqCst);
            let _ = socket.send_to(b"this is the host", from);
        }
    });
    Ok(address)
}

fn seen_by_host(path: &Path) -> Checked {
    let began = Instant::now();
    let outcome = File::open(path)
        .map_err(|error| format!("{}: {error}", path.display()))
        .and_then(|mut file| known::whole(&mut file, LARGE));
    let _ = std::fs::remove_file(path);
    Checked::new(
        "bulk.host",
        "the host reads the large file as the machine wrote it",
        "look at the free space of the host; else this is a defect of bailiwick: report it",
        outcome,
        began.elapsed(),
    )
}

fn large_output(machines: &Machines) -> Checked {
    let began = Instant::now();
    let words = ["stream".to_owned(), OUTPUT.to_string()];
    let outcome = machines.output(&words, |mut from| known::whole(&mut from, OUTPUT));
    Checked::new(
        "bulk.output",
        "a large output arrives as it was said, and all of it",
        "this is a defect of bailiwick (crates/channel): report it",
        outcome,
        began.elapsed(),
    )
}

/// The second machine.
fn again(machines: &Machines, names: &[&str], first: &[Checked]) -> Result<Vec<Checked>, Failure> {
    let kept = machines.workspace().join("kept-before");
    let page = std::fs::read_to_string(&kept).unwrap_or_default();
    let identity = first.iter().find(|checked| checked.name == "identity.set");
    let before = identity.and_then(|checked| checked.found.split_once(", "));
    let (host, machine) = before.unwrap_or(("unknown", "unknown"));
    let (rows, columns) = SIZE;
    let told = [
        format!("kept={page}"),
        format!("kept-at={}", kept.display()),
        format!("host-before={host}"),
        format!("machine-before={machine}"),
        format!("size={rows}x{columns}"),
    ];
    let mut checks = machines.checks_at_terminal(names, &told)?;
    for checked in &mut checks {
        if checked.name == "files.fresh" {
            checked.name = "again.fresh".to_owned();
        }
    }
    Ok(checks)
}

#[cfg(test)]
#[path = "vm_tests.rs"]
mod tests;
