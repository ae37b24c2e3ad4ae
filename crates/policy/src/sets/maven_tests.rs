use super::*;
use crate::fixture::Machine;
use crate::sets::trial::untrusted;

#[test]
fn mirrors_and_repositories_are_the_set_and_comments_are_not() {
    let settings = "<settings><!-- <mirror><url>https://no.test/</url></mirror> --><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf><url>https://mirror.test/maven</url></mirror>\
        <mirror><mirrorOf>external:http:*</mirrorOf><url>http://0.0.0.0/</url><blocked>true</blocked></mirror></mirrors>\
        <repository><url>https://repo.test:8443/</url></repository></settings>";
    let machine = Machine::new().file("~/.m2/settings.xml", settings);
    let (hosts, notices) = untrusted(&machine, find);
    assert_eq!(hosts, ["mirror.test:443", "repo.test:8443"]);
    assert!(notices.is_empty(), "{notices:?}");
}
