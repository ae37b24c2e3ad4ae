use super::super::testing::{name, no_name, question, record, reply};
use super::*;
use hickory_proto::op::Query;
use hickory_proto::rr::rdata::{A, CNAME, MX, TXT};

fn txt(text: &str) -> RData {
    RData::TXT(TXT::new(vec![text.to_owned()]))
}

fn alias(to: &str) -> RData {
    RData::CNAME(CNAME(name(to)))
}

/// What a message with these records says of the TXT records of `a.test.`.
fn of(records: Vec<Record>) -> Result<Found, Failure> {
    read(&message(records), &question("a.test.", RecordType::TXT))
}

fn message(records: Vec<Record>) -> Message {
    let mut query = Message::query();
    query.add_query(Query::query(name("a.test."), RecordType::TXT));
    let mut message = reply(&query);
    message.add_answers(records);
    message
}

fn texts(found: &Found) -> Vec<String> {
    found.data.iter().map(ToString::to_string).collect()
}

#[test]
fn only_the_asked_type_of_the_asked_name_counts() {
    let mut message = message(vec![
        record("b.test.", 60, txt("other name")),
        record("a.test.", 60, RData::MX(MX::new(1, name("mail.test.")))),
        record("A.test.", 50, txt("one")),
        record("a.test.", 40, txt("two")),
    ]);
    let mut chaos = record("a.test.", 1, txt("chaos"));
    chaos.dns_class = DNSClass::CH;
    message.add_answer(chaos);
    message.add_authority(record("a.test.", 1, txt("authority")));
    message.add_additional(record("a.test.", 1, txt("additional")));
    let found = read(&message, &question("a.test.", RecordType::TXT)).unwrap();
    assert_eq!(texts(&found), ["one", "two"]);
    assert_eq!((found.exists, found.ttl), (true, 40));
}

#[test]
fn aliases_are_followed_and_their_times_count() {
    let found = of(vec![
        record("c.test.", 90, txt("last")),
        record("a.test.", 80, alias("b.test.")),
        record("b.test.", 20, alias("C.test.")),
        record("b.test.", 90, txt("beside an alias")),
    ]);
    let found = found.unwrap();
    assert_eq!((texts(&found), found.ttl), (vec!["last".to_owned()], 20));
    // An alias of which the answer does not say what it is.
    let found = of(vec![record("a.test.", 80, alias("b.test."))]).unwrap();
    assert!(found.exists && found.data.is_empty());
}

#[test]
fn an_alias_that_was_asked_for_is_not_followed() {
    let asked = question("a.test.", RecordType::CNAME);
    let records = vec![
        record("a.test.", 80, alias("b.test.")),
        record("b.test.", 20, alias("c.test.")),
    ];
    let found = read(&message(records), &asked).unwrap();
    assert_eq!((texts(&found), found.ttl), (vec!["b.test.".to_owned()], 80));
}

#[test]
fn aliases_in_a_circle_end() {
    let circle = of(vec![
        record("a.test.", 80, alias("b.test.")),
        record("b.test.", 80, alias("a.test.")),
    ]);
    assert_eq!(circle, Err(Failure::Malformed));
}

#[test]
fn times_are_bounded() {
    for (said, ttl) in [(0, 0), (7, 7), (86_400, MAX_TTL), (0x8000_0001, 0)] {
        assert_eq!(
            of(vec![record("a.test.", said, txt("x"))]).unwrap().ttl,
            ttl
        );
    }
}

#[test]
fn that_there_is_nothing_holds_as_the_zone_says() {
    for (minimum, ttl) in [(30, 30), (86_400, MAX_TTL)] {
        let mut message = message(Vec::new());
        no_name(&mut message, minimum);
        message.add_answer(record("a.test.", 9, txt("of a name that there is not")));
        message.answers.clear();
        let found = read(&message, &question("a.test.", RecordType::TXT)).unwrap();
        assert_eq!((found.exists, found.ttl), (false, ttl));
    }
    assert_eq!(of(Vec::new()).unwrap().ttl, 0);
}

#[test]
fn a_name_that_does_not_exist_has_no_records() {
    let mut message = message(vec![record("a.test.", 60, txt("yet here I am"))]);
    message.metadata.response_code = ResponseCode::NXDomain;
    let found = read(&message, &question("a.test.", RecordType::TXT)).unwrap();
    assert!(!found.exists && found.data.is_empty());
}

#[test]
fn what_is_too_much_is_a_failure() {
    let many = |n: usize, length: usize| {
        let text = "x".repeat(length);
        of((0..n).map(|_| record("a.test.", 60, txt(&text))).collect())
    };
    assert_eq!(many(MAX_RECORDS, 1).unwrap().data.len(), MAX_RECORDS);
    assert_eq!(many(MAX_RECORDS + 1, 1), Err(Failure::TooLarge));
    assert!(many(60, 250).is_ok());
    assert_eq!(many(70, 250), Err(Failure::TooLarge));
}

#[test]
fn another_code_is_the_servers_failure() {
    let mut refused = message(vec![record("a.test.", 60, txt("x"))]);
    refused.metadata.response_code = ResponseCode::Refused;
    let said = read(&refused, &question("a.test.", RecordType::TXT));
    assert_eq!(said, Err(Failure::Code(ResponseCode::Refused)));
    let mut cut = message(vec![record("a.test.", 60, txt("x"))]);
    cut.metadata.truncation = true;
    let said = read(&cut, &question("a.test.", RecordType::TXT));
    assert_eq!(said, Err(Failure::Malformed));
    let address = of(vec![record(
        "a.test.",
        60,
        RData::A(A("192.0.2.1".parse().unwrap())),
    )]);
    assert!(address.unwrap().data.is_empty());
}
