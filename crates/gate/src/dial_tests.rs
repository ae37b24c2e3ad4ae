use super::*;
use crate::resolver::testing::{Server, name};
use crate::testing::{Rig, Script, echo};
use hickory_proto::rr::rdata::A;
use hickory_proto::rr::{RData, Record, RecordType};

/// A name server whose every name has this address.
async fn all_at(ip: Ipv4Addr) -> Server {
    Server::new(move |reply, _| {
        let question = reply.queries[0].clone();
        if question.query_type() == RecordType::A {
            let owner = name(&question.name().to_ascii());
            reply.add_answer(Record::from_rdata(owner, 60, RData::A(A(ip))));
        }
    })
    .await
}

fn to(host: &str, port: u16) -> Destination {
    Destination {
        host: Host::parse(host).unwrap(),
        address: None,
        port,
        secure: None,
        via: Via::Proxy,
    }
}

#[tokio::test]
async fn a_name_is_dialled_where_the_servers_of_the_policy_say() {
    let port = echo().await.port();
    let server = all_at(Ipv4Addr::LOCALHOST).await;
    let rig = Rig::new(Script::allowing().asking(server.address)).await;
    assert!(dial(rig.context.clone(), to("a.test", port)).await.is_ok());
    let mut asked = server.asked();
    asked.sort();
    assert_eq!(asked, ["a.test. A", "a.test. AAAA"]);
}

#[tokio::test]
async fn what_the_servers_say_is_decided_as_ever() {
    let port = echo().await.port();
    let server = all_at(Ipv4Addr::LOCALHOST).await;
    let script = Script::denying(|act| matches!(act, Act::Resolved { .. }));
    let rig = Rig::new(script.without_usable_addresses().asking(server.address)).await;
    let refused = dial(rig.context.clone(), to("a.test", port)).await;
    assert!(matches!(refused, Err(DialError::Refused(_))));
    let last = rig.script.acts().pop();
    let local = IpAddr::from(Ipv4Addr::LOCALHOST);
    assert!(matches!(last, Some(Act::Resolved { addresses, .. }) if addresses == [local]));
}

#[tokio::test]
async fn a_synthetic_address_is_no_address_of_the_hosts() {
    // As of `testing::names`.
    let server = all_at(Ipv4Addr::new(127, 18, 1, 0)).await;
    let script = Script::denying(|act| matches!(act, Act::Resolved { .. }));
    let rig = Rig::new(script.asking(server.address)).await;
    let refused = dial(rig.context.clone(), to("a.test", 80)).await;
    assert!(matches!(refused, Err(DialError::Refused(_))));
}

#[tokio::test]
async fn nobody_is_asked_where_this_machine_is() {
    let server = all_at(Ipv4Addr::new(192, 0, 2, 1)).await;
    let rig = Rig::new(Script::allowing().asking(server.address)).await;
    let mut own = to("api.localhost", echo().await.port());
    own.via = Via::Transparent;
    assert!(dial(rig.context.clone(), own).await.is_ok());
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn connections_to_servers_beyond_their_number_wait_and_are_told_why() {
    let server = all_at(Ipv4Addr::new(192, 0, 2, 1)).await;
    let rig = Rig::new(Script::allowing().asking(server.address)).await;
    let mut own = to("api.localhost", echo().await.port());
    own.via = Via::Transparent;
    let all = rig.context.dialled.available_permits();
    let places = Arc::clone(&rig.context.dialled).acquire_many_owned(u32::try_from(all).unwrap());
    let places = places.await.unwrap();
    tokio::time::pause();
    let refused = dial(rig.context.clone(), own.clone()).await;
    let Err(DialError::Failed { message, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(message.contains("descriptors"), "{message}");
    tokio::time::resume();
    drop(places);
    let connection = dial(rig.context.clone(), own).await.unwrap();
    assert_eq!(rig.context.dialled.available_permits(), all - 1);
    drop(connection);
    assert_eq!(rig.context.dialled.available_permits(), all);
}
