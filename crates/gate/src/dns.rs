//! Answers DNS questions. A question is itself a message to whoever runs the name's servers, so
//! that none about a name that the policy does not know ever leaves the host. An allowed name gets
//! its synthetic address without anyone being asked: the host's resolver hears of it only when it
//! is dialled. Only other records of allowed names are asked for ([`crate::dns_forward`]).
//!
//! A refused name is NXDOMAIN with an extended error (RFC 8914), not REFUSED: resolvers take
//! REFUSED for a broken server, try the next one and make the program wait.

use crate::context::Context;
use crate::dns_forward::{Forward, is_asked};
use crate::names::Bound;
use crate::resolver::Question;
use bailiwick_event::{Act, Decision, Host, Text, Transport};
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::opt::EdnsOption;
use hickory_proto::rr::rdata::{A, AAAA, PTR};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Seconds that an answer may be kept. The binding lasts for the session; this only keeps
/// caches small.
const TTL: u32 = 300;
/// The largest datagram that the gate sends (RFC 6891 §6.2.5; fits any path without fragments).
const MAX_DATAGRAM: u16 = 1232;
/// The longest text of an extended error, in bytes.
const MAX_ERROR_TEXT: usize = 400;
/// RFC 8914 §4: the option's code, and the codes Blocked and Other.
const EXTENDED_ERROR: u16 = 15;
pub(crate) const BLOCKED: u16 = 15;
const OTHER: u16 = 0;

/// What becomes of one message.
pub(crate) enum Answer {
    /// This; `None` where it deserves no answer.
    Now(Option<Vec<u8>>),
    /// It was allowed, and is to be asked of others.
    Later(Box<Forward>),
}

/// Answers one message, as far as the gate can by itself.
pub(crate) fn answer(context: &Context, message: &[u8], transport: Transport) -> Answer {
    let query = match Message::from_vec(message) {
        Ok(query) => query,
        Err(_) => return Answer::Now(format_error(message)),
    };
    // A response is never answered: two servers would answer each other for ever.
    if query.metadata.message_type != MessageType::Query {
        return Answer::Now(None);
    }
    let mut reply = Message::response(query.metadata.id, query.metadata.op_code);
    reply.metadata.recursion_desired = query.metadata.recursion_desired;
    reply.metadata.recursion_available = true;
    reply.metadata.checking_disabled = query.metadata.checking_disabled;
    if let Some(asked) = &query.edns {
        let mut edns = Edns::new();
        edns.set_max_payload(MAX_DATAGRAM);
        edns.set_dnssec_ok(asked.flags().dnssec_ok);
        reply.set_edns(edns);
    }
    let version = query.edns.as_ref().map_or(0, Edns::version);
    let limit = usize::from(match (transport, &query.edns) {
        (Transport::Tcp, _) => u16::MAX,
        (Transport::Udp, Some(edns)) => edns.max_payload().clamp(512, MAX_DATAGRAM),
        (Transport::Udp, None) => 512,
    });
    let resolved = match &query.queries[..] {
        _ if query.metadata.op_code != OpCode::Query => Resolved::Code(ResponseCode::NotImp),
        _ if version != 0 => Resolved::Code(ResponseCode::BADVERS),
        [question] => {
            reply.add_query(question.clone());
            resolve(context, question, transport, &mut reply)
        }
        _ => Resolved::Code(ResponseCode::FormErr),
    };
    match resolved {
        Resolved::Code(code) => {
            reply.metadata.response_code = code;
            Answer::Now(encode(&reply, limit))
        }
        Resolved::Ask(question, asked, qname) => {
            let mut forward = Forward {
                qname,
                qtype: type_name(asked.kind),
                question,
                asked,
                transport,
                reply,
                limit,
            };
            match forward.known(context) {
                Some(known) => Answer::Now(Some(known)),
                None => Answer::Later(Box::new(forward)),
            }
        }
    }
}

/// The message in at most `limit` bytes; what does not fit is left out and said to be.
pub(crate) fn encode(reply: &Message, limit: usize) -> Option<Vec<u8>> {
    let bytes = reply.to_vec().ok()?;
    if bytes.len() <= limit {
        return Some(bytes);
    }
    let mut short = reply.truncate();
    if let Some(edns) = &mut short.edns {
        edns.options_mut().remove(EXTENDED_ERROR.into());
    }
    short.to_vec().ok()
}

/// FORMERR to what has at least the header of a query (RFC 1035 §4.1.1).
fn format_error(message: &[u8]) -> Option<Vec<u8>> {
    let header = message.get(..12)?;
    if header[2] & 0x80 != 0 {
        return None;
    }
    let id = u16::from_be_bytes([header[0], header[1]]);
    let op = OpCode::from_u8(header[2] >> 3 & 0xf);
    Message::error_msg(id, op, ResponseCode::FormErr)
        .to_vec()
        .ok()
}

/// What becomes of a question.
enum Resolved {
    /// It is answered, with this code.
    Code(ResponseCode),
    /// This is to be asked for it, whose name is this as it stood.
    Ask(Query, Question, Text),
}

