//! A machine's own system is installed into, as root, and nothing of it reaches the host.

use crate::client::Client;
use crate::support::{Backend, Shared};
use std::path::Path;

pub(crate) const SHARED: &[Shared] = &[Shared {
    name: "apt_updates_and_installs_what_is_gone_with_the_machine",
    test: apt_updates_and_installs_what_is_gone_with_the_machine,
    gap: None,
}];

const APT: Client = Client {
    kind: "apt",
    program: "apt-get",
    hosts: &["apt.test"],
    secure: false,
    files: &[(
        "sources.list",
        "deb [trusted=yes] http://apt.test/debian ./\n",
    )],
    environment: &[("DEBIAN_FRONTEND", "noninteractive")],
    trust: &[],
    script: "rm -f /etc/apt/sources.list.d/*; cp sources.list /etc/apt/sources.list; \
             apt-get -q --error-on=any update && apt-get -q install -y hello-apt >&2 \
             && cat /usr/share/hello-apt/hello",
    artefacts: &[],
};

fn apt_updates_and_installs_what_is_gone_with_the_machine(_: Backend) {
    let said = APT.works_in_a_machine();
    assert!(said.ends_with("hello\n"), "{said}");
    assert!(!Path::new("/usr/share/hello-apt").exists());
}
