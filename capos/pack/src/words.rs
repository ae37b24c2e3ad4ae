//! What is asked for, read from words.

use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::manifest::{Cap, Restart, Service};

/// A program of the manifest.
#[derive(Debug)]
pub(crate) struct Program<'a> {
    pub(crate) name: &'a str,
    pub(crate) file: &'a str,
    /// What init is given, if it is init.
    pub(crate) caps: Vec<Cap<'a>>,
}

/// All that is asked for.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    pub(crate) out: &'a str,
    pub(crate) programs: Vec<Program<'a>>,
    pub(crate) services: Vec<Service<'a>>,
    pub(crate) exit_when: Option<&'a str>,
}

/// Capabilities, and the names of those that are exported.
type Caps<'a> = (Vec<Cap<'a>>, Vec<&'a str>);

fn cap<'a>(word: &'a str, place: &str) -> Result<(Cap<'a>, bool), String> {
    let (rest, is_export) = match word.strip_suffix('!') {
        Some(rest) => (rest, true),
        None => (word, false),
    };
    let (rest, badge) = match rest.split_once('#') {
        Some((rest, badge)) => {
            let wrong = |_| format!("{place}: {word}: a badge is a number, such as #1");
            (rest, badge.parse::<u64>().map_err(wrong)?)
        }
        None => (rest, 0),
    };
    let (name, source) = rest.split_once('=').unwrap_or((rest, rest));
    let cap = match source.split_once('/') {
        Some((service, export)) => {
            let name = if name == source { export } else { name };
            Cap::service(name, service, export)
        }
        None => {
            let source = KernelSource::of_name(source).ok_or_else(|| {
                let known: Vec<_> = KernelSource::ALL.iter().map(|each| each.name()).collect();
                let known = known.join(", ");
                format!("{place}: {source}: no source of the kernel's; there are {known}")
            })?;
            Cap::kernel(name, source)
        }
    };
    Ok((cap.badge(badge), is_export))
}

fn caps<'a>(list: &'a str, place: &str) -> Result<Caps<'a>, String> {
    let (mut all, mut exports) = (Vec::new(), Vec::new());
    for word in list.split(',').filter(|word| !word.is_empty()) {
        let (cap, is_export) = cap(word, place)?;
        exports.extend(is_export.then_some(cap.name));
        all.push(cap);
    }
    Ok((all, exports))
}

/// `NAME=VALUE[:CAPABILITY,…]`.
fn named<'a>(word: &'a str, what: &str) -> Result<(&'a str, &'a str, &'a str), String> {
    let wrong = || format!("{word:?} is no {what}");
    let (name, rest) = word.split_once('=').ok_or_else(wrong)?;
    let (value, list) = rest.split_once(':').unwrap_or((rest, ""));
    match name.is_empty() || value.is_empty() {
        true => Err(wrong()),
        false => Ok((name, value, list)),
    }
}

fn service<'a>(name: &'a str, binary: &'a str, (caps, exports): Caps<'a>) -> Service<'a> {
    Service {
        name,
        binary,
        restart: Restart::Never,
        caps,
        exports,
    }
}

fn restart<'a>(word: &str, services: &mut [Service<'a>]) -> Result<(), String> {
    let what = "SERVICE=never|on-failure|always";
    let (name, when, _) = named(word, what)?;
    let all = [Restart::Never, Restart::OnFailure, Restart::Always];
    let when = all.into_iter().find(|each| each.name() == when);
    let when = when.ok_or_else(|| format!("{word:?} is no {what}"))?;
    let service = services.iter_mut().find(|service| service.name == name);
    service
        .ok_or_else(|| format!("--restart {word}: there is no such service before it"))?
        .restart = when;
    Ok(())
}

/// Reads the words.
pub(crate) fn words(given: &[String]) -> Result<Words<'_>, String> {
    let (out, rest) = given.split_first().ok_or("which file is to be made?")?;
    let mut asked = Words {
        out,
        programs: Vec::new(),
        services: Vec::new(),
        exit_when: None,
    };
    let mut rest = rest.iter();
    while let Some(word) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{word} needs a value"));
        match word.as_str() {
            "--exit-when" => asked.exit_when = Some(value()?),
            "--restart" => restart(value()?, &mut asked.services)?,
            "--service" => {
                let word = value()?;
                let (name, binary, list) = named(word, "NAME=PROGRAM[:CAPABILITY,…]")?;
                asked
                    .services
                    .push(service(name, binary, caps(list, name)?));
            }
            word if word.starts_with("--") => return Err(format!("{word} is no option")),
            word => {
                let (name, file, list) = named(word, "NAME=FILE[:CAPABILITY,…]")?;
                let (caps, exports) = caps(list, name)?;
                let is_init = asked.programs.is_empty();
                if !is_init && !caps.is_empty() {
                    asked
                        .services
                        .push(service(name, name, (caps.clone(), exports)));
                }
                asked.programs.push(Program { name, file, caps });
            }
        }
    }
    Ok(asked)
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
