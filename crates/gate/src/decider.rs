//! What the gate asks the guard, and nothing more. Tests put a script in the guard's place, so
//! that they prove what the gate does with a decision, not which decision a policy makes.

use bailiwick_event::fields::Headers;
use bailiwick_event::{Act, Decision, Host};
use bailiwick_guard::{Guard, Submitted};
use std::net::{IpAddr, SocketAddr};

/// The one place that decides.
pub(crate) trait Decider: Send + Sync {
    /// Decides and records; it has returned before any answer leaves.
    fn submit(&self, act: Act) -> Decision;
    /// The same for a request with these headers, which the gate can change once.
    fn submit_request(
        &self,
        act: Act,
        _headers: Headers<'_>,
        _rewritten: Option<&str>,
    ) -> Submitted {
        Submitted {
            decision: self.submit(act),
            rewrites: Vec::new(),
        }
    }
    /// Records a refusal of the gate's own.
    fn refuse(&self, act: Act, decision: Decision);
    /// Whether a connection may carry nothing but HTTP requests in the clear.
    fn http_only(&self, host: &Host, port: u16) -> bool;
    /// Whether something asks about requests in the clear that a connection may carry beside
    /// anything else.
    fn reads_requests(&self, host: &Host, port: u16) -> bool {
        self.http_only(host, port)
    }
    /// Whether the gate looks into a TLS connection to this machine, whose hello asks for `named`.
    fn inspects(&self, _host: &Host, _named: Option<&Host>, _port: u16) -> bool {
        false
    }
    /// The one address that the policy gives this name.
    fn mapping(&self, host: &Host) -> Option<SocketAddr>;
    /// Those of the addresses that may be dialled for this host and port.
    fn usable_addresses(&self, host: &Host, port: u16, addresses: &[IpAddr]) -> Vec<IpAddr>;
}

impl Decider for Guard {
    fn submit(&self, act: Act) -> Decision {
        Self::submit(self, act)
    }

    fn submit_request(&self, act: Act, headers: Headers<'_>, rewritten: Option<&str>) -> Submitted {
        Self::submit_request(self, act, headers, rewritten)
    }

    fn refuse(&self, act: Act, decision: Decision) {
        Self::refuse(self, act, decision);
    }

    fn http_only(&self, host: &Host, port: u16) -> bool {
        Self::http_only(self, host, port)
    }

    fn reads_requests(&self, host: &Host, port: u16) -> bool {
        Self::reads_requests(self, host, port)
    }

    fn inspects(&self, host: &Host, named: Option<&Host>, port: u16) -> bool {
        Self::inspects(self, host, named, port)
    }

    fn mapping(&self, host: &Host) -> Option<SocketAddr> {
        Self::mapping(self, host)
    }

    fn usable_addresses(&self, host: &Host, port: u16, addresses: &[IpAddr]) -> Vec<IpAddr> {
        Self::usable_addresses(self, host, port, addresses)
    }
}
