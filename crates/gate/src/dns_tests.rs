use super::{answer as resolve, *};
use crate::settings::Settings;
use crate::testing::{Here, Script, deaf, names};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

fn context(script: Script) -> (Context, Arc<Script>) {
    let script = Arc::new(script);
    let context = Context::new(
        script.clone(),
        Arc::new(Here),
        names(),
        deaf(),
        HashSet::new(),
        Settings::default(),
    );
    (context, script)
}

/// The answer, for which nobody else is asked.
fn answer(context: &Context, message: &[u8], transport: Transport) -> Option<Vec<u8>> {
    match resolve(context, message, transport) {
        Answer::Now(answer) => answer,
        Answer::Later(forward) => tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(forward.ask(context, None)),
    }
}

fn question(name: &str, kind: RecordType, edns: bool) -> Message {
    let mut message = Message::query();
    message.metadata.id = 0x1234;
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    if edns {
        let mut edns = Edns::new();
        edns.set_max_payload(1400);
        message.set_edns(edns);
    }
    message
}

fn ask(context: &Context, message: &Message) -> Message {
    let bytes = answer(context, &message.to_vec().unwrap(), Transport::Udp).unwrap();
    Message::from_vec(&bytes).unwrap()
}

fn address(message: &Message) -> IpAddr {
    match &message.answers[..] {
        [record] => match record.data {
            RData::A(A(ip)) => ip.into(),
            RData::AAAA(AAAA(ip)) => ip.into(),
            ref other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_allowed_name_gets_an_address_that_means_it() {
    let (context, script) = context(Script::allowing());
    let reply = ask(&context, &question("ExAmPle.Test.", RecordType::A, false));
    assert_eq!(reply.metadata.id, 0x1234);
    assert!(reply.metadata.recursion_available && reply.metadata.recursion_desired);
    assert_eq!(reply.queries[0].name().to_ascii(), "ExAmPle.Test.");
    assert_eq!(context.host_of(address(&reply)).to_string(), "example.test");
    let reply = ask(&context, &question("example.test.", RecordType::AAAA, true));
    assert_eq!(context.host_of(address(&reply)).to_string(), "example.test");
    assert!(address(&reply).is_ipv6());
    assert!(
        matches!(&script.acts()[0], Act::Dns { qname, qtype, transport: Transport::Udp }
        if qname.to_string() == "ExAmPle.Test" && qtype == "A")
    );
}

#[test]
fn the_case_of_the_question_comes_back_in_the_bytes() {
    let (context, _) = context(Script::allowing());
    let asked = question("eXaMpLe.tEsT.", RecordType::A, false)
        .to_vec()
        .unwrap();
    let reply = answer(&context, &asked, Transport::Udp).unwrap();
    assert_eq!(reply[12..asked.len()], asked[12..]);
}

#[test]
fn a_refused_name_does_not_exist_and_says_why() {
    let (context, _) = context(Script::denying(|_| true));
    let reply = ask(&context, &question("evil.test.", RecordType::A, true));
    assert_eq!(reply.metadata.response_code, ResponseCode::NXDomain);
    assert!(reply.answers.is_empty());
    let edns = reply.edns.unwrap();
    let Some(EdnsOption::Unknown(15, data)) = edns.option(15u16.into()) else {
        panic!("no extended error: {edns:?}");
    };
    let text = std::str::from_utf8(&data[2..]).unwrap();
    assert_eq!(data[..2], [0, 15]);
    assert!(
        text.starts_with("rule test.rule (built-in); resource "),
        "{text}"
    );
    assert!(text.ends_with("remedy change the script"), "{text}");
    let plain = ask(&context, &question("evil.test.", RecordType::A, false));
    assert_eq!(plain.metadata.response_code, ResponseCode::NXDomain);
    assert!(plain.edns.is_none());
}

#[test]
fn types_that_nobody_has_looked_at_have_no_records() {
    let (context, script) = context(Script::allowing());
    for kind in [
        RecordType::ANY,
        RecordType::AXFR,
        RecordType::IXFR,
        RecordType::SOA,
        RecordType::DNSKEY,
        RecordType::Unknown(65280),
    ] {
        let reply = ask(&context, &question("a.test.", kind, false));
        assert_eq!(reply.metadata.response_code, ResponseCode::NoError);
        assert!(reply.answers.is_empty(), "{kind}");
    }
    assert!(matches!(script.acts().last(), Some(Act::Dns { qtype, .. }) if qtype == "TYPE65280"));
}

#[test]
fn only_questions_about_other_machines_are_asked_of_others() {
    let address = "127.0.0.1:1".parse().unwrap();
    let (context, _) = context(Script::allowing().mapping("pypi.test", address));
    let asked = |name: &str, kind| {
        let bytes = question(name, kind, false).to_vec().unwrap();
        match resolve(&context, &bytes, Transport::Udp) {
            Answer::Later(forward) => Some(forward.asked.name.to_ascii()),
            Answer::Now(_) => None,
        }
    };
    assert_eq!(asked("A.test.", RecordType::TXT).unwrap(), "a.test.");
    for name in [
        "pypi.test.",
        "PyPI.test.",
        "localhost.",
        "a.localhost.",
        "1.2.3.4.",
    ] {
        assert_eq!(asked(name, RecordType::TXT), None, "{name}");
    }
    for (name, is_asked) in [
        ("1.0.0.127.in-addr.arpa.", false),
        ("4.3.18.127.in-addr.arpa.", false),
        ("4.3.2.8.in-addr.arpa.", true),
    ] {
        assert_eq!(asked(name, RecordType::PTR).is_some(), is_asked, "{name}");
    }
    for kind in [
        RecordType::A,
        RecordType::AAAA,
        RecordType::ANY,
        RecordType::NULL,
    ] {
        assert_eq!(asked("a.test.", kind), None, "{kind}");
    }
}

#[test]
fn localhost_is_the_programs_own() {
    let (context, _) = context(Script::allowing());
    for (name, kind, is) in [
        ("localhost.", RecordType::A, "127.0.0.1"),
        ("api.LocalHost.", RecordType::A, "127.0.0.1"),
        ("localhost.", RecordType::AAAA, "::1"),
    ] {
        let reply = ask(&context, &question(name, kind, false));
        assert_eq!(address(&reply).to_string(), is, "{name}");
    }
}

#[test]
fn a_synthetic_address_is_looked_up_backwards() {
    let (context, script) = context(Script::denying(|_| true));
    let (v4, v6) = context.names.bind("a.test").unwrap();
    for ip in [IpAddr::from(v4), IpAddr::from(v6)] {
        let reply = ask(
            &context,
            &question(&Name::from(ip).to_ascii(), RecordType::PTR, false),
        );
        let RData::PTR(PTR(name)) = &reply.answers[0].data else {
            panic!("{reply}");
        };
        assert_eq!(name.to_ascii(), "a.test.");
    }
    let unbound = ask(
        &context,
        &question("9.9.18.127.in-addr.arpa.", RecordType::PTR, false),
    );
    assert_eq!(unbound.metadata.response_code, ResponseCode::NXDomain);
    assert!(script.acts().is_empty());
    ask(
        &context,
        &question("1.1.1.1.in-addr.arpa.", RecordType::PTR, false),
    );
    assert_eq!(script.acts().len(), 1);
}

#[test]
fn a_name_that_is_no_host_is_recorded_and_does_not_exist() {
    let (context, script) = context(Script::allowing());
    let odd = Name::from_labels([&b"evil.test"[..], b"a"]).unwrap();
    let mut message = Message::query();
    message.add_query(Query::query(odd, RecordType::A));
    let reply = ask(&context, &message);
    assert_eq!(reply.metadata.response_code, ResponseCode::NXDomain);
    let reply = ask(&context, &question("1.2.3.4.", RecordType::A, false));
    assert_eq!(reply.metadata.response_code, ResponseCode::NXDomain);
    assert!(
        matches!(&script.acts()[0], Act::Dns { qname, .. } if qname.as_bytes() == b"evil\\.test.a")
    );
}

#[test]
fn a_full_table_refuses_new_names_only() {
    let (context, _) = context(Script::allowing());
    for i in 0..100 {
        ask(
            &context,
            &question(&format!("n{i}.test."), RecordType::A, false),
        );
    }
    let reply = ask(&context, &question("one-more.test.", RecordType::A, false));
    assert_eq!(reply.metadata.response_code, ResponseCode::Refused);
    address(&ask(&context, &question("n7.test.", RecordType::A, false)));
}

#[test]
fn what_is_no_plain_question_is_answered_as_that() {
    let (context, script) = context(Script::allowing());
    let code = |message: &Message| ask(&context, message).metadata.response_code;
    let mut two = question("a.test.", RecordType::A, false);
    two.add_query(two.queries[0].clone());
    assert_eq!(code(&two), ResponseCode::FormErr);
    let mut chaos = question("version.bind.", RecordType::TXT, false);
    chaos.queries[0].set_query_class(DNSClass::CH);
    assert_eq!(code(&chaos), ResponseCode::NotImp);
    let mut status = question("a.test.", RecordType::A, false);
    status.metadata.op_code = OpCode::Status;
    assert_eq!(code(&status), ResponseCode::NotImp);
    let mut version = question("a.test.", RecordType::A, true);
    version.edns.as_mut().unwrap().set_version(1);
    assert_eq!(u16::from(code(&version)), u16::from(ResponseCode::BADVERS));
    let mut response = question("a.test.", RecordType::A, false);
    response.metadata.message_type = MessageType::Response;
    assert_eq!(
        answer(&context, &response.to_vec().unwrap(), Transport::Udp),
        None
    );
    assert_eq!(answer(&context, b"short", Transport::Udp), None);
    let broken = [&question("a.test.", RecordType::A, false).to_vec().unwrap()[..20]].concat();
    let reply = answer(&context, &broken, Transport::Udp).unwrap();
    assert_eq!((&reply[..2], reply[3] & 0xf), (&[0x12, 0x34][..], 1));
    assert!(script.acts().is_empty(), "{:?}", script.told());
}

#[test]
fn an_answer_that_does_not_fit_a_datagram_is_cut_and_says_so() {
    let (context, _) = context(Script::allowing());
    let long = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(50));
    let (_, v6) = context.names.bind(&long).unwrap();
    let asked = question(
        &Name::from(IpAddr::from(v6)).to_ascii(),
        RecordType::PTR,
        false,
    );
    let bytes = asked.to_vec().unwrap();
    let udp = Message::from_vec(&answer(&context, &bytes, Transport::Udp).unwrap()).unwrap();
    let tcp = Message::from_vec(&answer(&context, &bytes, Transport::Tcp).unwrap()).unwrap();
    assert_eq!(tcp.answers.len(), 1);
    assert_eq!(udp.answers.len(), 1);
    let short = encode(&tcp, 120).unwrap();
    assert!(short.len() <= 120);
    let short = Message::from_vec(&short).unwrap();
    assert!(short.metadata.truncation && short.answers.is_empty());
    assert_eq!(short.queries.len(), 1);
}

proptest! {
    #[test]
    fn any_bytes_are_answered_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..600), tcp: bool) {
        let (context, _) = context(Script::allowing());
        let transport = if tcp { Transport::Tcp } else { Transport::Udp };
        if let Some(reply) = answer(&context, &bytes, transport) {
            prop_assert_eq!(&reply[..2], &bytes[..2]);
            prop_assert!(reply[2] & 0x80 != 0);
            prop_assert!(tcp || reply.len() <= 1232);
        }
    }

    #[test]
    fn a_corrupted_question_never_gets_an_undecided_name(at in 0usize..60, value: u8, more: prop::sample::Index) {
        let (context, script) = context(Script::denying(|act| {
            !matches!(act, Act::Dns { qname, .. } if qname.to_string().eq_ignore_ascii_case("good.test"))
        }));
        let mut bytes = question("good.test.", RecordType::A, true).to_vec().unwrap();
        let length = bytes.len();
        bytes[at % length] = value;
        bytes.truncate(length - more.index(3));
        if let Some(reply) = answer(&context, &bytes, Transport::Udp)
            && let Ok(reply) = Message::from_vec(&reply)
            && !reply.answers.is_empty()
        {
            prop_assert_eq!(context.host_of(address(&reply)).to_string(), "good.test");
            prop_assert_eq!(script.acts().len(), 1);
        }
    }
}
