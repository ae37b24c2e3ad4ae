//! Why a path or a host is as it is: the same order of rules that the enforcers follow, with the
//! line that decided. An explanation that is computed in another way than the decision is a lie
//! waiting to happen; hosts ask [`network::decide_host`] itself.

use crate::{
    Effective, HostMatcher, HostNames, HostProgram, Inspect, PathEntry, PathPattern, ProtectAbsent,
    control_name::ends, host_programs, inspection, network, paths, unseen,
};
use bailiwick_event::fields::EventType;
use bailiwick_event::{Host, HostPattern, Origin, PatternHost, Ports, RuleRef, Text};
use bailiwick_rules::Rule;
use std::fmt;
use std::path::Path;

/// What a sandbox can do with a path or a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The path does not exist inside.
    Hidden,
    /// Readable and executable.
    Read,
    /// Readable and writable.
    Write,
    /// Readable and writable, in a folder of the product's own.
    Private,
    /// Readable and writable, as a copy of the product's own.
    Copy,
    /// Explicitly taken away.
    Denied,
    /// Readable, never writable.
    Protected,
    /// The host can be reached.
    Reachable,
    /// The host cannot be reached.
    Refused,
}

impl Access {
    /// The word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Read => "read",
            Self::Write => "write",
            Self::Private => "private",
            Self::Copy => "copy",
            Self::Denied => "denied",
            Self::Protected => "protected",
            Self::Reachable => "reachable",
            Self::Refused => "refused",
        }
    }
}

/// What a sandbox can do with something, and which line says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What was asked about, safe to show.
    pub subject: String,
    /// What can be done with it.
    pub access: Access,
    /// The rule that decided.
    pub rule: RuleRef,
    /// What else is worth knowing, such as a remedy; may be empty.
    pub note: String,
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {} by {}",
            self.subject,
            self.access.name(),
            self.rule
        )?;
        if !self.note.is_empty() {
            write!(f, "\n  {}", self.note)?;
        }
        Ok(())
    }
}

/// The entry that covers a path most closely.
fn closest<'a>(entries: &'a [PathEntry], path: &Path) -> Option<(usize, &'a PathEntry)> {
    let mut best: Option<(usize, &PathEntry)> = None;
    for entry in entries {
        if let Some(depth) = entry.pattern.covers(path)
            && best.is_none_or(|(b, _)| depth > b)
        {
            best = Some((depth, entry));
        }
    }
    best
}

/// What the rules say about an absolute path, links aside.
pub(crate) fn decide_path(effective: &Effective, path: &Path) -> (Access, RuleRef) {
    let files = &effective.filesystem;
    let rule = |id: &str, origin: &Origin| RuleRef {
        id: id.to_owned(),
        origin: origin.clone(),
    };
    if let Some((_, entry)) = closest(&files.deny, path) {
        return (Access::Denied, rule("filesystem.deny", &entry.origin));
    }
    let mut granted: Option<(usize, Access, &PathEntry)> = None;
    for (access, list) in [
        (Access::Read, &files.read),
        (Access::Write, &files.write),
        (Access::Private, &files.private),
        (Access::Copy, &files.copy),
    ] {
        if let Some((depth, entry)) = closest(list, path)
            && granted.is_none_or(|(best, ..)| depth > best)
        {
            granted = Some((depth, access, entry));
        }
    }
    let Some((_, access, entry)) = granted else {
        return (
            Access::Hidden,
            rule("filesystem.default", &Origin::built_in()),
        );
    };
    if access != Access::Read
        && let Some(entry) = protects(effective, &entry.pattern, path)
    {
        return (Access::Protected, rule("filesystem.protect", &entry.origin));
    }
    if access == Access::Write
        && let Some(row) = obeyed(effective, &entry.pattern, path)
    {
        return (Access::Protected, row.rule());
    }
    (
        access,
        rule(&format!("filesystem.{}", access.name()), &entry.origin),
    )
}

/// The entry that protects a path below what may be written.
fn protects<'a>(
    policy: &'a Effective,
    granted: &PathPattern,
    path: &Path,
) -> Option<&'a PathEntry> {
    let protect = &policy.filesystem.protect;
    let in_every_folder = |entry: &&PathEntry| {
        let Some(name) = entry.control_name(&policy.workspace) else {
            return false;
        };
        let mut roots = [policy.workspace.as_path(), root_of(granted)].into_iter();
        roots.any(|root| {
            path.strip_prefix(root)
                .is_ok_and(|below| !ends(below, &name).is_empty())
        })
    };
    let own = closest(protect, path).map(|(_, entry)| entry);
    own.or_else(|| protect.iter().find(in_every_folder))
}

