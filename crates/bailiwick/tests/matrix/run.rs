//! One cell: the client runs twice, its TLS left alone and looked into, and nothing but the ledger may
//! tell the difference.

use crate::cell::{Row, Run};
use crate::installed;
use crate::origin::{NOTHING_SAID, Origin, Request};
use crate::support::{Authority, Outcome, Sandbox, Scratch, copy, host_command, run_to_end};
use bailiwick_event::{Act, Event, Scheme, Verdict};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Opaque,
    Inspected,
}

const LIMIT: Duration = Duration::from_secs(300);
/// Enough that a client asks first (`Expect: 100-continue`) and that no window holds it at once.
const POSTED: usize = 1_200_000;
/// Headers that differ from one run to the next by themselves, or that are for the next hop alone:
/// where the gate reads a request, it is what a client waits for.
const APART: [&str; 3] = ["sec-websocket-key", "grpc-timeout", "expect"];

pub(crate) fn the_same_inspected_and_opaque(row: &Row, run: &Run) {
    installed::check(row);
    let sites = sites(row);
    let in_mode = |mode| {
        let seen = catch_unwind(AssertUnwindSafe(|| seen(row, run, mode, &sites)));
        seen.unwrap_or_else(|panic| panic!("{mode:?}: {}", crate::support::said(&*panic)))
    };
    let (opaque, inspected) = (in_mode(Mode::Opaque), in_mode(Mode::Inspected));
    let show = |requests: &[Request]| requests.iter().map(ToString::to_string).collect::<String>();
    assert!(
        opaque == inspected,
        "the server saw different requests\n--- opaque\n{}\n--- inspected\n{}",
        show(&opaque),
        show(&inspected)
    );
}

/// The client's package, the same for both runs.
fn sites(row: &Row) -> Scratch {
    let scratch = Scratch::new();
    let sites = scratch.root().join("sites");
    std::fs::create_dir(&sites).unwrap();
    if let Some(package) = row.needs.package {
        let maker = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/packages.py");
        let mut python = host_command("python3");
        python.arg(maker).arg(package).arg(&sites);
        run_to_end(&mut python, &[], LIMIT).success();
    }
    scratch
}

/// Runs it, holds what it says and what the ledger has against what the server saw, and returns that.
fn seen(row: &Row, run: &Run, mode: Mode, sites: &Scratch) -> Vec<Request> {
    let scratch = Scratch::new();
    // A copy, because clients may change it.
    let mut cp = host_command("cp");
    cp.arg("-a")
        .arg(sites.root().join("sites"))
        .arg(scratch.root());
    run_to_end(&mut cp, &[], LIMIT).success();
    let sites = scratch.root().join("sites");
    let authority = Authority::new(&scratch, run.hosts);
    let origin = Origin::start(&authority, &sites);
    let reads = row.needs.reads.map(|line| installed::shell(line).unwrap());
    let script = run
        .script
        .replace("{reads}", reads.as_deref().unwrap_or_default());
    let posted = &origin.served.large[..POSTED];
    let outcome = sandbox(row, run, mode, reads, &authority, origin.port)
        .file("posted", posted)
        .run(&script);
    outcome.success().nothing_refused();
    let said = match run.reports {
        true => run.speaks.said(),
        false => "-",
    };
    let lines = run
        .steps
        .iter()
        .map(|step| step.line(said, &origin.served, posted));
    outcome.stdout_is(&lines.map(|line| line + "\n").collect::<String>());
    let requests = origin.served.log.requests();
    check_requests(run, &requests, posted);
    check_ledger(&outcome, mode, &requests, &origin.served.log.connections());
    let comparable = |mut request: Request| {
        request
            .headers
            .retain(|name, _| !APART.contains(&&name[..]));
        // Of these words no case is meant.
        for word in request.headers.get_mut("connection").into_iter().flatten() {
            word.make_ascii_lowercase();
        }
        request
    };
    requests.into_iter().map(comparable).collect()
}

