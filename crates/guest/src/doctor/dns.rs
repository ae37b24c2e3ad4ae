//! Names: whatever server is asked, the gate answers, and only for names that the policy knows.

use super::check::{Check, Outcome, said};
use super::network::name_servers;
use super::world::{World, told};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// How long an answer may take that has to come.
const PATIENCE: Duration = Duration::from_secs(5);
/// A server that is not the machine's own: whatever is sent there ends at the gate.
const ELSEWHERE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 53);

pub(super) const CHECKS: &[Check] = &[Check {
    name: "network.dns",
    expected: "the gate answers every name server's place: a granted name with an address of its own, \
               any other name with none",
    remedy: "the policy grants the other name, or resolution leads around the gate: \
             `bailiwick log --boundary dns` says what was asked",
    probe: dns,
}];

fn dns(world: &dyn World) -> Outcome {
    let (granted, denied) = (told(world, "granted")?, told(world, "denied")?);
    let own = name_servers(world);
    let own = own.first().and_then(|server| server.parse().ok());
    let own: IpAddr = own.ok_or("/etc/resolv.conf names no server")?;
    for server in [own, ELSEWHERE.into()] {
        let found = ask(world, server, &granted)?;
        match found {
            Some(address) if is_synthetic(address) => {}
            Some(address) => return Err(format!("{server} says that {granted} is {address}")),
            None => return Err(format!("{server} does not know {granted}")),
        }
        if let Some(address) = ask(world, server, &denied)? {
            return Err(format!("{server} says that {denied} is {address}"));
        }
    }
    Ok(format!(
        "{own} and {ELSEWHERE} both know {granted} and not {denied}"
    ))
}

/// Whether it is of the range whose addresses stand for names (198.18.0.0/15).
fn is_synthetic(address: Ipv4Addr) -> bool {
    matches!(address.octets(), [198, 18 | 19, _, _])
}

/// Asks a server for the address of a name.
fn ask(world: &dyn World, server: IpAddr, name: &str) -> Result<Option<Ipv4Addr>, String> {
    let mut query = vec![0x42, 0x17, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        query.push(u8::try_from(label.len()).map_err(|_| format!("{name} is no name"))?);
        query.extend_from_slice(label.as_bytes());
    }
    query.extend_from_slice(&[0, 0, 1, 0, 1]);
    let heard = world
        .udp(SocketAddr::new(server, 53), &query, PATIENCE)
        .map_err(|e| format!("{server} does not answer: {}", said(&e)))?;
    let answers = heard
        .get(6..8)
        .map_or(0, |count| u16::from_be_bytes([count[0], count[1]]));
    if answers == 0 {
        return Ok(None);
    }
    // The last record ends with its address.
    let tail = heard.windows(14).rev().find(|window| {
        window.get(..4) == Some(&[0, 1, 0, 1]) && window.get(8..10) == Some(&[0, 4])
    });
    match tail.and_then(|window| <[u8; 4]>::try_from(window.get(10..14)?).ok()) {
        Some(octets) => Ok(Some(octets.into())),
        None => Err(format!(
            "{server} answers with something else than an address"
        )),
    }
}
