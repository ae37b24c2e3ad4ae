//! HTTPS and SVCB records without what leads a program around its name: addresses to dial in the
//! place of the synthetic one, keys that hide the name in the hello, another name to ask for, and
//! QUIC, which the gate does not carry. What is not known to be harmless is taken out.

use hickory_proto::rr::RData;
use hickory_proto::rr::rdata::svcb::{Alpn, SVCB, SvcParamKey, SvcParamValue};
use hickory_proto::rr::rdata::{HTTPS, svcb};

/// The record's data as programs may have it; none where nothing is left that is of use.
pub(super) fn clean(data: &RData) -> Option<RData> {
    match data {
        RData::HTTPS(HTTPS(service)) => cleaned(service).map(|s| RData::HTTPS(HTTPS(s))),
        RData::SVCB(service) => cleaned(service).map(RData::SVCB),
        other => Some(other.clone()),
    }
}

fn cleaned(service: &SVCB) -> Option<SVCB> {
    if !service.target_name.is_root() {
        return None;
    }
    let has = |key: SvcParamKey| service.svc_params.iter().any(|(k, _)| *k == key);
    let mut kept = Vec::new();
    for (key, value) in &service.svc_params {
        match value {
            SvcParamValue::Alpn(Alpn(all)) => {
                let carried: Vec<_> = all.iter().filter(|id| !is_quic(id)).cloned().collect();
                match carried.is_empty() {
                    // It speaks nothing that could be carried.
                    true if has(SvcParamKey::NoDefaultAlpn) => return None,
                    true => {}
                    false => kept.push((*key, SvcParamValue::Alpn(Alpn(carried)))),
                }
            }
            SvcParamValue::Mandatory(_) | SvcParamValue::NoDefaultAlpn | SvcParamValue::Port(_) => {
                kept.push((*key, value.clone()));
            }
            _ => {}
        }
    }
    // Who must understand what was taken out cannot use the record.
    let usable = kept.iter().all(|(_, value)| match value {
        SvcParamValue::Mandatory(svcb::Mandatory(keys)) => keys
            .iter()
            .all(|key| kept.iter().any(|(there, _)| there == key)),
        _ => true,
    });
    usable.then(|| SVCB::new(service.svc_priority, service.target_name.clone(), kept))
}

/// HTTP/3 in all its drafts, and the other protocols over QUIC.
fn is_quic(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    ["h3", "hq", "quic", "doq"]
        .iter()
        .any(|quic| id.starts_with(quic))
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
