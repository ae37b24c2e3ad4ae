//! Looking up names. A question that leaves the machine carries whatever was written into its
//! name, so a name is answered only if the policy lets something at it be reached; the record
//! type changes nothing. A reverse name needs the address that it stands for to be allowed as well.

use crate::refusal::{self, built_in};
use bailiwick_event::{Decision, Host, Text};
use bailiwick_policy::NetworkPolicy;
use bailiwick_policy::network::knows_name;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether a name is answered.
pub(crate) fn lookup(policy: &NetworkPolicy, qname: &Text) -> Decision {
    match refusal::host(qname) {
        Err(refused) => refused,
        Ok(Host::Ip(ip)) => Decision::deny(
            built_in("network.bad-name"),
            format!("{ip} is an address, and addresses are not looked up"),
            "connect to the address itself",
        ),
        // The sandbox's own loopback, for which nobody is asked (RFC 6761 §6.3).
        Ok(host) if host.is_loopback() => Decision::allow(built_in("network.loopback")),
        Ok(host) => {
            let by_name = knows_name(policy, &host).decision;
            match reversed(&host) {
                Some(ip) if by_name.is_allow() => knows_name(policy, &Host::from(ip)).decision,
                _ => by_name,
            }
        }
    }
}

/// The address that a name below `in-addr.arpa` or `ip6.arpa` stands for: what covers every name
/// covers no private network, and its names are not to be had by their addresses either.
fn reversed(host: &Host) -> Option<IpAddr> {
    let Host::Name(name) = host else { return None };
    if let Some(bytes) = name.strip_suffix(".in-addr.arpa") {
        let turned: Vec<_> = bytes.rsplit('.').collect();
        let v4: Ipv4Addr = turned.join(".").parse().ok()?;
        return Some(v4.into());
    }
    let digits = name.strip_suffix(".ip6.arpa")?;
    let turned: Vec<_> = digits.rsplit('.').collect();
    if turned.len() != 32 || turned.iter().any(|digit| digit.len() != 1) {
        return None;
    }
    let bits = u128::from_str_radix(&turned.concat(), 16).ok()?;
    Some(Ipv6Addr::from_bits(bits).into())
}
