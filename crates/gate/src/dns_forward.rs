//! Questions that the gate cannot answer by itself: records other than addresses, of names that
//! the policy allows. They are asked of the name servers, and what these say is decided once more,
//! by what it says, before the program hears of it.
//!
//! The program gets records of the type that it asked for, under the name that it asked for, and
//! nothing else: an alias is followed here and not shown, so that no name comes into the sandbox
//! that was not decided.

use crate::context::Context;
use crate::dns::{BLOCKED, encode, explain, refusal_text};
use crate::resolver::{Failure, Found, Question, Slot};
use bailiwick_event::{Act, Text, Transport};
use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name, RData, Record, RecordType};

/// Whether records of this type are asked for. Addresses are the gate's own; a type that nobody
/// has looked at could lead around a name.
pub(crate) fn is_asked(kind: RecordType) -> bool {
    matches!(
        kind,
        RecordType::CNAME
            | RecordType::TXT
            | RecordType::MX
            | RecordType::SRV
            | RecordType::PTR
            | RecordType::HTTPS
            | RecordType::SVCB
            | RecordType::NS
            | RecordType::CAA
    )
}

/// A question of a program that is to be asked, and its reply without an answer yet.
pub(crate) struct Forward {
    pub(crate) question: Query,
    /// What is asked: the name as it was decided.
    pub(crate) asked: Question,
    /// As the question was recorded.
    pub(crate) qname: Text,
    pub(crate) qtype: String,
    pub(crate) transport: Transport,
    pub(crate) reply: Message,
    /// Bytes that the reply may have.
    pub(crate) limit: usize,
}

impl Forward {
    /// The reply, where the answer is known already.
    pub(crate) fn known(&mut self, context: &Context) -> Option<Vec<u8>> {
        let found = context.resolver.cached(&self.asked)?;
        self.give(context, &found)
    }

    /// Asks, and makes the reply; without the right to ask there is no answer.
    pub(crate) async fn ask(mut self, context: &Context, slot: Option<Slot>) -> Option<Vec<u8>> {
        let found = match slot {
            Some(slot) => context.resolver.ask(&self.asked, slot).await,
            None => Err(Failure::Busy),
        };
        match found {
            Ok(found) => self.give(context, &found),
            Err(failure) => self.fail(failure),
        }
    }

    /// As [`Forward::ask`] where too many ask already.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn without_asking(mut self) -> Option<Vec<u8>> {
        self.fail(Failure::Busy)
    }

    /// As [`Forward::ask`] where a server sends this message.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn answered(mut self, context: &Context, message: &[u8]) -> Option<Vec<u8>> {
        match crate::resolver::read(message, &self.asked) {
            Ok(found) => self.give(context, &found),
            Err(failure) => self.fail(failure),
        }
    }

    fn fail(&mut self, failure: Failure) -> Option<Vec<u8>> {
        self.reply.metadata.response_code = ResponseCode::ServFail;
        let code = failure.extended_code();
        explain(&mut self.reply, code, &failure.to_string());
        encode(&self.reply, self.limit)
    }

    fn give(&mut self, context: &Context, found: &Found) -> Option<Vec<u8>> {
        let code = match found.exists {
            true => ResponseCode::NoError,
            false => ResponseCode::NXDomain,
        };
        let act = Act::DnsResponse {
            qname: self.qname.clone(),
            qtype: self.qtype.clone(),
            transport: self.transport,
            code: if found.exists { "NOERROR" } else { "NXDOMAIN" }.to_owned(),
            answers: found.data.iter().map(shown).collect(),
            ttl: (!found.data.is_empty()).then_some(found.ttl),
        };
        let decision = context.decider.submit(act);
        if decision.is_allow() {
            self.reply.metadata.response_code = code;
            let name = self.question.name();
            let record = |data: &RData| Record::from_rdata(name.clone(), found.ttl, data.clone());
            self.reply.add_answers(found.data.iter().map(record));
        } else {
            // The question, and not what the program is not to have.
            let resource = format!("the answer to {} {}", self.qname, self.qtype);
            self.reply.metadata.response_code = ResponseCode::NXDomain;
            let why = refusal_text(&decision, &resource);
            explain(&mut self.reply, BLOCKED, &why);
        }
        encode(&self.reply, self.limit)
    }
}

/// A record's data as rules see it: names in ASCII without the dot at their end, the strings of a
/// text one after the other, and what else there is as a zone file has it.
fn shown(data: &RData) -> Text {
    let name = |name: &Name| {
        let name = name.to_ascii();
        name.strip_suffix('.').unwrap_or(&name).to_owned()
    };
    match data {
        RData::CNAME(target) => Text::from(name(&target.0)),
        RData::NS(target) => Text::from(name(&target.0)),
        RData::PTR(target) => Text::from(name(&target.0)),
        RData::MX(mx) => Text::from(format!("{} {}", mx.preference, name(&mx.exchange))),
        RData::SRV(srv) => {
            let target = name(&srv.target);
            let [priority, weight, port] = [srv.priority, srv.weight, srv.port];
            Text::from(format!("{priority} {weight} {port} {target}"))
        }
        RData::TXT(txt) => Text::from(txt.txt_data.concat()),
        other => Text::from(other.to_string()),
    }
}

#[cfg(test)]
#[path = "dns_forward_tests.rs"]
mod tests;
