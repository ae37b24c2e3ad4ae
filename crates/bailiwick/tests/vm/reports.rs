//! What only a machine's own kernel knows reaches the record as what it is: a report.

use crate::network::Host;
use crate::support::{Backend, Sandbox, Shared};
use bailiwick_event::Act;

pub(crate) const SHARED: &[Shared] = &[Shared {
    name: "the_program_of_a_connection_is_in_the_record",
    test: the_program_of_a_connection_is_in_the_record,
    gap: None,
}];

fn the_program_of_a_connection_is_in_the_record(on: Backend) {
    let host = Host::start();
    let policy = format!(
        "extends = [\"default\"]\n[network.hosts]\n\"good.test\" = \"127.0.0.1:{}\"\n",
        host.port
    );
    // A copy under a name of its own, which goes on until it was looked for.
    let script = "cp /bin/bash own-name; exec ./own-name -c 'exec 3<>/dev/tcp/good.test/80; echo $$; \
                  printf \"GET / HTTP/1.1\\r\\nHost: good.test\\r\\n\\r\\n\" >&3; cat <&3; until test -e seen; do sleep 0.1; done'";
    let outcome = Sandbox::on(on)
        .policy(&policy)
        .run_until_recorded(script, "\"type\":\"caller\"");
    let said = outcome.success().stdout();
    let own: u32 = said.lines().next().unwrap().parse().unwrap();
    let callers: Vec<_> = outcome
        .events()
        .into_iter()
        .filter_map(|event| match event.act {
            Act::Caller {
                pid,
                program,
                host,
                port,
                ..
            } => Some((pid, program.to_string(), host.to_string(), port)),
            _ => None,
        })
        .collect();
    let expected = (own, "own-name".to_owned(), "good.test".to_owned(), 80);
    assert_eq!(callers, [expected], "{said}");
}