fn root_of(pattern: &PathPattern) -> &Path {
    match pattern {
        PathPattern::Path(root) | PathPattern::Glob { root, .. } => root,
    }
}

/// The row of the table of host programs that protects a path below what may be written.
fn obeyed(policy: &Effective, granted: &PathPattern, path: &Path) -> Option<&'static HostProgram> {
    let names = HostNames::of(&policy.filesystem);
    let found = HostMatcher::new(&names).find(path.strip_prefix(root_of(granted)).ok()?);
    let row = found.filter(|found| found.protected)?.row;
    host_programs().get(row)
}

impl Effective {
    /// What the sandbox can do with a path; a relative one begins at the workspace, `~` is the
    /// home directory.
    #[must_use]
    pub fn explain_path(&self, path: &Path) -> Explanation {
        let full = match path.strip_prefix("~") {
            Ok(rest) => self.home.join(rest),
            Err(_) => self.workspace.join(path),
        };
        let full = paths::normalise(&full);
        let (access, rule) = decide_path(self, &full);
        let mut note = match access {
            Access::Hidden => own_folder(&full).unwrap_or_else(|| {
                "no entry of [filesystem] covers it; add it to `read` or `write` to make it visible".to_owned()
            }),
            Access::Private => "what is there inside is kept for this workspace; your own files at that path are not visible".to_owned(),
            Access::Copy => "a copy that is kept for this workspace; what is written there is not written to your file".to_owned(),
            Access::Protected if rule.id == HostProgram::KEY => {
                let row = host_programs().iter().find(|row| row.rule() == rule);
                row.map_or_else(String::new, |row| {
                    format!(
                        "{}; it cannot be made, changed or removed inside, unless `ordinary` under [filesystem] has \"{}\"",
                        row.said(),
                        row.pattern
                    )
                })
            }
            Access::Protected if full.symlink_metadata().is_err() => {
                match self.filesystem.protect_absent() {
                    ProtectAbsent::Enforce => "it does not exist, and cannot be made inside",
                    ProtectAbsent::Sweep => "it does not exist; what is made there is taken away at the end",
                    ProtectAbsent::Off => "it does not exist: making it is not stopped (protect_absent = \"off\")",
                }
                .to_owned()
            }
            Access::Protected => "readable, but not writable, whatever `write` says".to_owned(),
            _ => String::new(),
        };
        if let Ok(real) = full.canonicalize()
            && real != full
        {
            let (there, _) = decide_path(self, &real);
            if there != access {
                let lead = if note.is_empty() { "" } else { "; " };
                note.push_str(&format!(
                    "{lead}it leads to {}, which is {}",
                    Text::from(real.as_os_str()),
                    there.name()
                ));
            }
        }
        Explanation {
            subject: Text::from(full.as_os_str()).to_string(),
            access,
            rule,
            note,
        }
    }

