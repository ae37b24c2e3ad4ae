//! The network: nothing but what leads to the gate.

use super::check::{Check, Outcome, said};
use super::world::{Act, World, list, read, told};
use std::net::SocketAddr;
use std::time::Duration;

/// How long an answer to a datagram is waited for that must not come.
const SILENCE: Duration = Duration::from_millis(1500);

const WIDE: &str = "the policy grants it: `bailiwick policy show --explain ADDRESS` names the line";
const DEFECT: &str = "this is a defect of bailiwick (crates/guest/src/network.rs): report it";

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "network.cards",
        expected: "lo and dummy0, and nothing behind them",
        remedy: DEFECT,
        probe: cards,
    },
    Check {
        name: "network.direct-address",
        expected: "a listener at an address of the host that nobody granted says nothing",
        remedy: WIDE,
        probe: direct,
    },
    Check {
        name: "network.icmp",
        expected: "no program can send ICMP or raw packets",
        remedy: DEFECT,
        probe: icmp,
    },
    Check {
        name: "network.udp",
        expected: "a datagram to an address that nobody granted gets no answer",
        remedy: WIDE,
        probe: udp,
    },
    Check {
        name: "network.ipv6",
        expected: "the kernel has no IPv6",
        remedy: "build the image again: images/kernel.config switches it off",
        probe: ipv6,
    },
    Check {
        name: "network.denied",
        expected: "a host that is not granted is answered with 403 and the rule's name",
        remedy: WIDE,
        probe: denied,
    },
];

fn cards(world: &dyn World) -> Outcome {
    let names =
        list(world, "/sys/class/net").map_err(|e| format!("/sys/class/net: {}", said(&e)))?;
    if let Some(other) = names
        .iter()
        .find(|name| !["lo", "dummy0"].contains(&name.as_str()))
    {
        return Err(format!("there is {other}"));
    }
    for name in &names {
        if world.at(&format!("/sys/class/net/{name}/device")).exists() {
            return Err(format!("{name} is a device"));
        }
    }
    match names.is_empty() {
        true => Err("there is not even lo".to_owned()),
        false => Ok(names.join(", ")),
    }
}

/// An address that the host has said.
fn address(world: &dyn World, name: &str) -> Result<SocketAddr, String> {
    let text = told(world, name)?;
    text.parse()
        .map_err(|_| format!("{name}={text} is no address"))
}

fn direct(world: &dyn World) -> Outcome {
    let to = address(world, "listener")?;
    match world.tcp(to, b"GET / HTTP/1.0\r\n\r\n") {
        Ok(heard) if heard.is_empty() => Ok(format!("{to} said nothing")),
        // The gate may say why not.
        Ok(heard) if is_refusal(&String::from_utf8_lossy(&heard)) => {
            Ok(format!("{to}: 403 by the gate"))
        }
        Ok(heard) => Err(format!("{to} said {:?}", String::from_utf8_lossy(&heard))),
        Err(error) => Ok(format!("{to}: {}", said(&error))),
    }
}

/// Whether the gate says no: 403, and the rule's name in a field of its own.
fn is_refusal(heard: &str) -> bool {
    let status = heard.split(' ').nth(1);
    let mut head = heard.lines().take_while(|line| !line.is_empty());
    status == Some("403") && head.any(|line| line.starts_with("x-bailiwick-rule: "))
}

fn icmp(world: &dyn World) -> Outcome {
    let mut why = Vec::new();
    for (what, act) in [
        (
            "a raw socket",
            Act::Socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        ),
        (
            "a socket for pings",
            Act::Socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP),
        ),
        (
            "a packet socket",
            Act::Socket(libc::AF_PACKET, libc::SOCK_RAW, 0),
        ),
    ] {
        match world.attempt(&act) {
            Ok(()) => return Err(format!("{what} can be had")),
            Err(error) => why.push(format!("{what}: {}", said(&error))),
        }
    }
    Ok(why.join("; "))
}

fn udp(world: &dyn World) -> Outcome {
    let to = address(world, "datagrams")?;
    match world.udp(to, b"is anybody there", SILENCE) {
        Ok(heard) => Err(format!("{to} said {:?}", String::from_utf8_lossy(&heard))),
        Err(error) => Ok(format!("{to}: {}", said(&error))),
    }
}

fn ipv6(world: &dyn World) -> Outcome {
    if world.at("/proc/net/if_inet6").exists() {
        return Err("/proc/net/if_inet6 is there".to_owned());
    }
    match world.attempt(&Act::Socket(libc::AF_INET6, libc::SOCK_STREAM, 0)) {
        Ok(()) => Err("a socket can be made".to_owned()),
        Err(error) => Ok(said(&error)),
    }
}

fn denied(world: &dyn World) -> Outcome {
    let host = told(world, "denied")?;
    let variables = world.variables();
    let proxy = variables.iter().find(|(name, _)| name == "http_proxy");
    let proxy = proxy.and_then(|(_, url)| url.strip_prefix("http://"));
    let to: Option<SocketAddr> = proxy.and_then(|to| to.trim_end_matches('/').parse().ok());
    let to = to.ok_or("http_proxy names no address")?;
    let ask = format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    let heard = world
        .tcp(to, ask.as_bytes())
        .map_err(|e| format!("{to}: {}", said(&e)))?;
    let text = String::from_utf8_lossy(&heard);
    let status = text.lines().next().unwrap_or("nothing").to_owned();
    if !is_refusal(&text) {
        return Err(format!("{host} was answered with {status:?}"));
    }
    match text.lines().find(|line| line.starts_with("rule: ")) {
        Some(reason) => Ok(format!("403, {reason}")),
        None => Err(format!("403, but no rule is named: {text:?}")),
    }
}

/// What a page says (`http://name/path`), asked for without a proxy.
pub(super) fn get(world: &dyn World, url: &str) -> Result<String, String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("{url} is no page"))?;
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let found = world
        .addresses(&format!("{name}:80"))
        .map_err(|e| format!("{name}: {}", said(&e)))?;
    let to = found
        .first()
        .ok_or_else(|| format!("{name} has no address"))?;
    let ask = format!("GET /{path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
    let heard = world
        .tcp(*to, ask.as_bytes())
        .map_err(|e| format!("{url}: {}", said(&e)))?;
    let text = String::from_utf8_lossy(&heard).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    match head.split(' ').nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(format!(
            "{url}: {}",
            head.lines().next().unwrap_or("no answer")
        )),
    }
}

/// The machine's name servers.
pub(super) fn name_servers(world: &dyn World) -> Vec<String> {
    let text = read(world, "/etc/resolv.conf").unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| line.strip_prefix("nameserver "));
    lines.map(|server| server.trim().to_owned()).collect()
}