fn sandbox(
    row: &Row,
    run: &Run,
    mode: Mode,
    reads: Option<String>,
    authority: &Authority,
    port: u16,
) -> Sandbox {
    let ca = authority.certificate.to_str().unwrap();
    let reads = reads.map_or(String::new(), |path| {
        format!("[filesystem]\nread = [{path:?}]\n")
    });
    let network = match mode {
        Mode::Opaque => String::new(),
        Mode::Inspected => format!("inspect = \"always\"\nroots = [{ca:?}]\n"),
    };
    let hosts = run.hosts.iter();
    let hosts: String = hosts
        .map(|host| format!("{host:?} = \"127.0.0.1:{port}\"\n"))
        .collect();
    let mut sandbox = Sandbox::new().within(LIMIT).policy(&format!(
        "extends = [\"default\"]\n{reads}[network]\n{network}[network.hosts]\n{hosts}"
    ));
    let steps: Vec<_> = run.steps.iter().map(|step| step.name()).collect();
    sandbox = sandbox
        .env("BASE", format!("https://{}", run.hosts[0]))
        .env("STEPS", steps.join(" "));
    let workspace = sandbox.workspace();
    let workspace = workspace.to_str().unwrap();
    for (name, text) in row.needs.files {
        sandbox = sandbox.file(name, text.replace("{workspace}", workspace));
    }
    for (name, text) in row.needs.environment {
        sandbox = sandbox.env(name, text.replace("{workspace}", workspace));
    }
    for name in row.needs.programs {
        copy(
            &installed::programs().join(name),
            &Path::new(workspace).join(name),
        );
    }
    if mode == Mode::Opaque {
        sandbox = sandbox.file("ca.pem", std::fs::read(ca).unwrap());
        for name in row.needs.trust {
            sandbox = sandbox.env(name, format!("{workspace}/ca.pem"));
        }
    }
    for name in ["RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(name) {
            sandbox = sandbox.host_env(name, value);
        }
    }
    match installed::home_of(row.needs.home_of) {
        Some(home) => sandbox.host_env("HOME", home),
        None => sandbox,
    }
}

/// What was negotiated, and where that is known beforehand, exactly these requests and bodies.
fn check_requests(run: &Run, requests: &[Request], posted: &[u8]) {
    let (version, alpn) = run.speaks.seen();
    assert!(!requests.is_empty(), "the server saw nothing");
    for request in requests {
        assert!(
            request.version == version && alpn.contains(&&request.alpn[..]),
            "not {version} with one of {alpn:?}: {request}"
        );
        assert!(request.body.is_some(), "cut off: {request}");
    }
    let expected: Option<Vec<_>> = run.steps.iter().map(|step| step.requests(posted)).collect();
    let Some(mut expected) = expected.map(|all| all.concat()) else {
        return;
    };
    expected.sort();
    let found = requests
        .iter()
        .zip(&expected)
        .all(|(request, (method, path, body))| {
            let same = body.is_empty() || request.body.as_ref() == Some(body);
            request.method == *method && request.path == *path && same
        });
    let seen: Vec<_> = requests.iter().map(Request::line).collect();
    assert!(
        found && requests.len() == expected.len(),
        "{expected:#?}\nwas expected; the server saw {seen:#?}"
    );
}

/// Every connection and every request that the server saw is a row, and every row is one of them.
fn check_ledger(outcome: &Outcome, mode: Mode, requests: &[Request], connections: &[String]) {
    let events = outcome.events();
    let inspected = mode == Mode::Inspected;
    let mut names = Vec::new();
    let (mut decided, mut answered) = (Vec::new(), Vec::new());
    for event in &events {
        match &event.act {
            Act::Tls {
                host,
                inspected: looked,
                ..
            } => {
                assert_eq!(*looked, inspected, "{event:?}");
                names.push(host.to_string());
            }
            Act::Http {
                scheme: Scheme::Https,
                ..
            } => {
                decided.extend(line(event));
                assert_eq!(event.decision.verdict, Verdict::Allow);
            }
            Act::HttpResponse {
                scheme: Scheme::Https,
                status,
                sent,
                problem,
                ..
            } => {
                assert!(problem.is_none(), "{event:?}");
                answered.extend(line(event).map(|line| (line, *status, *sent)));
            }
            _ => {}
        }
    }
    names.sort();
    decided.sort();
    answered.sort();
    let mut seen: Vec<_> = requests.iter().map(Request::line).collect();
    seen.sort();
    let exchanges = requests.iter().map(|r| (r.line(), r.status, r.sent));
    let mut exchanges: Vec<_> = exchanges.collect();
    exchanges.sort();
    if inspected {
        assert_eq!(decided, seen, "the ledger's requests and the server's");
        assert_eq!(answered, exchanges, "the ledger's answers and the server's");
        // Connections are shared: one may be made before it is known that there is another, and ends
        // with nothing said; one that its server ended is made again for the next request.
        let few = connections.len() <= names.len() + requests.len();
        let known = |name: &String| name == NOTHING_SAID || names.contains(name);
        assert!(
            few && connections.iter().all(known),
            "{connections:?} {names:?}"
        );
    } else {
        assert_eq!(
            decided.len() + answered.len(),
            0,
            "requests that nobody could see"
        );
        assert_eq!(
            names, connections,
            "the ledger's connections and the server's"
        );
    }
}

/// As the server's log says it.
fn line(event: &Event) -> Option<String> {
    match &event.act {
        Act::Http {
            method, host, path, ..
        }
        | Act::HttpResponse {
            method, host, path, ..
        } => Some(format!("{method} https://{host}{path}")),
        _ => None,
    }
}
