//! One DNS message, answered by a gate of its own whose guard is a function of the name; and what a
//! name server answers to a question of such a gate, as the program gets it.

use crate::context::Context;
use crate::decider::Decider;
use crate::dns::Answer;
use crate::names::Names;
use crate::resolver::Resolver;
use crate::settings::Settings;
use crate::sockets::{Inside, IpFamily};
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
    let (guard, context) = gate(allows);
    // An address that is bound to a name, so that a question about it has an answer.
    let _ = context.names.bind("bound.test");
    let answer = match crate::dns::answer(&context, message, transport) {
        Answer::Now(answer) => answer,
        // Nobody is asked: it fails as where too many questions are on their way.
        Answer::Later(forward) => forward.without_asking(),
    };
    let told = std::mem::take(&mut *guard.told.lock().unwrap_or_else(PoisonError::into_inner));
    Dns {
        answer,
        told,
        context,
    }
}

/// What became of a name server's message.
pub struct Upstream {
    /// What the program gets.
    pub answer: Option<Vec<u8>>,
    /// The texts that rules see of it.
    pub told: Vec<Vec<u8>>,
}

/// What a program gets for `question` where a name server sends `message`; none where the question
/// is not asked of others.
#[must_use]
pub fn upstream(question: &[u8], message: &[u8], transport: Transport) -> Option<Upstream> {
    let (guard, context) = gate(|_| true);
    let Answer::Later(forward) = crate::dns::answer(&context, question, transport) else {
        return None;
    };
    let answer = forward.answered(&context, message);
    let told = std::mem::take(&mut *guard.answers.lock().unwrap_or_else(PoisonError::into_inner));
    Some(Upstream { answer, told })
}

fn gate(allows: fn(&[u8]) -> bool) -> (Arc<Function>, Arc<Context>) {
    let guard = Arc::new(Function {
        allows,
        told: Mutex::default(),
        answers: Mutex::default(),
    });
    let context = Context::new(
        guard.clone(),
        Arc::new(Nothing),
        Names::new(),
        Resolver::new(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 9))]),
        HashSet::new(),
        Settings::default(),
    );
    (guard, Arc::new(context))
}

struct Function {
    allows: fn(&[u8]) -> bool,
    told: Mutex<Vec<(Vec<u8>, String)>>,
    answers: Mutex<Vec<Vec<u8>>>,
}

impl Decider for Function {
    fn submit(&self, act: Act) -> Decision {
        let rule = RuleRef {
            id: "fuzz.rule".to_owned(),
            origin: Origin::built_in(),
        };
        if let Act::DnsResponse { answers, .. } = &act {
            let mut told = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
            told.extend(answers.iter().map(|text| text.as_bytes().to_vec()));
            return Decision::allow(rule);
        }
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
    fn connect_to(&self, _: SocketAddr) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn datagrams(&self, _: IpFamily) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
