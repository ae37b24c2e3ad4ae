//! Programs that people use: whether they reach a granted host over TLS, looked into by the gate or not, and can
//! install something through it.
//!
//! Decision: the host's servers have certificates of authorities that the image does not trust. Of the first one the
//! gate trusts the authority: whoever gets its page has got it through the gate, and trusts whom the gate has issued
//! for. The second one's TLS is left alone, and its authority is one that the policy names: as a company's is that
//! looks into TLS on the way.

use super::check::{Check, Outcome, said};
use super::world::{World, told};

const TRUST: &str = "the program does not use the machine's authorities: `bailiwick doctor --tls`, \
                     docs/network.md";

/// Lines of shell that get a page.
const CURL: &str = "curl -sS -m 60 URL";
const PYTHON: &str = "python3 -c 'import sys,urllib.request as r;\
                      print(r.urlopen(sys.argv[1],timeout=60).read().decode())' URL";
// Node gives up an address after a quarter of a second, which a busy machine may take.
const NODE: &str = "node -e 'require(\"net\").setDefaultAutoSelectFamilyAttemptTimeout?.(60000);\
                    fetch(process.argv[1]).then(r=>r.text()).then(t=>console.log(t))\
                    .catch(e=>{console.error(String(e.cause||e));process.exit(1)})' URL";

pub(super) const CHECKS: &[Check] = &[
    over_tls(
        "https.curl",
        "curl gets a page over TLS that the gate looks into",
        |world| page(world, "https", CURL),
    ),
    over_tls(
        "https.python",
        "python gets a page over TLS that the gate looks into",
        |world| page(world, "https", PYTHON),
    ),
    over_tls(
        "https.node",
        "node gets a page over TLS that the gate looks into",
        |world| page(world, "https", NODE),
    ),
    over_tls(
        "https.git",
        "git lists a repository over TLS that the gate looks into",
        |world| git(world, "https"),
    ),
    over_tls(
        "direct.curl",
        "curl gets a page over TLS by an authority that the policy names",
        |world| page(world, "direct", CURL),
    ),
    over_tls(
        "direct.python",
        "python gets a page over TLS by an authority that the policy names",
        |world| page(world, "direct", PYTHON),
    ),
    over_tls(
        "direct.node",
        "node gets a page over TLS by an authority that the policy names",
        |world| page(world, "direct", NODE),
    ),
    over_tls(
        "direct.git",
        "git lists a repository over TLS by an authority that the policy names",
        |world| git(world, "direct"),
    ),
    Check {
        name: "packages.pip",
        expected: "pip installs a package through the gate into /opt/venv, and it can be imported",
        remedy: "look at what the gate refused: `bailiwick log --denied`",
        probe: pip,
    },
];

/// A check of a program's TLS.
const fn over_tls(
    name: &'static str,
    expected: &'static str,
    probe: fn(&dyn World) -> Outcome,
) -> Check {
    Check {
        name,
        expected,
        remedy: TRUST,
        probe,
    }
}

fn page(world: &dyn World, server: &str, script: &str) -> Outcome {
    let (url, page) = (told(world, server)?, told(world, "page")?);
    let ran = world
        .shell(&script.replace("URL", &format!("{url}/page")))
        .map_err(|e| format!("sh: {}", said(&e)))?;
    match ran.code == 0 && ran.said.trim() == page {
        true => Ok("the page has come".to_owned()),
        false => Err(format!("exit code {}: {}", ran.code, ran.last())),
    }
}

fn git(world: &dyn World, server: &str) -> Outcome {
    let url = told(world, server)?;
    let script = format!("GIT_TERMINAL_PROMPT=0 git ls-remote {url}/repository.git");
    let ran = world
        .shell(&script)
        .map_err(|e| format!("sh: {}", said(&e)))?;
    let head = ran
        .said
        .lines()
        .find(|line| line.ends_with("\trefs/heads/main"));
    match (ran.code, head) {
        (0, Some(head)) => Ok(head.replace('\t', " ")),
        _ => Err(format!("exit code {}: {}", ran.code, ran.last())),
    }
}

fn pip(world: &dyn World) -> Outcome {
    let (url, page) = (told(world, "https")?, told(world, "page")?);
    let script = format!(
        "/opt/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir \
         --no-input --retries 0 --index-url {url}/simple bailiwick-doctor && \
         /opt/venv/bin/python -c 'import bailiwick_doctor;print(bailiwick_doctor.PAGE)'"
    );
    let ran = world
        .shell(&script)
        .map_err(|e| format!("sh: {}", said(&e)))?;
    match ran.code == 0 && ran.said.trim() == page {
        true => Ok("installed and imported".to_owned()),
        false => Err(format!("exit code {}: {}", ran.code, ran.last())),
    }
}
