//! One text or number of a policy file to its typed value. Strict: what a person could have meant
//! in two ways is refused with the two spelled out, because a sandbox that guesses is none.

use crate::effective::Words;
use crate::entry::Value;
use crate::host_programs::{self, HostPrograms};
use crate::keys::{KEYS, KeyId, Kind};
use crate::paths;
use crate::quantity;
use crate::sets::SetName;
use crate::{
    Beyond, HostMapping, Inspect, InspectRule, LAYERS, MAX_HELD, MAX_KEPT, ProtectAbsent, Publish,
};
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_event::{Host, HostPattern, Text, closest};
use bailiwick_rules::pack::is_public_key;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use toml::de::DeValue;

/// What is wrong, and how to mend it.
pub(crate) type Why = (String, String);

fn why(message: impl Into<String>, help: impl Into<String>) -> Why {
    (message.into(), help.into())
}

/// Reads an element of a list.
pub(crate) fn text(kind: Kind, text: &str) -> Result<Value, Why> {
    let shown = Text::from(text);
    if text.is_empty() {
        return Err(why("this is empty", "write a value, or remove the entry"));
    }
    if text.chars().any(char::is_control) {
        return Err(why(
            format!("\"{shown}\" has a control character in it"),
            "remove the control character",
        ));
    }
    let as_is = || Value::Text(text.to_owned());
    match kind {
        Kind::Paths => paths::check(text)
            .map(|()| as_is())
            .map_err(|(m, h)| why(m, h)),
        Kind::Files if paths::is_pattern(text) => Err(why(
            format!("\"{shown}\" has a wildcard in it"),
            "write the path of one file",
        )),
        Kind::Files => paths::check(text)
            .map(|()| as_is())
            .map_err(|(m, h)| why(m, h)),
        Kind::Resolvers => resolver(text),
        Kind::Hosts { sets } => host(text, sets),
        Kind::Publish => publish(text).map(Value::Publish),
        Kind::Names => name(text).map(|()| as_is()),
        Kind::HostNames | Kind::OrdinaryNames => {
            let stays = match kind {
                Kind::OrdinaryNames => host_programs::stays(text),
                _ => None,
            };
            match host_programs::objection(text).or(stays) {
                None => Ok(as_is()),
                Some(help) => Err(why(
                    format!("\"{shown}\" is no name that can stand here"),
                    help,
                )),
            }
        }
        Kind::Methods => method(text).map(|()| as_is()),
        Kind::RequestPaths if text.starts_with(['/', '*']) => Ok(as_is()),
        Kind::RequestPaths => Err(why(
            format!("\"{shown}\" is no request path"),
            format!("a request path begins with a slash: \"/{shown}\""),
        )),
        Kind::Keys if KEYS.iter().any(|k| k.path == text) => Ok(as_is()),
        Kind::Keys => Err(why(
            format!("there is no key \"{shown}\" to lock"),
            match closest(text, KEYS.iter().map(|k| k.path)) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => "write a key with its table, like \"network.allow\"".to_owned(),
            },
        )),
        Kind::PublicKeys if is_public_key(text) => Ok(as_is()),
        Kind::PublicKeys => Err(why(
            format!("\"{shown}\" is no public key of minisign"),
            "write the line of the .pub file that begins with RW",
        )),
        Kind::Layers if LAYERS.contains(&text) => Ok(as_is()),
        Kind::Layers => Err(why(
            format!("there is no layer \"{shown}\""),
            match closest(text, LAYERS) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("the layers are {}", LAYERS.join(", ")),
            },
        )),
        Kind::Capabilities if KernelSource::of_grant(text).is_some() => Ok(as_is()),
        Kind::Capabilities => {
            let all = || KernelSource::granted().map(KernelSource::name);
            Err(why(
                format!("there is no capability \"{shown}\""),
                match closest(text, all()) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("there are {}", all().collect::<Vec<_>>().join(", ")),
                },
            ))
        }
        _ => Ok(as_is()),
    }
}

fn host(text: &str, sets: bool) -> Result<Value, Why> {
    let shown = Text::from(text);
    if let Some(name) = text.strip_prefix('@') {
        let all = || SetName::ALL.iter().map(|s| s.name());
        return match SetName::ALL.iter().find(|s| s.name() == name) {
            Some(_) if !sets => Err(why(
                format!("the set \"{shown}\" has no place here"),
                "sets stand only in [network] allow; write the hosts themselves",
            )),
            Some(set) => Ok(Value::Set(*set)),
            None => Err(why(
                format!("there is no set \"{shown}\""),
                match closest(name, all()) {
                    Some(near) => format!("did you mean \"@{near}\"?"),
                    None => format!(
                        "the sets are {}",
                        all()
                            .map(|s| format!("@{s}"))
                            .collect::<Vec<_>>()
                            .join(", ")
                    ),
                },
            )),
        };
    }
    text.parse::<HostPattern>().map(Value::Host).map_err(|e| {
        why(
            format!("\"{shown}\" names no host"),
            format!(
                "{}, like \"api.example.com\" or \"10.1.2.3:5432\"",
                Text::from(e)
            ),
        )
    })
}

