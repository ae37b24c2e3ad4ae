//! Who the machine is and what time it is there.

use super::check::{Check, Outcome, said};
use super::network::get;
use super::world::{World, read, told};

/// How far the clock may be off, in nanoseconds.
const OFF: u64 = 2_000_000_000;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "identity.set",
        expected: "a host name of the session's own and a machine id, said the same everywhere",
        remedy: "this is a defect of bailiwick (crates/guest/src/settle.rs): report it",
        probe: set,
    },
    Check {
        name: "identity.clock",
        expected: "the clock is within 2 s of the host's",
        remedy: "the host's clock was set while a machine ran: start another one",
        probe: clock,
    },
    Check {
        name: "again.identity",
        expected: "a second machine has another host name and another machine id",
        remedy: "this is a defect of bailiwick (crates/vm/src/setting.rs): report it",
        probe: other,
    },
];

/// Host name and machine id.
fn who(world: &dyn World) -> Result<(String, String), String> {
    let of = |path: &str| {
        let text = read(world, path).map_err(|e| format!("{path}: {}", said(&e)))?;
        Ok::<_, String>(text.trim().to_owned())
    };
    Ok((of("/proc/sys/kernel/hostname")?, of("/etc/machine-id")?))
}

fn set(world: &dyn World) -> Outcome {
    let (host, machine) = who(world)?;
    if ["", "(none)", "localhost", "bailiwick"].contains(&host.as_str()) {
        return Err(format!("the host name is {host:?}"));
    }
    let hexadecimal = machine.len() == 32 && machine.bytes().all(|b| b.is_ascii_hexdigit());
    if !hexadecimal || machine.bytes().all(|b| b == b'0') {
        return Err(format!("the machine id is {machine:?}"));
    }
    let written = read(world, "/etc/hostname").unwrap_or_default();
    if written.trim() != host {
        return Err(format!(
            "the host name is {host}, and /etc/hostname says {:?}",
            written.trim()
        ));
    }
    let hosts = read(world, "/etc/hosts").unwrap_or_default();
    if !hosts.split_whitespace().any(|word| word == host) {
        return Err(format!("{host} is not in /etc/hosts"));
    }
    Ok(format!("{host}, {machine}"))
}

fn clock(world: &dyn World) -> Outcome {
    let url = told(world, "time")?;
    // Once to have the name and the connection's path ready: the second answer is quick.
    get(world, &url)?;
    let before = world.now();
    let answer = get(world, &url)?;
    let after = world.now();
    let theirs: u64 = answer
        .trim()
        .parse()
        .map_err(|_| format!("{url} has not said the time, but {answer:?}"))?;
    // It was read somewhere between the two.
    let off = before
        .saturating_sub(theirs)
        .max(theirs.saturating_sub(after));
    let unsure = after.saturating_sub(before);
    let said = format!(
        "{} ms off, and at most {} ms",
        off / 1_000_000,
        off.saturating_add(unsure) / 1_000_000
    );
    match off <= OFF {
        true => Ok(said),
        false => Err(said),
    }
}

fn other(world: &dyn World) -> Outcome {
    let (host, machine) = who(world)?;
    let (host_before, machine_before) =
        (told(world, "host-before")?, told(world, "machine-before")?);
    match (host == host_before, machine == machine_before) {
        (false, false) => Ok(format!("{host_before} before, {host} now")),
        (true, _) => Err(format!("both are {host}")),
        (false, true) => Err(format!("both have the machine id {machine}")),
    }
}
