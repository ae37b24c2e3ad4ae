//! Looking up names. A question that leaves the machine carries whatever was written into its
//! name, so a name is answered only if the policy lets something at it be reached; the record
//! type changes nothing.

use crate::refusal::{self, built_in};
use bailiwick_event::{Decision, Host, Text};
use bailiwick_policy::NetworkPolicy;
use bailiwick_policy::network::knows_name;

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
        Ok(host) => knows_name(policy, &host).decision,
    }
}
