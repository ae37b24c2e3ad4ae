//! A server that reads HTTP/1.1 strictly, writes down what it read, and answers with whatever bytes a
//! test gives it.

use super::{Authority, Sandbox, Scratch};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A running server, by HTTP and HTTPS; it ends with this value.
pub(crate) struct RawOrigin {
    child: Child,
    scratch: Scratch,
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
        let mut child = Command::new("python3")
            .arg(scratch.write("raw_origin.py", include_str!("raw_origin.py")))
            .arg(scratch.root().join("answers"))
            .args([&authority.leaf, &authority.key, &log])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut ports = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut ports)
            .unwrap();
        let ports: Vec<u16> = ports.split_whitespace().flat_map(str::parse).collect();
        let [plain, secure] = ports[..] else {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the test's server did not start; its error is above");
        };
        Self {
            child,
            scratch,
            authority,
            plain,
            secure,
            log,
        }
    }

    /// A sandbox whose gate trusts the server; `hosts` is the text of `[network.hosts]`, `rest` what
    /// stands behind it.
    pub(crate) fn sandbox(&self, hosts: &str, rest: &str) -> Sandbox {
        let roots = &self.authority.certificate;
        Sandbox::new().policy(&format!(
            "extends = [\"default\"]\n[network]\ninspect = \"always\"\nroots = [{roots:?}]\n\
             [network.hosts]\n{hosts}\n{rest}"
        ))
    }

    /// The requests since the start (`GET /path`), and what was wrong with them (`BAD …`).
    pub(crate) fn requests(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.log).unwrap();
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for RawOrigin {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = &self.scratch;
    }
}