fn publish(text: &str) -> Result<Publish, Why> {
    let port = |t: &str| match t.parse::<u16>() {
        Ok(n) if n != 0 && t.bytes().all(|b| b.is_ascii_digit()) => Some(n),
        _ => None,
    };
    let parts = || {
        let (rest, inside) = match text.rsplit_once(':') {
            None => return Some((Ipv4Addr::LOCALHOST.into(), port(text)?, port(text)?)),
            Some((rest, inside)) => (rest, port(inside)?),
        };
        let (address, listen): (IpAddr, &str) = match rest.rsplit_once(':') {
            None => (Ipv4Addr::LOCALHOST.into(), rest),
            Some((address, listen)) => {
                let bare = address.strip_prefix('[').and_then(|a| a.strip_suffix(']'));
                let ip = bare.map_or_else(
                    || address.parse::<Ipv4Addr>().map(IpAddr::V4),
                    |a| a.parse().map(IpAddr::V6),
                );
                (ip.ok()?, listen)
            }
        };
        Some((address, port(listen)?, inside))
    };
    let (address, listen, port) = parts().ok_or_else(|| {
        why(
            format!("\"{}\" is no published port", Text::from(text)),
            "write address:port:port inside, like \"127.0.0.1:3000:3000\"",
        )
    })?;
    Ok(Publish {
        listen: SocketAddr::new(address, listen),
        port,
    })
}