fn resolve(
    context: &Context,
    question: &Query,
    transport: Transport,
    reply: &mut Message,
) -> Resolved {
    if question.query_class() != DNSClass::IN {
        return Resolved::Code(ResponseCode::NotImp);
    }
    let text = name_text(question.name());
    let host = std::str::from_utf8(&text)
        .ok()
        .and_then(|t| Host::parse(t).ok());
    // The gate's own table crosses no boundary.
    let reversed = reverse(question.name());
    match reversed.map(|ip| context.names.of(ip)) {
        Some(Bound::Name(name)) => {
            if let (RecordType::PTR, Ok(target)) =
                (question.query_type(), Name::from_ascii(format!("{name}.")))
            {
                push(reply, question, RData::PTR(PTR(target)));
            }
            return Resolved::Code(ResponseCode::NoError);
        }
        Some(Bound::Nothing) => return Resolved::Code(ResponseCode::NXDomain),
        Some(Bound::Outside) | None => {}
    }
    let act = Act::Dns {
        qname: Text::from(text.clone()),
        qtype: type_name(question.query_type()),
        transport,
    };
    let resource = act.resource();
    let decision = context.decider.submit(act);
    if !decision.is_allow() {
        explain(reply, BLOCKED, &refusal_text(&decision, &resource));
        return Resolved::Code(ResponseCode::NXDomain);
    }
    if let Some(host) = &host
        && is_asked(question.query_type())
        && !reversed.is_some_and(|ip| ip.to_canonical().is_loopback())
        && let Some(asked) = to_ask(context, host, question.query_type())
    {
        return Resolved::Ask(question.clone(), asked, Text::from(text));
    }
    Resolved::Code(match host {
        Some(host @ Host::Name(_)) if host.is_loopback() => {
            push_address(reply, question, Ipv4Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
            ResponseCode::NoError
        }
        Some(Host::Name(name)) => match context.names.bind(&name) {
            Some((v4, v6)) => {
                push_address(reply, question, v4, v6);
                ResponseCode::NoError
            }
            None => {
                explain(reply, OTHER, "this session has looked up too many names");
                ResponseCode::Refused
            }
        },
        // An address, or a text that is no host name, has no records.
        Some(Host::Ip(_)) | None => ResponseCode::NXDomain,
    })
}

/// What is asked of others about a name, spelled as it was decided; nothing about the sandbox's own
/// machine and about those that the policy itself gives a place.
fn to_ask(context: &Context, host: &Host, kind: RecordType) -> Option<Question> {
    let Host::Name(name) = host else { return None };
    if host.is_loopback() || context.decider.mapping(host).is_some() {
        return None;
    }
    let name = Name::from_ascii(format!("{name}.")).ok()?;
    Some(Question { name, kind })
}

/// The name as it stood, without the last dot. A dot or backslash within a label is written with
/// a backslash, which no host name may have: such a name is never taken for another.
fn name_text(name: &Name) -> Vec<u8> {
    let mut text = Vec::new();
    for (i, label) in name.iter().enumerate() {
        if i > 0 {
            text.push(b'.');
        }
        for byte in label {
            if b".\\".contains(byte) {
                text.push(b'\\');
            }
            text.push(*byte);
        }
    }
    text
}

/// The address that a name below `in-addr.arpa` or `ip6.arpa` stands for.
fn reverse(name: &Name) -> Option<IpAddr> {
    let net = name.parse_arpa_name().ok()?;
    (net.prefix_len() == net.max_prefix_len()).then(|| net.addr())
}

fn type_name(kind: RecordType) -> String {
    match kind {
        RecordType::Unknown(number) => format!("TYPE{number}"),
        kind => kind.to_string(),
    }
}

fn push_address(reply: &mut Message, question: &Query, v4: Ipv4Addr, v6: Ipv6Addr) {
    match question.query_type() {
        RecordType::A => push(reply, question, RData::A(A(v4))),
        RecordType::AAAA => push(reply, question, RData::AAAA(AAAA(v6))),
        _ => {}
    }
}

fn push(reply: &mut Message, question: &Query, data: RData) {
    reply.add_answer(Record::from_rdata(question.name().clone(), TTL, data));
}

pub(crate) fn refusal_text(decision: &Decision, resource: &str) -> String {
    format!(
        "rule {}; resource {resource}; remedy {}",
        decision.rule, decision.remedy
    )
}

/// Adds an extended error, where the query can carry one.
pub(crate) fn explain(reply: &mut Message, code: u16, text: &str) {
    let Some(edns) = &mut reply.edns else { return };
    let end = text.floor_char_boundary(MAX_ERROR_TEXT);
    let mut data = code.to_be_bytes().to_vec();
    data.extend_from_slice(&text.as_bytes()[..end]);
    edns.options_mut()
        .insert(EdnsOption::Unknown(EXTENDED_ERROR, data));
}

#[cfg(test)]
#[path = "dns_tests.rs"]
mod tests;
