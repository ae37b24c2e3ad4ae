//! What `bailiwick bench` says of machines: every row is verified, the machine is named by its hashes, and
//! what it is compared with has been measured in the same run. What the figures are is not tested.

use crate::support::evidence::{all_verified, short};
use crate::support::{Backend, Shared};
use serde_json::Value;

macro_rules! each {
    ($($name:ident),* $(,)?) => {
        pub(crate) const SHARED: &[Shared] = &[$(Shared {
            name: stringify!($name),
            test: $name,
            gap: None,
        }),*];
    };
}

each![
    a_start_is_measured_beside_the_bare_kernel,
    a_life_is_measured_to_the_end_of_its_record,
    the_workspace_is_measured_beside_other_ways_to_show_it,
    programs_and_their_files_are_measured_on_every_side,
    what_comes_through_interception_is_counted_by_all_who_know_of_it,
    requests_that_fail_are_counted_and_fail_the_row,
    the_capability_kernel_is_measured_beside_linux,
];

/// A short run of a suite with machines, all of which was found right.
fn sound(words: &[&str]) -> Value {
    let evidence = short(&[&["bench"], words, &["--backend", "vm"]].concat());
    all_verified(&evidence);
    named(&evidence);
    evidence
}

/// What every result about machines has to name.
fn named(evidence: &Value) {
    let machine = &evidence["machine"];
    for hash in ["image_hash", "kernel_hash", "rootfs_hash", "guest_hash"] {
        let hash = machine[hash].as_str().unwrap();
        assert_eq!(hash.len(), 64, "{machine}");
    }
    let environment = &evidence["environment"];
    assert_eq!(environment["accelerator"], machine["accelerator"]);
    let class = match machine["accelerator"].as_str().unwrap() {
        "tcg" => {
            assert!(machine["translation_buffer_bytes"].as_u64().unwrap() > 0);
            match environment["virtualisation"] == "none" {
                true => "local-tcg",
                false => "nested-tcg",
            }
        }
        "kvm" if environment["virtualisation"] == "none" => "local-kvm",
        "kvm" => "nested",
        other => panic!("{other}"),
    };
    assert_eq!(environment["class"], class);
    for what in ["workspace_filesystem", "workspace_device"] {
        let found = environment[what].as_str().unwrap();
        assert!(!found.is_empty() && found != "unknown", "{what}");
    }
    // Every way but the native one has shown that it holds, and on whose kernel it runs.
    let in_force = evidence["in_force"].as_object().unwrap();
    assert!(in_force.contains_key("process") && in_force.contains_key("vm"));
    for (way, found) in in_force {
        assert_eq!(found["holds"], true, "{way}: {found}");
        assert!(
            found["detail"].as_str().unwrap().contains("kernel "),
            "{found}"
        );
    }
}

fn row<'a>(evidence: &'a Value, name: &str) -> &'a Value {
    let rows = evidence["rows"].as_array().unwrap();
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("there is no row {name}"))
}

/// The samples of a series, each a figure.
fn samples(row: &Value, series: &str) -> Vec<f64> {
    let all = row["series"].as_array().unwrap();
    let found = all.iter().find(|one| one["name"] == series);
    let found = found.unwrap_or_else(|| panic!("there is no series {series}: {row}"));
    let samples = found["samples"].as_array().unwrap();
    let samples: Vec<f64> = samples.iter().map(|n| n.as_f64().unwrap()).collect();
    assert!(
        !samples.is_empty() && samples.iter().all(|n| *n > 0.0),
        "{found}"
    );
    samples
}

fn limits(row: &Value) -> Vec<f64> {
    let limits = row["limits"].as_array().unwrap().iter();
    limits
        .map(|limit| limit["limit"].as_f64().unwrap())
        .collect()
}

fn a_start_is_measured_beside_the_bare_kernel(_: Backend) {
    let evidence = sound(&["boot", "--row", "cold start"]);
    let row = row(&evidence, "cold start");
    for series in [
        "bare kernel, QEMU's start to its init",
        "QEMU's start to the guest's init",
        "run --backend vm --cold -- true",
    ] {
        samples(row, series);
    }
    let ready = samples(row, "guest clock at READY");
    let stages = [
        "kernel", "base", "image", "overlay", "network", "agent", "session",
    ];
    let sum: f64 = stages
        .map(|stage| samples(row, &format!("stage {stage}"))[0])
        .iter()
        .sum();
    assert!(sum < ready[0] + 0.1, "{sum} {ready:?}");
    assert_eq!(limits(row), [1.05, 420.0, 60.0, 1.3]);
}