    /// Whether the sandbox can reach `host` or `host:port`; without a port 443 and 80 are asked, and
    /// the answer names them.
    ///
    /// # Errors
    /// Why the text names no host.
    pub fn explain_host(&self, text: &str) -> Result<Explanation, String> {
        let shown = Text::from(text);
        let wrong = |why: String| {
            format!(
                "\"{shown}\" names no host: {}; write it like \"api.example.com:443\"",
                Text::from(why)
            )
        };
        let pattern: HostPattern = text.parse().map_err(wrong)?;
        let host: Host = match pattern.host {
            PatternHost::Exact(host) => host,
            _ => {
                return Err(format!(
                    "\"{shown}\" is a pattern; ask about one host, like \"api.example.com:443\""
                ));
            }
        };
        let at = |port| (port, network::explain_host(&self.network, &host, port));
        let (asked, other) = match pattern.ports {
            Ports::One(port) => (at(port), None),
            Ports::Unsaid | Ports::All => match (at(443), at(80)) {
                (secure, plain) if !secure.1.is_allow() && plain.1.is_allow() => {
                    (plain, Some(secure))
                }
                (secure, plain) => (secure, Some(plain)),
            },
        };
        let (port, decision) = asked;
        let mut note = match (decision.is_allow(), decision.address) {
            (false, _) => format!(
                "{}; to allow it: {}",
                decision.decision.reason, decision.decision.remedy
            ),
            (true, Some(address)) => format!("its address is {address}"),
            (true, None) => String::new(),
        };
        if decision.is_allow() {
            let lead = if note.is_empty() { "" } else { "; " };
            note.push_str(&format!(
                "{lead}{}",
                self.within(&host, port, decision.http_only)
            ));
        }
        let mut subject = shown.to_string();
        if let Some((other, decided)) = other {
            subject = HostPattern {
                host: PatternHost::Exact(host),
                ports: Ports::One(port),
            }
            .to_string();
            let lead = if note.is_empty() { "" } else { "; " };
            let is = match decided.is_allow() {
                true => "reachable",
                false => "refused",
            };
            note.push_str(&format!(
                "{lead}asked about port {port}; port {other} is {is}, others can be asked as HOST:PORT"
            ));
        }
        let access = if decision.is_allow() {
            Access::Reachable
        } else {
            Access::Refused
        };
        Ok(Explanation {
            subject,
            access,
            rule: decision.decision.rule,
            note,
        })
    }
}

impl Effective {
    /// What is said about the requests to a machine that may be reached.
    fn within(&self, host: &Host, port: u16, http_only: bool) -> String {
        let tls = self.why_inspected(host, port, http_only);
        match (http_only, tls) {
            (true, Ok(_)) => "only HTTP requests that a [[network.http]] rule covers; its TLS is \
                              looked into"
                .to_owned(),
            (true, Err(why)) => format!(
                "only HTTP requests in the clear that a [[network.http]] rule covers; its TLS is \
                 refused, since it is not looked into: {why}"
            ),
            (false, Ok(why)) => format!("its TLS is looked into: {why}"),
            (false, Err(why)) => format!("its TLS is not looked into: {why}"),
        }
    }

    /// Why the TLS of a machine is looked into, or is not, as the run's guard decides it.
    fn why_inspected(&self, host: &Host, port: u16, http_only: bool) -> Result<String, String> {
        if let Some(entry) = inspection::entry(&self.network, host, port) {
            let says = || format!("`inspect` at {}", entry.origin);
            match entry.value.inspect {
                Inspect::Always => return Ok(says()),
                Inspect::Never => return Err(says()),
                Inspect::Auto => {}
            }
        }
        if http_only {
            return Ok("[[network.http]] covers it".to_owned());
        }
        let mut secrets = self.secrets.iter();
        let meant = |pattern: &HostPattern| pattern.means(host, port, &[443]);
        if let Some(secret) = secrets.find(|s| s.value.hosts.iter().any(meant)) {
            return Ok(format!("a secret is for it, at {}", secret.origin));
        }
        let mut kept = self.network.keep_bodies.iter();
        if let Some(kept) = kept.find(|kept| kept.value.means(host, port, &[80, 443])) {
            return Ok(format!("`keep_bodies` at {}", kept.origin));
        }
        let asks = |rule: &&Rule| rule.enabled && unseen::asks(rule, host, port);
        if let Some(rule) = self.rules.iter().find(asks) {
            return Ok(format!("the rule \"{}\" at {}", rule.id, rule.origin));
        }
        let models = [EventType::ModelRequest, EventType::ModelResponse];
        let of_models = |rule: &&Rule| rule.enabled && models.contains(&rule.on);
        Err(match self.rules.iter().find(of_models) {
            Some(rule) => format!(
                "no rule, secret or `keep_bodies` needs it, unless it is a known provider of \
                 language models, for the rule \"{}\" at {}",
                rule.id, rule.origin
            ),
            None => "no rule, secret or `keep_bodies` needs it".to_owned(),
        })
    }
}

/// What is said about the folders that every sandbox has of its own.
fn own_folder(path: &Path) -> Option<String> {
    let own = ["/tmp", "/proc", "/dev", "/var/tmp", "/run"];
    let found = own.iter().find(|folder| path.starts_with(folder))?;
    Some(format!(
        "the sandbox may have a {found} of its own; this machine's is not visible in it"
    ))
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
