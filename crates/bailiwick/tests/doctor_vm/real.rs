//! Controls that take more than a line of shell, and what has to be well where nothing is broken.

use crate::machine::{check, machine};
use crate::row::{Row, rows};
use crate::support::{Authority, Sandbox, Server};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Everything passes, and both reports say so.
pub(crate) fn a_sound_machine_passes() {
    let sandbox = machine("").within(Duration::from_secs(600));
    let junit = sandbox.scratch().root().join("junit.xml");
    let outcome = sandbox.bailiwick([
        "doctor".as_ref(),
        "--backend".as_ref(),
        "vm".as_ref(),
        "--json".as_ref(),
        "--junit".as_ref(),
        junit.as_os_str(),
    ]);
    let rows = rows(&outcome.stdout());
    let failed: Vec<_> = rows.iter().filter(|row| !row.passed).collect();
    assert!(failed.is_empty(), "{failed:?}");
    outcome.success();
    assert!(rows.len() >= 40, "{rows:?}");
    let junit = std::fs::read_to_string(junit).unwrap();
    let counted = format!("tests=\"{}\" failures=\"0\"", rows.len());
    assert!(junit.contains(&counted), "{junit}");
    assert_eq!(junit.matches("<testcase ").count(), rows.len());
}

/// A start, cold and warm.
pub(crate) fn a_start_is_shown() {
    let sandbox = machine("");
    let boot = |words: &[&str]| {
        let all = ["boot"].into_iter().chain(words.iter().copied());
        sandbox.bailiwick(all).success().stdout()
    };
    let cold = boot(&["--trace", "--cold"]);
    for stage in [
        "monitor", "qemu", "guest", "kernel", "overlay", "network", "session",
    ] {
        assert!(cold.contains(&format!(" {stage} ")), "{stage}: {cold}");
    }
    assert!(cold.contains("a kernel that was started"), "{cold}");
    let warm: serde_json::Value = serde_json::from_str(&boot(&["--json"])).unwrap();
    assert_eq!(warm["warm"], true, "{warm}");
    let stages = warm["stages"].as_array().unwrap();
    assert!(
        stages.iter().any(|stage| stage["name"] == "restore"),
        "{warm}"
    );
    // The host's stages are the whole start.
    let host = stages.iter().filter(|stage| stage["side"] == "host");
    let sum: f64 = host.map(|stage| stage["ms"].as_f64().unwrap()).sum();
    assert!(
        (sum - warm["total_ms"].as_f64().unwrap()).abs() < 1.0,
        "{warm}"
    );
}

/// Two machines that share the marker's place.
pub(crate) fn a_marker_that_stays(name: &str) -> Row {
    let sandbox = machine("");
    let script = format!("$CHECK marker={}/marker", sandbox.workspace().display());
    let first = check(&sandbox, name, &script);
    assert!(first.passed, "{first:?}");
    check(&sandbox, name, &script)
}

/// Two machines, and a place that they do not share.
pub(crate) fn a_file_that_does_not_stay(name: &str) -> Row {
    let sandbox = machine("");
    sandbox
        .run("echo -n value >/root/kept && echo -n value >kept")
        .success();
    let there = format!(
        "$CHECK kept=value kept-at={}/kept",
        sandbox.workspace().display()
    );
    let there = check(&sandbox, name, &there);
    assert!(there.passed, "{there:?}");
    check(&sandbox, name, "$CHECK kept=value kept-at=/root/kept")
}

/// A server that says the time of a host whose clock is off by so much.
fn clock(off: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + off;
            let now = now.as_nanos().to_string();
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{now}",
                now.len()
            );
        }
    });
    address
}

pub(crate) fn a_host_whose_clock_is_off(name: &str) -> Row {
    let of = |off| {
        let clock = clock(Duration::from_secs(off));
        let policy = format!("[network.hosts]\n\"clock.test\" = \"{clock}\"");
        check(&machine(&policy), name, "$CHECK time=http://clock.test/now")
    };
    let right = of(0);
    assert!(right.passed, "{right:?}");
    let wrong = of(60);
    // A minute in milliseconds, give or take what an answer takes.
    let digits = wrong.found.split(|c: char| !c.is_ascii_digit()).next();
    let off: u32 = digits.unwrap().parse().unwrap();
    assert!((40_000..=61_000).contains(&off), "{wrong:?}");
    wrong
}

