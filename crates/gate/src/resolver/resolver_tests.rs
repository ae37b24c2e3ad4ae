use super::testing::{Server, name, no_name, question, record, reply};
use super::*;
use crate::testing::nobody;
use hickory_proto::rr::rdata::{CNAME, TXT};
use std::time::Duration;

fn txt(owner: &str, ttl: u32) -> hickory_proto::rr::Record {
    record(owner, ttl, RData::TXT(TXT::new(vec!["text".to_owned()])))
}

async fn ask(resolver: &Resolver, question: &Question) -> Result<Found, Failure> {
    resolver.ask(question, resolver.slot().unwrap()).await
}

#[tokio::test]
async fn what_was_answered_is_not_asked_again_while_it_holds() {
    let server = Server::new(|reply, _| {
        let ttl = if reply.queries[0].name() == &name("never.test.") {
            0
        } else {
            60
        };
        let owner = reply.queries[0].name().to_ascii();
        reply.add_answer(txt(&owner, ttl));
    })
    .await;
    let resolver = Resolver::new(vec![server.address]);
    for asked in ["a.test.", "a.test.", "never.test.", "never.test."] {
        let found = ask(&resolver, &question(asked, RecordType::TXT))
            .await
            .unwrap();
        assert_eq!(found.data.len(), 1);
    }
    assert_eq!(
        server.asked(),
        ["a.test. TXT", "never.test. TXT", "never.test. TXT"]
    );
    assert!(
        resolver
            .cached(&question("a.test.", RecordType::TXT))
            .is_some()
    );
    assert!(
        resolver
            .cached(&question("a.test.", RecordType::MX))
            .is_none()
    );
}

#[tokio::test]
async fn that_there_is_nothing_is_kept_as_long_as_the_zone_says() {
    let server = Server::new(|reply, _| no_name(reply, 60)).await;
    let resolver = Resolver::new(vec![server.address]);
    for _ in 0..3 {
        let found = ask(&resolver, &question("no.test.", RecordType::TXT))
            .await
            .unwrap();
        assert!(!found.exists && found.data.is_empty());
    }
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn many_who_ask_the_same_ask_once() {
    let server = Server::new(|reply, _| {
        reply.add_answer(txt("a.test.", 0));
    })
    .await;
    let resolver = Resolver::new(vec![server.address]);
    let asked = question("a.test.", RecordType::TXT);
    let all = (0..5).map(|_| ask(&resolver, &asked)).map(Box::pin);
    let mut all: Vec<_> = all.collect();
    std::future::poll_fn(|cx| {
        all.retain_mut(|one| {
            one.as_mut()
                .poll(cx)
                .map(|found| found.unwrap())
                .is_pending()
        });
        if all.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    assert_eq!(server.asked().len(), 1);
    // One that gives up leaves nothing behind.
    let silent = Server::sending(|_, _| Vec::new()).await;
    let resolver = Resolver::new(vec![silent.address]);
    // Nothing but time ends it.
    let given_up = tokio::time::timeout(Duration::from_millis(50), ask(&resolver, &asked)).await;
    assert!(given_up.is_err());
    assert!(lock(&resolver.pending).is_empty());
}

#[tokio::test]
async fn the_next_server_is_asked_where_one_fails_and_first_from_then_on() {
    let failing =
        Server::new(|reply, _| reply.metadata.response_code = ResponseCode::ServFail).await;
    let good = Server::new(|reply, _| {
        let owner = reply.queries[0].name().to_ascii();
        reply.add_answer(txt(&owner, 60));
    })
    .await;
    let resolver = Resolver::new(vec![nobody(), failing.address, good.address]);
    for asked in ["a.test.", "b.test."] {
        ask(&resolver, &question(asked, RecordType::TXT))
            .await
            .unwrap();
    }
    assert_eq!(failing.asked(), ["a.test. TXT"]);
    let none = Resolver::new(vec![failing.address]);
    let said = ask(&none, &question("a.test.", RecordType::TXT)).await;
    assert_eq!(said, Err(Failure::Code(ResponseCode::ServFail)));
    let none = Resolver::new(vec![nobody()]);
    let said = ask(&none, &question("a.test.", RecordType::TXT)).await;
    assert_eq!(
        said,
        Err(Failure::Network(io::ErrorKind::ConnectionRefused))
    );
    assert_eq!(said.unwrap_err().extended_code(), 23);
}

#[tokio::test]
async fn a_server_that_says_nothing_has_so_much_time_and_so_many_tries() {
    let silent = Server::sending(|_, _| Vec::new()).await;
    let resolver = Resolver::new(vec![silent.address]);
    let mut servers = Servers::new(vec![silent.address]);
    (servers.timeout, servers.attempts) = (Duration::from_millis(20), 3);
    assert!(resolver.servers.set(servers).is_ok());
    let said = ask(&resolver, &question("silent.test.", RecordType::TXT)).await;
    assert_eq!(said, Err(Failure::Silent));
    assert_eq!(silent.asked_times(3).await, ["silent.test. TXT"; 3]);
}

#[tokio::test]
async fn a_bounded_number_of_questions_is_on_its_way() {
    let resolver = Resolver::new(vec![nobody()]);
    let slots: Vec<_> = std::iter::from_fn(|| resolver.slot()).collect();
    assert_eq!(slots.len(), MAX_ASKED);
    drop(slots);
    assert!(resolver.slot().is_some());
}

#[tokio::test]
async fn the_addresses_of_a_name_are_those_of_what_it_is_an_alias_of() {
    let server = Server::sending(|query, _| {
        let mut reply = reply(query);
        match (
            query.queries[0].name().to_ascii().as_str(),
            query.queries[0].query_type(),
        ) {
            ("www.test.", RecordType::A) => {
                reply.add_answer(record(
                    "www.test.",
                    60,
                    RData::CNAME(CNAME(name("cdn.test."))),
                ));
                let one = A("192.0.2.1".parse().unwrap());
                reply.add_answer(record("CDN.test.", 60, RData::A(one)));
                reply.add_answer(record(
                    "other.test.",
                    60,
                    RData::A(A("192.0.2.9".parse().unwrap())),
                ));
            }
            ("www.test.", RecordType::AAAA) => {
                let six = AAAA("2001:db8::1".parse().unwrap());
                reply.add_answer(record("www.test.", 60, RData::AAAA(six)));
            }
            ("half.test.", RecordType::A) => {
                let one = A("192.0.2.2".parse().unwrap());
                reply.add_answer(record("half.test.", 60, RData::A(one)));
            }
            ("half.test.", _) => reply.metadata.response_code = ResponseCode::ServFail,
            _ => no_name(&mut reply, 60),
        }
        vec![reply.to_vec().unwrap()]
    })
    .await;
    let resolver = Resolver::new(vec![server.address]);
    let shown = |found: Vec<IpAddr>| found.iter().map(ToString::to_string).collect::<Vec<_>>();
    let found = resolver.addresses("www.test").await.unwrap();
    assert_eq!(shown(found), ["2001:db8::1", "192.0.2.1"]);
    assert_eq!(
        shown(resolver.addresses("half.test").await.unwrap()),
        ["192.0.2.2"]
    );
    let none = resolver.addresses("no.test").await.unwrap_err();
    assert_eq!(none.kind(), io::ErrorKind::NotFound);
}
