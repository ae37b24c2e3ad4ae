//! The name servers of the host, as its own programs find them: `/etc/resolv.conf`, once, at the
//! first question. The file is the administrator's; what it says wrongly is left out, as the C
//! library does.

use super::servers::Servers;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};
use std::time::Duration;

const FILE: &str = "/etc/resolv.conf";
/// Servers that are used; what the C library uses.
const MAX_SERVERS: usize = 3;
const MAX_TIMEOUT: u64 = 30;
const MAX_ATTEMPTS: usize = 5;

/// The servers of this machine.
pub(super) fn read() -> Servers {
    parse(&std::fs::read_to_string(FILE).unwrap_or_default())
}

fn parse(text: &str) -> Servers {
    let mut found = Vec::new();
    let mut options = Vec::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        match words.next() {
            Some("nameserver") => found.extend(words.next().and_then(address)),
            Some("options") => options.extend(words),
            _ => {}
        }
    }
    found.truncate(MAX_SERVERS);
    if found.is_empty() {
        found.push(SocketAddr::from((Ipv4Addr::LOCALHOST, 53)));
    }
    let mut servers = Servers::new(found);
    for option in options {
        match option.split_once(':') {
            Some(("timeout", n)) => {
                if let Ok(seconds @ 1..) = n.parse::<u64>() {
                    servers.timeout = Duration::from_secs(seconds.min(MAX_TIMEOUT));
                }
            }
            Some(("attempts", n)) => {
                if let Ok(attempts @ 1..) = n.parse::<usize>() {
                    servers.attempts = attempts.min(MAX_ATTEMPTS);
                }
            }
            _ => {}
        }
    }
    servers
}

/// An address, with the interface at its end where it is one of a link.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, scope) = match text.split_once('%') {
        Some((ip, scope)) => (ip, interface(scope)?),
        None => (text, 0),
    };
    match ip.parse().ok()? {
        IpAddr::V6(ip) => Some(SocketAddrV6::new(ip, 53, 0, scope).into()),
        ip => Some(SocketAddr::new(ip, 53)),
    }
}

fn interface(name: &str) -> Option<u32> {
    if name.contains('/') || name.starts_with('.') {
        return None;
    }
    let path = format!("/sys/class/net/{name}/ifindex");
    let index = || std::fs::read_to_string(path).ok()?.trim().parse().ok();
    name.parse().ok().or_else(index)
}

#[cfg(test)]
#[path = "host_servers_tests.rs"]
mod tests;
