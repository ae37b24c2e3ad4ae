//! `bailiwick doctor --tls`: whether the programs of this machine trust, in a sandbox, whom the gate
//! has them trust.
//!
//! Decision: by doing. Each program that is there asks a server of this process for something, in a
//! sandbox whose TLS is looked into, and what counts is whether the request arrived.

use super::server::Server;
use crate::Done;
use crate::output;
use bailiwick_event::Failure;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The name that every program asks for.
const NAME: &str = "tls.bailiwick.test";
/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program, how it is known to be there, and what it does; `{url}` stands for where it asks, below a
/// folder of its own name.
struct Tool {
    name: &'static str,
    there: &'static str,
    script: &'static str,
}

const TOOLS: [Tool; 16] = [
    Tool {
        name: "curl",
        there: "command -v curl",
        script: "curl -sS -m 20 {url}",
    },
    Tool {
        name: "wget",
        there: "command -v wget",
        script: "wget -q -O- -T 20 -t 1 {url}",
    },
    Tool {
        name: "git",
        there: "command -v git",
        script: "GIT_TERMINAL_PROMPT=0 git ls-remote {url}",
    },
    Tool {
        name: "openssl",
        there: "command -v openssl",
        script: "printf 'GET /openssl HTTP/1.0\\r\\nHost: tls.bailiwick.test\\r\\n\\r\\n' | timeout 20 openssl s_client \
                 -quiet -verify_return_error -proxy 127.0.0.1:14829 -connect tls.bailiwick.test:443 \
                 -servername tls.bailiwick.test",
    },
    Tool {
        name: "python3",
        there: "command -v python3",
        script: "python3 -c 'import urllib.request as u; u.urlopen(\"{url}\", timeout=20).read()'",
    },
    Tool {
        name: "python3-requests",
        there: "python3 -c 'import requests'",
        script: "python3 -c 'import requests; requests.get(\"{url}\", timeout=20)'",
    },
    Tool {
        name: "python3-httpx",
        there: "python3 -c 'import httpx'",
        script: "python3 -c 'import httpx; httpx.get(\"{url}\", timeout=20)'",
    },
    Tool {
        name: "pip",
        there: "python3 -m pip --version",
        script: "python3 -m pip --disable-pip-version-check --no-cache-dir --retries 0 --timeout 20 \
                 download --no-deps --index-url {url}/ bailiwick-doctor",
    },
    Tool {
        name: "node",
        there: "command -v node",
        script: "node -e 'require(\"https\").get(\"{url}\", r => r.resume()).on(\"error\", e => { throw e })'",
    },
    Tool {
        name: "npm",
        there: "command -v npm",
        script: "npm --cache ./npm-cache --fetch-retries 0 ping --registry {url}/",
    },
    Tool {
        name: "go",
        there: "command -v go",
        script: "GOPATH=$PWD/go GOCACHE=$PWD/gocache GOFLAGS=-mod=mod GOPROXY={url} GONOSUMDB='*' \
                 go list -m example.test/doctor@latest",
    },
    Tool {
        name: "java",
        there: "command -v java && command -v javac",
        script: "printf '%s' 'import java.net.*; public class T { public static void main(String[] a) \
                 throws Exception { new URL(\"{url}\").openStream().read(); } }' > T.java && java T.java",
    },
    Tool {
        name: "ruby",
        there: "command -v ruby",
        script: "ruby -ropen-uri -e 'URI.open(\"{url}\").read'",
    },
    Tool {
        name: "cargo",
        there: "cargo --version",
        script: "CARGO_HOME=$PWD/cargo CARGO_NET_RETRY=0 CARGO_REGISTRIES_DOCTOR_INDEX=sparse+{url}/ \
                 cargo search --registry doctor x",
    },
    Tool {
        name: "apt",
        there: "test -x /usr/lib/apt/apt-helper",
        script: "/usr/lib/apt/apt-helper -o Acquire::Retries=0 download-file {url} out",
    },
    Tool {
        name: "php",
        there: "command -v php",
        script: "php -r 'file_get_contents(\"{url}\");'",
    },
];

/// Tries every program that is there.
pub(crate) fn tls() -> Done {
    let folder = tempfile::Builder::new()
        .prefix("bailiwick-doctor-")
        .tempdir();
    let folder = folder.map_err(|e| Failure::fault(format!("no temporary folder: {e}")))?;
    let (server, authority) = Server::tls(folder.path(), NAME, Box::new(|_| None))?;
    let policy = folder.path().join("policy.toml");
    let roots = folder.path().join("roots.pem");
    let text = format!(
        "extends = [\"default\"]\n[network]\ninspect = \"always\"\nroots = [{:?}]\n\
         [network.hosts]\n\"{NAME}\" = \"127.0.0.1:{}\"\n",
        roots.display().to_string(),
        server.port,
    );
    let written = std::fs::write(&roots, authority)
        .and_then(|()| std::fs::write(&policy, text))
        .and_then(|()| std::fs::create_dir(folder.path().join("workspace")));
    written.map_err(|e| Failure::fault(format!("{}: {e}", folder.path().display())))?;
    let mut failed = false;
    for tool in TOOLS {
        let word = match is_there(&tool) {
            false => "not here".to_owned(),
            true => match run(&tool, folder.path(), &policy) {
                _ if server.was_asked_by(tool.name) => "works".to_owned(),
                said => {
                    failed = true;
                    format!("DOES NOT TRUST the authority: {said}")
                }
            },
        };
        output::print(&format!("{:<18} {word}\n", tool.name))?;
    }
    if failed {
        output::print(
            "a program that does not trust it cannot reach machines whose TLS is looked into; \
             \"never\" under [network.inspect] leaves its machines alone\n",
        )?;
    }
    Ok(u8::from(failed))
}

fn is_there(tool: &Tool) -> bool {
    let mut shell = Command::new("sh");
    shell.args(["-c", tool.there]);
    shell
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    shell.status().is_ok_and(|status| status.success())
}

/// Runs a program in a sandbox; gives the last line that it said.
fn run(tool: &Tool, folder: &Path, policy: &Path) -> String {
    let url = format!("https://{NAME}/{}", tool.name);
    let script = tool.script.replace("{url}", &url);
    let limit = format!("{}s", PATIENCE.as_secs());
    let done = Command::new("/proc/self/exe")
        .args(["run", "--cold", "--workspace"])
        .arg(folder.join("workspace"))
        .arg("--policy")
        .arg(policy)
        .args(["--", "timeout", &limit, "sh", "-c", &script])
        .current_dir(folder.join("workspace"))
        // Its sessions are nobody's, and the user's own policy is not what is tried.
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .stdin(Stdio::null())
        .output();
    match done {
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            let last = said.lines().rfind(|line| !line.trim().is_empty());
            bailiwick_event::Text::from(last.unwrap_or("it said nothing")).to_string()
        }
        Err(error) => error.to_string(),
    }
}
