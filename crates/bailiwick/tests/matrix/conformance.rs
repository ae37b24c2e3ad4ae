//! What a program sends by HTTP/2 is read as RFC 9113 and RFC 7541 say: h2spec, a tool of its own, tries
//! it from inside, through TLS that the gate looks into.

use crate::origin::Origin;
use crate::support::{Authority, Sandbox, Scratch};
use std::ffi::OsString;
use std::time::Duration;

/// The tool, where the environment says that it is there (`scripts/h2spec/get`).
pub(crate) fn tool() -> Option<OsString> {
    std::env::var_os("H2SPEC").filter(|path| !path.is_empty())
}

/// Frames larger than the gate takes begin at 64 KiB, not at the tool's 16; a shorter path is one that
/// the tool itself cannot cut into frames.
const SCRIPT: &str = "./h2spec -h a.test -p 443 -t -k -o 10 --max-header-length 16000 \
    -P /status/200/that/is/long/enough/to/be/cut";

pub(crate) fn the_gate_reads_http2_as_it_is_specified() {
    let program = std::fs::read(tool().expect("H2SPEC")).unwrap();
    let scratch = Scratch::new();
    let authority = Authority::new(&scratch, &["a.test"]);
    let origin = Origin::start(&authority, &scratch.root());
    let outcome = Sandbox::new()
        .within(Duration::from_secs(300))
        .policy(&format!(
            "extends = [\"default\"]\n[network]\ninspect = \"always\"\nroots = [{:?}]\n\
             [network.hosts]\n\"a.test\" = \"127.0.0.1:{}\"\n",
            authority.certificate, origin.port
        ))
        .program("h2spec", program)
        .run(SCRIPT);
    outcome
        .success()
        .stdout_has("145 tests, 145 passed, 0 skipped, 0 failed");
}
