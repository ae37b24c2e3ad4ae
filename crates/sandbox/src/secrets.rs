//! Secrets are read on the host when a run starts; what stands for them is all that goes inside.

use bailiwick_event::{Failure, Ports, Text};
use bailiwick_gate::Secret;
use bailiwick_policy::{Effective, SecretRule, SecretSource, Sourced};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a command may take to tell a secret; a person may have to unlock something.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long its output may stay open when it has ended.
const CLOSING: Duration = Duration::from_secs(2);
/// Bytes of a file or of what a command prints.
const LARGEST: u64 = 64 * 1024;

/// The secrets of a run with this caller's environment.
///
/// # Errors
/// A [`Failure`] that names the entry whose secret cannot be had, and never the secret.
pub(crate) fn of(
    policy: &Effective,
    caller: &BTreeMap<OsString, OsString>,
) -> Result<Vec<Secret>, Failure> {
    let one = |entry: &Sourced<SecretRule>| {
        let value = read(&entry.value.from, caller, &policy.home);
        let made = value.and_then(|value| Secret::new(entry, value));
        made.map_err(|why| {
            let name = &entry.value.name;
            Failure::usage(format!(
                "not started: {}: the secret {name} cannot be used: {why}",
                entry.origin
            ))
        })
    };
    policy.secrets.iter().map(one).collect()
}

fn read(
    from: &SecretSource,
    caller: &BTreeMap<OsString, OsString>,
    home: &Path,
) -> Result<String, String> {
    let text = match from {
        SecretSource::Env(name) => {
            let value = caller.get(OsStr::new(name));
            let value = value.ok_or(format!("the variable {name} is not set; export it"))?;
            value
                .clone()
                .into_string()
                .map_err(|_| "it is no text".to_owned())?
        }
        SecretSource::File(path) => {
            let shown = Text::from(path.as_os_str());
            let file = bailiwick_policy::read_regular(path, LARGEST);
            let bytes = file.map_err(|error| format!("{shown} cannot be read: {error}"))?;
            String::from_utf8(bytes).map_err(|_| format!("{shown} is no text"))?
        }
        SecretSource::Command(words) => print(words, caller, home)?,
    };
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// What a command prints. It runs on the host, as the user, with the user's own environment.
fn print(
    words: &[String],
    caller: &BTreeMap<OsString, OsString>,
    home: &Path,
) -> Result<String, String> {
    let [program, arguments @ ..] = words else {
        return Err("there is no command".into());
    };
    let shown = Text::from(program.as_str());
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(home)
        .env_clear()
        .envs(caller)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{shown} cannot be run: {error}"))?;
    let mut out = child.stdout.take().ok_or("it has no output")?;
    let (tell, told) = mpsc::channel();
    // Whoever has inherited the output can keep it open for ever; this thread then waits alone.
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = out.by_ref().take(LARGEST).read_to_string(&mut text);
        let _ = tell.send(text);
    });
    let until = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(2)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{shown} took longer than a minute"));
            }
        }
    };
    match status.success() {
        true => told.recv_timeout(CLOSING).map_err(|_| {
            format!("{shown} has ended, and something that it started keeps its output open")
        }),
        false => Err(format!("{shown} failed ({status})")),
    }
}

/// The variables of a sandbox with these secrets: what stands for each, and how git logs in.
pub(crate) fn variables(secrets: &[Secret]) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = Vec::new();
    let mut git = Vec::new();
    for secret in secrets {
        all.push((secret.name().into(), secret.stand_in().into()));
        let Some(user) = &secret.rule().git_user else {
            continue;
        };
        for pattern in &secret.rule().hosts {
            let name = secret.name();
            let helper =
                format!("!f() {{ echo \"username={user}\"; echo \"password=${name}\"; }}; f");
            // Without a port it is shown within TLS alone.
            let schemes: &[&str] = match pattern.ports {
                Ports::Unsaid => &["https"],
                _ => &["https", "http"],
            };
            for scheme in schemes {
                git.push((
                    format!("credential.{scheme}://{pattern}.helper"),
                    helper.clone(),
                ));
            }
        }
    }
    if git.is_empty() {
        return all;
    }
    all.push(("GIT_CONFIG_COUNT".into(), git.len().to_string().into()));
    for (n, (key, value)) in git.into_iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{n}").into(), key.into()));
        all.push((format!("GIT_CONFIG_VALUE_{n}").into(), value.into()));
    }
    all
}
