//! Secrets that programs use without having them. Inside a sandbox a text of the same shape stands for
//! each; on the way to a machine that may have it the gate puts the secret in its place, and in what
//! comes back from there the text in the place of the secret.
//!
//! Decision: what is decided, recorded and shown to rules holds what stands for a secret, never the
//! secret. Both are of one length, so that a message's length is what it was.

mod flow;
pub(crate) mod masks;
mod replace;
mod requests;
mod spelled;
mod units;

pub(crate) use flow::{Inject, Mask, Refuse};
pub(crate) use replace::Replacer;
pub(crate) use requests::{bound, inject, may_carry, misplaced};

use bailiwick_event::{Decision, Host, Origin, Ports, RuleRef};
use bailiwick_policy::{SecretPlace, SecretRule, Sourced};
use ring::rand::{SecureRandom as _, SystemRandom};
use std::fmt;

/// The fewest characters of a secret that can be told from other texts.
const SHORTEST: usize = 12;
/// The most.
const LONGEST: usize = 4096;
/// Of what stands for a secret, the fewest characters that are drawn.
const DRAWN: usize = 10;

/// A secret and what stands for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    rule: SecretRule,
    origin: Origin,
    stand_in: String,
    value: String,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secret").field(&self.rule.name).finish()
    }
}

impl Secret {
    /// A secret with this value, and what stands for it from now on.
    ///
    /// # Errors
    /// What is wrong with the value, without the value.
    pub fn new(entry: &Sourced<SecretRule>, value: String) -> Result<Self, String> {
        let rule = entry.value.clone();
        if value.len() < SHORTEST || value.len() > LONGEST {
            return Err(format!(
                "it has {} characters; {SHORTEST} to {LONGEST} can be kept apart from other texts",
                value.len()
            ));
        }
        if !value.bytes().all(|b| b.is_ascii_graphic()) {
            return Err(
                "it has a blank, a line end or another character that stands in no key".into(),
            );
        }
        if rule.places.contains(&SecretPlace::Body) && value.contains(['"', '\\']) {
            return Err(
                "it has a quote or a backslash, which a body would write in another way".into(),
            );
        }
        let stand_in = stand_in(&value)?;
        Ok(Self {
            rule,
            origin: entry.origin.clone(),
            stand_in,
            value,
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.rule.name
    }

    /// What stands for it inside.
    #[must_use]
    pub fn stand_in(&self) -> &str {
        &self.stand_in
    }

    /// The same secret, for which this stands: a session that goes on has it in its memory already.
    #[must_use]
    pub fn standing_in(self, stand_in: String) -> Self {
        Self { stand_in, ..self }
    }

    /// The entry of the policy.
    #[must_use]
    pub fn rule(&self) -> &SecretRule {
        &self.rule
    }

    /// Whether a machine may have it. Without a port in the entry that is so only within TLS.
    pub(crate) fn is_for(&self, host: &Host, port: u16, secure: bool) -> bool {
        self.rule.hosts.iter().any(|pattern| {
            let port_fits = match pattern.ports {
                Ports::Unsaid => secure && port == 443,
                Ports::One(one) => one == port,
                Ports::All => false,
            };
            port_fits && pattern.covers(host)
        })
    }

    /// The rule of its entry.
    pub(crate) fn reference(&self) -> RuleRef {
        RuleRef {
            id: format!("secrets.{}", self.rule.name),
            origin: self.origin.clone(),
        }
    }

    /// The refusal of a request that carries it to a machine that may not have it.
    pub(crate) fn refusal(&self, host: &Host) -> Decision {
        let name = &self.rule.name;
        if self.rule.hosts.iter().any(|pattern| pattern.covers(host)) {
            // One of its machines: the port is another, or the way, or the request names another.
            return Decision::deny(
                self.reference(),
                format!(
                    "what stands for the secret {name} was to be sent to \"{host}\" in a way that its hosts do not name"
                ),
                format!(
                    "use TLS at port 443, which alone counts for a host without a port; for plain HTTP write \"{host}:80\" among the hosts of {name} in {}",
                    self.origin
                ),
            );
        }
        Decision::deny(
            self.reference(),
            format!(
                "what stands for the secret {name} was to be sent to \"{host}\", which is not among its hosts"
            ),
            format!(
                "do not send it there; if that is meant, add the machine to the hosts of {name} in {}",
                self.origin
            ),
        )
    }

    fn may_stand_in(&self, place: SecretPlace) -> bool {
        self.rule.places.contains(&place)
    }
}

/// A text of the same shape: the beginning by which a kind of key is known stays, every other letter
/// and digit is drawn from its own kind.
fn stand_in(value: &str) -> Result<String, String> {
    let bytes = value.as_bytes();
    // `sk-ant-api03-`, `ghp_`, `xoxb-`: as far as a separator in the first third.
    let third = bytes.len() / 3;
    let separator = bytes[..third].iter().rposition(|b| b"-_.:".contains(b));
    let kept = separator.map_or(0, |at| at + 1);
    let is_hex = bytes[kept..]
        .iter()
        .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let random = SystemRandom::new();
    for _ in 0..8 {
        let mut drawn = 0;
        let mut text = value[..kept].to_owned();
        for byte in &bytes[kept..] {
            let kind: &[u8] = match byte {
                _ if is_hex => b"0123456789abcdef",
                b'a'..=b'z' => b"abcdefghijklmnopqrstuvwxyz",
                b'A'..=b'Z' => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
                b'0'..=b'9' => b"0123456789",
                other => {
                    text.push(char::from(*other));
                    continue;
                }
            };
            let mut four = [0; 4];
            random
                .fill(&mut four)
                .map_err(|_| "the system has no random numbers")?;
            text.push(char::from(
                kind[u32::from_ne_bytes(four) as usize % kind.len()],
            ));
            drawn += 1;
        }
        if drawn < DRAWN {
            return Err(format!(
                "it has fewer than {DRAWN} letters and digits that are its own"
            ));
        }
        if text != value {
            return Ok(text);
        }
    }
    Err("nothing can stand for it".into())
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
