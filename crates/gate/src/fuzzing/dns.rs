//! One DNS message, answered by a gate of its own whose guard is a function of the name.

use crate::context::Context;
use crate::decider::Decider;
use crate::names::Names;
use crate::sockets::Inside;
use bailiwick_event::{Act, Decision, Host, Origin, RuleRef, Transport};
use std::collections::HashSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// What happened to a DNS message.
pub struct Dns {
    /// The answer, if there is one.
    pub answer: Option<Vec<u8>>,
    /// The name and the type of each act, in order.
    pub told: Vec<(Vec<u8>, String)>,
    /// What the synthetic addresses of the answer mean.
    context: Arc<Context>,
}

impl Dns {
    /// The host that an address of the answer stands for.
    #[must_use]
    pub fn host_of(&self, ip: IpAddr) -> Host {
        self.context.host_of(ip)
    }
}

/// Answers a message; `allows` is asked with the name as it stood.
#[must_use]
pub fn dns(message: &[u8], transport: Transport, allows: fn(&[u8]) -> bool) -> Dns {
    let guard = Arc::new(Function {
        allows,
        told: Mutex::default(),
    });
    let context = Arc::new(Context::new(
        guard.clone(),
        Arc::new(Nothing),
        Names::new(),
        HashSet::new(),
        None,
    ));
    // An address that is bound to a name, so that a question about it has an answer.
    let _ = context.names.bind("bound.test");
    let answer = crate::dns::answer(&context, message, transport);
    let told = std::mem::take(&mut *guard.told.lock().unwrap_or_else(PoisonError::into_inner));
    Dns {
        answer,
        told,
        context,
    }
}

struct Function {
    allows: fn(&[u8]) -> bool,
    told: Mutex<Vec<(Vec<u8>, String)>>,
}

impl Decider for Function {
    fn submit(&self, act: Act) -> Decision {
        let rule = RuleRef {
            id: "fuzz.rule".to_owned(),
            origin: Origin::built_in(),
        };
        let Act::Dns { qname, qtype, .. } = act else {
            return Decision::deny(rule, "no question", "ask");
        };
        let allowed = (self.allows)(qname.as_bytes());
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.push((qname.as_bytes().to_vec(), qtype));
        match allowed {
            true => Decision::allow(rule),
            false => Decision::deny(rule, "the function says so", "ask for another"),
        }
    }

    fn note(&self, _: Act, _: Decision) {}

    fn refuse(&self, _: Act, _: Decision) {}

    fn http_only(&self, _: &Host, _: u16) -> bool {
        false
    }

    fn mapping(&self, _: &Host) -> Option<SocketAddr> {
        None
    }

    fn usable_addresses(&self, _: &Host, _: u16, _: &[IpAddr]) -> Vec<IpAddr> {
        vec![Ipv4Addr::LOCALHOST.into()]
    }
}

/// Nothing is dialled for a DNS message.
struct Nothing;

impl Inside for Nothing {
    fn connect(&self, _: u16) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
