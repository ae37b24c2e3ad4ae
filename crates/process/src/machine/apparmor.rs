//! Ubuntu (23.10 and later) gives user namespaces only to programs that have a profile. Ours says
//! nothing else: the binary is otherwise as unconfined as without one.

use super::{Change, Forget, marked};
use bailiwick_event::Failure;
use std::fs;
use std::path::Path;

/// The knob that exists only where AppArmor restricts user namespaces.
const RESTRICTS: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
const FILE: &str = "/etc/apparmor.d/bailiwick";

/// The change that lets this binary make user namespaces; none where AppArmor lets everybody.
///
/// # Errors
/// The binary's path cannot be written in a profile.
pub fn apparmor() -> Result<Option<Change>, Failure> {
    if !Path::new(RESTRICTS).exists() && !Path::new(FILE).exists() {
        return Ok(None);
    }
    let binary = fs::read_link("/proc/self/exe")
        .map_err(|error| Failure::fault(format!("/proc/self/exe: {error}")))?;
    let path = quoted(&binary).ok_or_else(|| {
        Failure::fault(format!(
            "{}: AppArmor cannot name this path exactly\n  remedy: install the binary at a plain \
             path, such as /usr/local/bin/bailiwick",
            binary.display()
        ))
    })?;
    let parser = |action: &str| {
        ["apparmor_parser", action, FILE]
            .map(str::to_owned)
            .to_vec()
    };
    Ok(Some(Change {
        name: "apparmor",
        file: FILE.into(),
        content: marked("apparmor", &profile(&path)),
        load: parser("-r"),
        forget: Forget::Before(parser("-R")),
        note: format!(
            "AppArmor lets {} make user namespaces, now and after a reboot; whoever can write that \
             file can make them too",
            binary.display()
        ),
    }))
}

fn profile(path: &str) -> String {
    format!(
        "abi <abi/4.0>,\n\
         include <tunables/global>\n\
         \n\
         profile bailiwick {path} flags=(unconfined) {{\n  userns,\n}}\n"
    )
}

/// A path as a profile names it; none where it holds what a profile reads as a pattern.
fn quoted(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let plain = |c: char| c.is_alphanumeric() || "/._-+ ".contains(c);
    // What Linux adds to the path of a file that was replaced.
    let known = text.starts_with('/') && text.chars().all(plain) && !text.ends_with(" (deleted)");
    known.then(|| match text.contains(' ') {
        true => format!("\"{text}\""),
        false => text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_names_exactly_one_path() {
        let name = |path: &str| quoted(Path::new(path));
        assert_eq!(name("/usr/bin/bailiwick").unwrap(), "/usr/bin/bailiwick");
        assert_eq!(name("/opt/a b/x").unwrap(), "\"/opt/a b/x\"");
        for bad in [
            "/opt/*/x",
            "/opt/{a,b}",
            "/o\"x",
            "/a\nb",
            "x",
            "/x (deleted)",
            "/a@{b}",
        ] {
            assert_eq!(name(bad), None, "{bad}");
        }
        assert_eq!(
            profile("/usr/bin/bailiwick"),
            "abi <abi/4.0>,\ninclude <tunables/global>\n\nprofile bailiwick /usr/bin/bailiwick \
             flags=(unconfined) {\n  userns,\n}\n"
        );
    }
}