pub(crate) fn a_variable_that_is_handed_on(name: &str) -> Row {
    let planted = machine("").host_env("LD_PRELOAD", "");
    let kept_out = check(&planted, name, "$CHECK");
    assert!(kept_out.passed, "{kept_out:?}");
    check(&machine("").env("LD_PRELOAD", "/x"), name, "$CHECK")
}

/// A listener of TCP.
fn listener() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"this is the host");
        }
    });
    address
}

pub(crate) fn a_listener_that_is_granted(name: &str) -> Row {
    let listener = listener();
    let script = format!("$CHECK listener={listener}");
    let refused = check(&machine(""), name, &script);
    assert!(refused.passed, "{refused:?}");
    let policy = format!("[network]\nallow = [\"{listener}\"]");
    check(&machine(&policy), name, &script)
}

/// No policy grants datagrams to the host, so that this is a machine without anything in between.
pub(crate) fn a_host_that_answers_datagrams(name: &str) -> Row {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((_, from)) = socket.recv_from(&mut [0; 64]) {
            let _ = socket.send_to(b"this is the host", from);
        }
    });
    let silent = check(&machine(""), name, &format!("$CHECK datagrams={address}"));
    assert!(silent.passed, "{silent:?}");
    let ended = crate::support::host_command(crate::machine::guest())
        .args(["doctor", "--only", name, &format!("datagrams={address}")])
        .output()
        .unwrap();
    crate::row::only(&String::from_utf8_lossy(&ended.stdout), name, "")
}

pub(crate) fn a_host_that_is_granted(name: &str) -> Row {
    let refused = check(
        &machine("[network]\nallow = [\"granted.test\"]"),
        name,
        "$CHECK denied=denied.test",
    );
    assert!(refused.passed, "{refused:?}");
    let policy = format!(
        "[network.hosts]\n\"denied.test\" = \"{}\"",
        clock(Duration::ZERO)
    );
    check(&machine(&policy), name, "$CHECK denied=denied.test")
}

pub(crate) fn a_name_that_is_granted(name: &str) -> Row {
    let script = "$CHECK granted=granted.test denied=denied.test";
    let one = "[network.hosts]\n\"granted.test\" = \"127.0.0.1:1\"\n";
    let sound = check(&machine(one), name, script);
    assert!(sound.passed, "{sound:?}");
    let both = format!("{one}\"denied.test\" = \"127.0.0.1:1\"");
    check(&machine(&both), name, script)
}

/// TLS that is left alone, to a server that nobody trusts.
pub(crate) fn no_interception(name: &str) -> Row {
    // git and pip get more from the doctor's own server; that they pass is shown by it.
    let sound = ["https.curl", "https.python", "https.node"].contains(&name);
    over_tls(name, sound.then_some("always"))
}

/// The same, and with an authority that the policy names.
pub(crate) fn no_authority(name: &str) -> Row {
    over_tls(name, (name == "direct.curl").then_some("never"))
}

/// A check of TLS that nobody looks into, by an authority that nobody trusts; before it, where that is to pass, one of
/// TLS that is treated so, by an authority that the policy names.
fn over_tls(name: &str, sound: Option<&str>) -> Row {
    let servers = Sandbox::new();
    let authority = Authority::new(servers.scratch(), &["granted.test"]);
    for (path, content) in [
        ("page", "the page"),
        (
            "repository.git/info/refs",
            "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\trefs/heads/main\n",
        ),
    ] {
        servers
            .scratch()
            .write(format!("sites/granted.test/{path}"), content);
    }
    let sites = servers.scratch().root().join("sites");
    let server = Server::start(servers.scratch(), &sites, &authority);
    let of = |more: &str| {
        let policy = format!(
            "[network]\n{more}\n[network.hosts]\n\"granted.test\" = \"127.0.0.1:{}\"",
            server.https
        );
        let script =
            "$CHECK https=https://granted.test direct=https://granted.test 'page=the page'";
        check(&machine(&policy), name, script)
    };
    if let Some(inspect) = sound {
        let roots = authority.certificate.display();
        let sound = of(&format!("inspect = \"{inspect}\"\nroots = [\"{roots}\"]"));
        assert!(sound.passed, "{sound:?}");
    }
    of("inspect = \"never\"")
}
