//! What of a server's message counts: the records of the asked type that the asked name has, or
//! that it is an alias of within the answer, and how long they hold. All else in it (authority,
//! additional, other names) could only speak for names that nobody decided, so it is left out.

use super::{Failure, Question, service};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};
use std::sync::Arc;

/// Aliases that are followed.
const MAX_ALIASES: usize = 16;
/// Records of one answer.
pub(crate) const MAX_RECORDS: usize = 128;
/// Bytes of one answer.
pub(crate) const MAX_BYTES: usize = 16 << 10;
/// Seconds that an answer is kept for at the most.
pub(crate) const MAX_TTL: u32 = 3600;

/// What is known of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// That the name exists, or that it does not.
    pub(crate) exists: bool,
    /// The data of the records, all of the asked type.
    pub(crate) data: Arc<[RData]>,
    /// Seconds for which it holds; of no use again where they are 0.
    pub(crate) ttl: u32,
    /// About how many bytes it is.
    pub(crate) bytes: usize,
}

/// What a message says about a question.
pub(super) fn read(message: &Message, question: &Question) -> Result<Found, Failure> {
    // What is cut is asked for by TCP, where nothing is cut.
    if message.metadata.truncation {
        return Err(Failure::Malformed);
    }
    let exists = match message.metadata.response_code {
        ResponseCode::NoError => true,
        ResponseCode::NXDomain => false,
        code => return Err(Failure::Code(code)),
    };
    let mut ttl = MAX_TTL;
    let owner = owner(message, question, &mut ttl)?;
    let records: Vec<_> = message
        .answers
        .iter()
        .filter(|record| is(record, owner, question.kind))
        .collect();
    if records.len() > MAX_RECORDS {
        return Err(Failure::TooLarge);
    }
    for record in &records {
        ttl = ttl.min(seconds(record.ttl));
    }
    if records.is_empty() {
        ttl = ttl.min(negative_ttl(message));
    }
    let data: Arc<[RData]> = match exists {
        true => records
            .iter()
            .filter_map(|r| service::clean(&r.data))
            .collect(),
        // A name that does not exist has no records, whatever else the message says.
        false => Arc::default(),
    };
    let bytes = size(&data)?;
    if bytes > MAX_BYTES {
        return Err(Failure::TooLarge);
    }
    Ok(Found {
        exists,
        data,
        ttl,
        bytes,
    })
}

/// The name whose records answer the question: its own, or what that is an alias of.
fn owner<'m>(
    message: &'m Message,
    question: &'m Question,
    ttl: &mut u32,
) -> Result<&'m Name, Failure> {
    let mut owner = &question.name;
    if question.kind == RecordType::CNAME {
        return Ok(owner);
    }
    for _ in 0..MAX_ALIASES {
        let alias = message
            .answers
            .iter()
            .find(|record| is(record, owner, RecordType::CNAME));
        match alias.map(|record| (&record.data, record.ttl)) {
            Some((RData::CNAME(target), seconds_of)) => {
                *ttl = (*ttl).min(seconds(seconds_of));
                owner = &target.0;
            }
            _ => return Ok(owner),
        }
    }
    Err(Failure::Malformed)
}

fn is(record: &Record, owner: &Name, kind: RecordType) -> bool {
    record.dns_class == DNSClass::IN && record.record_type() == kind && record.name == *owner
}

/// A time to live; one with the highest bit set counts as none (RFC 2181 §8).
fn seconds(ttl: u32) -> u32 {
    match ttl {
        ..0x8000_0000 => ttl,
        _ => 0,
    }
}

/// How long it holds that there is nothing (RFC 2308 §5).
fn negative_ttl(message: &Message) -> u32 {
    let mut zones = message.authorities.iter();
    let zone = zones.find_map(|record| match &record.data {
        RData::SOA(soa) => Some(seconds(record.ttl).min(seconds(soa.minimum))),
        _ => None,
    });
    zone.unwrap_or(0)
}

/// How many bytes the records are in a message.
fn size(data: &[RData]) -> Result<usize, Failure> {
    let mut message = Message::query();
    let record = |data: &RData| Record::from_rdata(Name::root(), 0, data.clone());
    message.add_answers(data.iter().map(record));
    let bytes = message.to_vec().map_err(|_| Failure::Malformed)?;
    Ok(bytes.len())
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
