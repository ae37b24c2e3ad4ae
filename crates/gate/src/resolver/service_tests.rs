use super::*;
use hickory_proto::rr::Name;
use hickory_proto::rr::rdata::svcb::{EchConfigList, IpHint, Mandatory, Unknown};
use hickory_proto::rr::rdata::{A, AAAA};

fn alpn(ids: &[&str]) -> (SvcParamKey, SvcParamValue) {
    let ids = ids.iter().map(|id| (*id).to_owned()).collect();
    (SvcParamKey::Alpn, SvcParamValue::Alpn(Alpn(ids)))
}

fn mandatory(keys: &[SvcParamKey]) -> (SvcParamKey, SvcParamValue) {
    let value = SvcParamValue::Mandatory(Mandatory(keys.to_vec()));
    (SvcParamKey::Mandatory, value)
}

fn port() -> (SvcParamKey, SvcParamValue) {
    (SvcParamKey::Port, SvcParamValue::Port(8443))
}

fn ech() -> (SvcParamKey, SvcParamValue) {
    let value = SvcParamValue::EchConfigList(EchConfigList(vec![1, 2, 3]));
    (SvcParamKey::EchConfigList, value)
}

fn no_default() -> (SvcParamKey, SvcParamValue) {
    (SvcParamKey::NoDefaultAlpn, SvcParamValue::NoDefaultAlpn)
}

fn https(target: &str, params: Vec<(SvcParamKey, SvcParamValue)>) -> Option<String> {
    let service = SVCB::new(1, Name::from_ascii(target).unwrap(), params);
    let svcb = clean(&RData::SVCB(service.clone())).map(|data| data.to_string());
    let https = clean(&RData::HTTPS(HTTPS(service))).map(|data| data.to_string());
    assert_eq!(svcb, https);
    https
}

#[test]
fn hints_keys_and_quic_are_taken_out() {
    let hint4 = IpHint(vec![A("192.0.2.1".parse().unwrap())]);
    let hint6 = IpHint(vec![AAAA("2001:db8::1".parse().unwrap())]);
    let all = vec![
        mandatory(&[SvcParamKey::Alpn, SvcParamKey::Port]),
        alpn(&[
            "h3",
            "h2",
            "H3-29",
            "h3-Q050",
            "hq-interop",
            "http/1.1",
            "quic",
        ]),
        port(),
        (SvcParamKey::Ipv4Hint, SvcParamValue::Ipv4Hint(hint4)),
        ech(),
        (SvcParamKey::Ipv6Hint, SvcParamValue::Ipv6Hint(hint6)),
        (
            SvcParamKey::Key(65400),
            SvcParamValue::Unknown(Unknown(vec![1])),
        ),
    ];
    let kept = https(".", all).unwrap();
    assert_eq!(kept, "1 . mandatory=alpn,port, alpn=h2,http/1.1, port=8443");
}

#[test]
fn a_record_of_another_name_is_left_out() {
    assert_eq!(https("other.test.", vec![alpn(&["h2"])]), None);
    assert!(https(".", vec![alpn(&["h2"])]).is_some());
}

#[test]
fn what_cannot_be_used_without_what_was_taken_out_is_left_out() {
    assert_eq!(https(".", vec![alpn(&["h3"]), no_default()]), None);
    assert_eq!(https(".", vec![alpn(&["h3"])]).unwrap().trim_end(), "1 .");
    assert!(https(".", vec![alpn(&["h2", "h3"]), no_default()]).is_some());
    let needs_ech = vec![mandatory(&[SvcParamKey::EchConfigList]), ech()];
    assert_eq!(https(".", needs_ech), None);
    let needs_h3 = vec![mandatory(&[SvcParamKey::Alpn]), alpn(&["h3"])];
    assert_eq!(https(".", needs_h3), None);
}