/// Reads the address of a name server; its port is 53 unless another is said.
fn resolver(text: &str) -> Result<Value, Why> {
    const DNS: u16 = 53;
    let bare = text.parse::<IpAddr>();
    let address = bare.map_or_else(|_| text.parse(), |ip| Ok(SocketAddr::new(ip, DNS)));
    match address {
        Ok(address) if address.port() != 0 && !address.ip().is_unspecified() => {
            Ok(Value::Resolver(address))
        }
        _ => Err(why(
            format!("\"{}\" is no address of a name server", Text::from(text)),
            "write an address like \"10.1.2.3\", or one with a port like \"10.1.2.3:5353\" or \"[::1]:5353\"",
        )),
    }
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn name(text: &str) -> Result<(), Why> {
    let stem = text.strip_suffix('*').unwrap_or(text);
    if is_name(stem) || text == "*" {
        return Ok(());
    }
    let help = match text.split_once('=') {
        Some((name, value)) if is_name(name) => {
            format!(
                "to set it, write {name} = \"{}\" under [environment.set]",
                Text::from(value)
            )
        }
        _ => "a name is made of letters, digits and underscores; a \"*\" may stand at its end"
            .to_owned(),
    };
    Err(why(
        format!("\"{}\" names no variable", Text::from(text)),
        help,
    ))
}

fn method(text: &str) -> Result<(), Why> {
    if text.bytes().all(|b| b.is_ascii_uppercase() || b == b'-') {
        return Ok(());
    }
    let shown = Text::from(text);
    let upper = text.to_ascii_uppercase();
    let help = match upper.bytes().all(|b| b.is_ascii_uppercase()) {
        true => format!("write \"{upper}\""),
        false => "write a method like \"GET\"".to_owned(),
    };
    Err(why(format!("\"{shown}\" is no HTTP method"), help))
}

/// Reads `"name" = "address:port"`; the flag says whether the name is what is wrong.
pub(crate) fn mapping(name: &str, address: &str) -> Result<Value, (bool, Why)> {
    let host = match Host::parse(name) {
        Ok(host @ Host::Name(_)) => host,
        Ok(Host::Ip(_)) => {
            return Err((
                true,
                why(
                    format!("\"{}\" is an address, not a name", Text::from(name)),
                    "give the address in [network] allow instead",
                ),
            ));
        }
        Err(e) => {
            return Err((
                true,
                why(
                    format!("\"{}\" names no host", Text::from(name)),
                    e.to_string(),
                ),
            ));
        }
    };
    match address.parse::<SocketAddr>() {
        Ok(address) if address.port() != 0 => Ok(Value::Mapping(HostMapping { host, address })),
        _ => Err((
            false,
            why(
                format!("\"{}\" is no address with a port", Text::from(address)),
                "write it like \"127.0.0.1:8443\" or \"[::1]:8443\"",
            ),
        )),
    }
}

/// Reads `"host" = "auto"`; the flag says whether the host is what is wrong.
pub(crate) fn inspection(host: &str, inspect: &str) -> Result<Value, (bool, Why)> {
    let host = host.parse::<HostPattern>().map_err(|e| {
        let message = format!("\"{}\" names no host", Text::from(host));
        (true, why(message, Text::from(e).to_string()))
    })?;
    let Some(inspect) = Inspect::parse(inspect) else {
        let message = format!("\"{}\" is no way to look into TLS", Text::from(inspect));
        return Err((
            false,
            why(message, "write \"auto\", \"always\" or \"never\""),
        ));
    };
    Ok(Value::Inspect(InspectRule { host, inspect }))
}

/// Reads a variable; the flag says whether the name is what is wrong.
pub(crate) fn variable(name: &str, value: &str) -> Result<Value, (bool, Why)> {
    if !is_name(name) {
        return Err((
            true,
            why(
                format!("\"{}\" names no variable", Text::from(name)),
                "a name is made of letters, digits and underscores",
            ),
        ));
    }
    if value.contains('\0') {
        return Err((
            false,
            why(
                "a variable cannot hold a NUL character",
                "remove the NUL character",
            ),
        ));
    }
    Ok(Value::Variable(name.to_owned(), value.to_owned()))
}

/// Reads a limit. None: the type is wrong.
pub(crate) fn scalar(kind: Kind, value: &DeValue<'_>) -> Result<Option<Value>, Why> {
    let positive = || why("a limit is at least 1", "leave the key out for no limit");
    let whole = |value: &DeValue<'_>| match value {
        DeValue::Integer(i) => Some(
            i64::from_str_radix(i.as_str(), i.radix())
                .ok()
                .and_then(|n| u64::try_from(n).ok())
                .filter(|n| *n > 0),
        ),
        _ => None,
    };
    match (kind, value) {
        (Kind::Bytes, DeValue::String(text)) => quantity::parse_size(text)
            .map(|n| Some(Value::Number(n)))
            .map_err(|help| {
                why(
                    format!("\"{}\" is no size", Text::from(text.as_ref())),
                    help,
                )
            }),
        (Kind::Bytes, DeValue::Integer(_)) => Err(why(
            "a size needs its unit",
            "write it like \"4GiB\" or \"512MiB\"",
        )),
        (Kind::Time, DeValue::String(text)) => quantity::parse_time(text)
            .map(|t| Some(Value::Time(t)))
            .map_err(|help| {
                why(
                    format!("\"{}\" is no length of time", Text::from(text.as_ref())),
                    help,
                )
            }),
        (Kind::Time, DeValue::Integer(_)) => Err(why(
            "a length of time needs its unit",
            "write it like \"90s\" or \"1h30m\"",
        )),
        (Kind::Protection, DeValue::String(text)) => match ProtectAbsent::parse(text) {
            Some(way) => Ok(Some(Value::Number(way as u64))),
            None => Err(why(
                format!(
                    "\"{}\" is no way of protecting names",
                    Text::from(text.as_ref())
                ),
                "write \"enforce\", \"sweep\" or \"off\"",
            )),
        },
        (Kind::HostPrograms, DeValue::String(text)) => match HostPrograms::parse(text) {
            Some(way) => Ok(Some(Value::Number(way as u64))),
            None => Err(why(
                format!("\"{}\" is not what can be done", Text::from(text.as_ref())),
                "write \"protect\", \"report\" or \"off\"",
            )),
        },
        (Kind::Beyond, DeValue::String(text)) => match Beyond::parse(text) {
            Some(beyond) => Ok(Some(Value::Number(beyond as u64))),
            None => Err(why(
                format!("\"{}\" is not what can happen", Text::from(text.as_ref())),
                "write \"deny\" or \"allow\"",
            )),
        },
        (Kind::Count, value) => match whole(value) {
            None => Ok(None),
            Some(n) => n.map(|n| Some(Value::Number(n))).ok_or_else(positive),
        },
        (Kind::Cpus, DeValue::Float(f)) => f
            .as_str()
            .replace('_', "")
            .parse::<f64>()
            .ok()
            .and_then(milli)
            .map(|n| Some(Value::Number(n)))
            .ok_or_else(|| {
                why(
                    "a number of processors lies between 0.001 and 4096",
                    "write it like 2.0 or 0.5",
                )
            }),
        (Kind::Cpus, value) => match whole(value) {
            None => Ok(None),
            Some(n) => n
                .filter(|n| *n <= 4096)
                .map(|n| Some(Value::Number(n * 1000)))
                .ok_or_else(|| {
                    why(
                        "a number of processors lies between 0.001 and 4096",
                        "write it like 2.0 or 0.5",
                    )
                }),
        },
        _ => Ok(None),
    }
}

/// Whether a limit lies in what its key can have.
pub(crate) fn in_range(key: KeyId, value: &Value) -> Result<(), Why> {
    let (most, what) = match key {
        KeyId::KeepLimit => (MAX_KEPT, "kept"),
        KeyId::BodyLimit => (MAX_HELD, "held back"),
        _ => return Ok(()),
    };
    match value {
        Value::Number(bytes) if *bytes > most => {
            let most = format!("{}MiB", most >> 20);
            Err(why(
                format!("no more than {most} of a body can be {what}"),
                format!("write \"{most}\" or less"),
            ))
        }
        _ => Ok(()),
    }
}

/// Processors in thousandths.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
fn milli(cpus: f64) -> Option<u64> {
    (0.001..=4096.0)
        .contains(&cpus)
        .then(|| (cpus * 1000.0).round() as u64)
}

#[cfg(test)]
#[path = "read_value_tests.rs"]
mod tests;