fn a_life_is_measured_to_the_end_of_its_record(_: Backend) {
    let evidence = sound(&["lifecycle", "--row", "lifecycle", "--row", "host memory"]);
    let life = row(&evidence, "lifecycle");
    for way in ["process", "vm", "vm, cold"] {
        let of = |what: &str| samples(life, &format!("{way}: {what}"))[0];
        let parts = [
            "provision",
            "ready",
            "exec of echo, the whole program",
            "delete",
        ];
        let sum: f64 = parts.map(of).iter().sum();
        assert!((sum - of("total")).abs() < 0.01, "{way}: {sum}");
        of("exec of echo by the API");
    }
    let memory = row(&evidence, "host memory");
    for way in ["vm", "vm, cold"] {
        let of = |what: &str| samples(memory, &format!("{way}: {what}"))[0];
        let parts = ["QEMU's translations", "QEMU, all else", "run and pid 1"];
        let sum: f64 = match evidence["machine"]["accelerator"] == "tcg" {
            true => parts.map(of).iter().sum(),
            false => parts[1..].iter().map(|part| of(part)).sum(),
        };
        assert!(
            (sum - of("beyond the guest's")).abs() < 0.01,
            "{way}: {sum}"
        );
    }
    assert_eq!(limits(memory), [60.0, 60.0]);
}

fn the_workspace_is_measured_beside_other_ways_to_show_it(_: Backend) {
    let evidence = sound(&["disk", "--row", "random write"]);
    let write = row(&evidence, "random write, fdatasync");
    for side in [
        "native",
        "process",
        "vm",
        "vm, cold",
        "bare 9P",
        "bare 9P, cache=loose",
    ] {
        samples(write, side);
    }
    assert_eq!(limits(write), [1.0 / 0.95; 2]);
}

fn programs_and_their_files_are_measured_on_every_side(_: Backend) {
    let evidence = sound(&["rootfs", "--row", "small"]);
    let small = row(&evidence, "small files");
    for side in ["native: cold", "process: warm", "vm: cold", "vm: warm"] {
        samples(small, side);
    }
    let of = |side: &str, what: &str| small["counted"][side][what].as_u64().unwrap();
    for side in ["native", "process", "vm"] {
        assert!(of(side, "count") > 100 && of(side, "files") > 100, "{side}");
    }
    // The image's files are not the host's.
    assert_ne!(of("native", "bytes"), of("vm", "bytes"));
    let evidence = sound(&["startup", "--row", "python3"]);
    let start = row(&evidence, "python3 --version");
    for side in ["native: cold", "process: warm", "vm: cold", "vm: warm"] {
        samples(start, side);
    }
}

fn what_comes_through_interception_is_counted_by_all_who_know_of_it(_: Backend) {
    let evidence = sound(&["throughput"]);
    let channel = row(&evidence, "channel");
    for series in ["ping", "to the guest", "to the host"] {
        samples(channel, series);
    }
    assert_eq!(
        channel["counted"]["channel"]["pings"],
        samples(channel, "ping").len()
    );
    let download = row(&evidence, "HTTPS download");
    assert_eq!(
        download["counted"]["origin"]["bodies"], 9,
        "3 rounds of 3 sides"
    );
    let evidence = sound(&["http"]);
    let http = row(&evidence, "http");
    for side in ["direct", "through the gate", "through the gate, vm"] {
        let counted = &http["counted"][side];
        assert_eq!(counted["succeeded"], 150, "{side}: {counted}");
        assert!(counted["failed"].is_null(), "{side}: {counted}");
        assert_eq!(samples(http, side).len(), 100, "{side}");
    }
}

/// A server that closes after its first answer, and after that closes without one.
fn requests_that_fail_are_counted_and_fail_the_row(_: Backend) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            if number % 2 == 0 {
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
                );
            }
        }
    });
    let evidence = short(&["bench", "http", &url, "10", "1", "--backend", "vm"]);
    let http = row(&evidence, "http");
    assert_eq!(http["verified"]["verdict"], "fail", "{http}");
    for side in ["direct", "through the gate", "through the gate, vm"] {
        let of = |what: &str| http["counted"][side][what].as_u64().unwrap_or(0);
        assert_eq!(of("succeeded") + of("failed"), 30, "{http}");
        assert!(of("succeeded") > 0 && of("failed") > 0, "{http}");
    }
}

fn the_capability_kernel_is_measured_beside_linux(_: Backend) {
    let words = ["--row", "start", "--row", "processors: 2"];
    let evidence = short(&[&["bench", "capos"], &words[..]].concat());
    all_verified(&evidence);
    for hash in evidence["machine"]["capos"].as_array().unwrap() {
        assert_eq!(hash.as_str().unwrap().len(), 64);
    }
    let start = row(&evidence, "capos: start");
    let least = samples(start, "least kernel, QEMU's start to its word");
    let to_init = samples(start, "QEMU's start to init's first line");
    assert_eq!(least.len(), to_init.len());
    assert_eq!(limits(start), [1.4, 40.0, 150.0]);
    let costs = row(&evidence, "capos: primitives, processors: 2");
    for (ours, theirs) in [
        ("ring NOP", "getpid"),
        ("endpoint, there and back", "two pipes, there and back"),
        ("spawn and exit of a process", "spawn and exit of a process"),
        ("park and unpark, both ways", "futex, both ways"),
    ] {
        let ours = samples(costs, &format!("capos: {ours}"));
        let theirs = samples(costs, &format!("Linux: {theirs}"));
        assert_eq!((ours.len(), theirs.len()), (10, 10));
    }
}
