//! A server that reads HTTP/1.1 strictly, writes down what it read, and answers with whatever bytes a
//! test gives it.

use super::{Authority, Backend, Program, Sandbox, Scratch, wait};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::path::PathBuf;

/// A running server, by HTTP and HTTPS; it ends with this value.
pub(crate) struct RawOrigin {
    _program: Program,
    _scratch: Scratch,
    authority: Authority,
    pub(crate) plain: u16,
    pub(crate) secure: u16,
    log: PathBuf,
}

impl RawOrigin {
    /// Serves these names; it may be asked for `/answer/NAME`, which gets the bytes of that name.
    #[track_caller]
    pub(crate) fn start(names: &[&str], answers: &[(&str, &[u8])]) -> Self {
        let scratch = Scratch::new();
        let authority = Authority::new(&scratch, names);
        let log = scratch.write("requests.log", "");
        scratch.write("answers/none", "");
        for (name, bytes) in answers {
            scratch.write(format!("answers/{name}"), bytes);
        }
        let (program, [plain, secure]) = Program::start(
            "python3",
            &scratch,
            ("raw_origin.py", include_str!("raw_origin.py")),
            [
                &scratch.root().join("answers"),
                &authority.leaf,
                &authority.key,
                &log,
            ],
        );
        Self {
            _program: program,
            _scratch: scratch,
            authority,
            plain,
            secure,
            log,
        }
    }

    /// A sandbox whose gate trusts the server; `hosts` is the text of `[network.hosts]`, `rest` what
    /// stands behind it.
    pub(crate) fn sandbox(&self, on: Backend, hosts: &str, rest: &str) -> Sandbox {
        let roots = &self.authority.certificate;
        Sandbox::on(on).policy(&format!(
            "extends = [\"default\"]\n[network]\ninspect = \"always\"\nroots = [{roots:?}]\n\
             [network.hosts]\n{hosts}\n{rest}"
        ))
    }

    /// Waits until every connection has ended, so that all that was sent on one is written down.
    #[track_caller]
    pub(crate) fn has_heard_everything(&self) {
        let alone = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.plain)).unwrap();
            let ask = b"GET /settled HTTP/1.1\r\nHost: origin\r\n\r\n";
            stream.write_all(ask).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer.ends_with("\r\n\r\n1\n")
        };
        wait::until("nobody else is connected to the server", alone);
    }

    /// The requests since the start (`GET /path`), and what was wrong with them (`BAD …`).
    pub(crate) fn requests(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}
