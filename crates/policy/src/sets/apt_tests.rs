use super::*;
use crate::fixture::Machine;
use crate::sets::trial::untrusted;

#[test]
fn archives_of_both_formats_are_the_set_and_what_is_switched_off_is_not() {
    let machine = Machine::new()
        .file("~/apt/sources.list", "# deb http://no.test/ x main\ndeb http://one.test/debian stable main\ndeb [arch=amd64 signed-by=/x] https://two.test:8443/d stable main\ndeb-src https://three.test/ x main\ndeb cdrom:[x]/ x main\n")
        .file("~/apt/sources.list.d/a.sources", "Types: deb\n# URIs: http://no.test\nURIs: http://four.test/debian\n https://five.test/\nSuites: x\n\nTypes: deb\nEnabled: no\nURIs: http://no.test/\n")
        .file("~/apt/sources.list.d/b.list.disabled", "deb http://no.test/ x main\n");
    let root = machine.path("~/apt");
    assert_eq!(
        untrusted(&machine, |search| find_in(search, &root)).0,
        [
            "one.test:80",
            "two.test:8443",
            "three.test:443",
            "four.test:80",
            "five.test:443"
        ]
    );
}
