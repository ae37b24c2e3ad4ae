use super::*;
use crate::layout::ROW_MAX;
use crate::testing::{Lab, allow, dns};
use bailiwick_event::Via;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr};

fn kept(act: Act) -> Event {
    let lab = Lab::new();
    let ledger = lab.session();
    let event = ledger.record(act, allow()).unwrap();
    let json = serde_json::to_vec(&event).unwrap();
    assert!(json.len() <= ROW_MAX, "{}", json.len());
    ledger.close().unwrap();
    assert_eq!(
        lab.events(ledger.id())[0],
        event,
        "what was returned is what is kept"
    );
    event
}

#[test]
fn a_row_that_fits_is_kept_whole() {
    let name = "a".repeat(50_000);
    let event = kept(dns(name.clone()));
    assert_eq!(event.act, dns(name));
}

#[test]
fn a_huge_name_is_cut_and_says_so() {
    let Act::Dns { qname, .. } = kept(dns("a".repeat(1_000_000))).act else {
        panic!("another act");
    };
    let shown = qname.to_string();
    assert!(
        shown.starts_with("aaaa") && shown.ends_with("[991808 more bytes]"),
        "{shown}"
    );
}

#[test]
fn a_huge_command_line_keeps_its_beginning_and_counts_the_rest() {
    let argv = (0..100_000)
        .map(|i| Text::from(format!("word{i}")))
        .collect();
    let cwd = Text::from("/");
    let Act::ExecStart { argv, .. } = kept(Act::ExecStart { argv, cwd }).act else {
        panic!("another act");
    };
    assert_eq!(argv[0], Text::from("word0"));
    assert_eq!(argv.last().unwrap().to_string(), "…[99872 more words]");
}

#[test]
fn a_name_with_thousands_of_addresses_says_how_many_are_left_out() {
    let addresses: Vec<_> = (0..20_000)
        .map(|i: u32| IpAddr::V4(Ipv4Addr::from(i)))
        .collect();
    let host = Text::from("many.example.com");
    let event = kept(Act::Resolved {
        host,
        addresses,
        port: 443,
    });
    assert!(
        event
            .decision
            .reason
            .contains("leaves out 19872 more items"),
        "{event:?}"
    );
}

#[test]
fn a_long_answer_keeps_its_beginning_and_counts_the_rest() {
    let answers = (0..20_000).map(|i| Text::from(format!("text {i}")));
    let event = kept(Act::DnsResponse {
        qname: "many.example.com".into(),
        qtype: "TXT".into(),
        transport: bailiwick_event::Transport::Udp,
        code: "NOERROR".into(),
        answers: answers.chain([Text::from("x".repeat(100_000))]).collect(),
        ttl: Some(1),
    });
    assert!(
        event
            .decision
            .reason
            .contains("leaves out 19873 more items"),
        "{event:?}"
    );
}

#[test]
fn a_cut_does_not_split_a_character() {
    let Act::Dns { qname, .. } = kept(dns("é".repeat(500_000) + "x")).act else {
        panic!("another act");
    };
    assert!(std::str::from_utf8(qname.as_bytes()).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_hostile_request_has_a_row(byte: u8, lens in prop::array::uniform4(0..300_000_usize)) {
        let text = |i: usize| Text::from(vec![byte; lens[i]]);
        kept(Act::Http {
            method: text(0),
            host: text(1),
            connected: text(2),
            port: 80,
            path: text(3),
            via: Via::Proxy, scheme: bailiwick_event::Scheme::Http, });
    }
}
