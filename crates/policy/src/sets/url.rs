//! A URL from a client's configuration to an entry for exactly its machine and port. Credentials
//! that stand in the URL are dropped here, before anything can show or record them.

use bailiwick_event::{Host, HostPattern, PatternHost, Ports};

/// The machine of a URL, or of git's `user@host:path`.
pub(crate) fn host_of(text: &str) -> Option<HostPattern> {
    let text = text.trim().trim_matches(['"', '\'']);
    let text = text
        .strip_prefix("sparse+")
        .or_else(|| text.strip_prefix("git+"))
        .unwrap_or(text);
    let Some((scheme, rest)) = text.split_once("://") else {
        return scp(text);
    };
    let default = match scheme.to_ascii_lowercase().as_str() {
        "https" | "wss" => 443,
        "http" | "ws" => 80,
        "ssh" | "git+ssh" | "ssh+git" => 22,
        "git" => 9418,
        "ftp" => 21,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let authority = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => match port {
            "" => (host, default),
            port => (host, port.parse().ok().filter(|p| *p != 0)?),
        },
        _ => (authority, default),
    };
    pattern(host, port)
}

/// `user@host:path`, which git reads as ssh.
fn scp(text: &str) -> Option<HostPattern> {
    let (host, _) = text.split_once(':')?;
    if host.contains('/') {
        return None;
    }
    let (_, host) = host.rsplit_once('@')?;
    pattern(host, 22)
}

fn pattern(host: &str, port: u16) -> Option<HostPattern> {
    let host = Host::parse(host).ok()?;
    Some(HostPattern {
        host: PatternHost::Exact(host),
        ports: Ports::One(port),
    })
}

/// Whether one of the URLs in a text names a user or a password.
pub(crate) fn has_credentials(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', ',']).next().unwrap_or("");
        authority.contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_its_machine_and_port_and_nothing_else() {
        for (url, expected) in [
            ("https://mirror.example/simple/", "mirror.example:443"),
            (
                "http://user:s3cret@mirror.example:8080/x",
                "mirror.example:8080",
            ),
            ("sparse+https://index.example/", "index.example:443"),
            ("https://[::1]:8443/x", "[::1]:8443"),
            ("https://[::1]/x", "[::1]:443"),
            ("ssh://git@git.example/x.git", "git.example:22"),
            ("git@git.example:team/x.git", "git.example:22"),
            ("\"https://a@b@c.example\\@evil.example/\"", "c.example:443"),
            ("HTTPS://Mirror.Example.:443", "mirror.example:443"),
        ] {
            assert_eq!(
                host_of(url).map(|p| p.to_string()).as_deref(),
                Some(expected),
                "{url}"
            );
        }
        for none in [
            "",
            "/srv/git/x.git",
            "../x",
            "file:///srv",
            "ext::sh -c x",
            "https://",
            "https://x:0/",
            "https://*.example/",
        ] {
            assert_eq!(host_of(none), None, "{none}");
        }
    }
}
