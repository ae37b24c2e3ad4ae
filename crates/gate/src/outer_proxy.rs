//! The proxy of the host, where its network has no other way out. Decision: only what was decided is
//! asked of it, by `CONNECT` for every port; what the policy maps, and this machine's own addresses,
//! never go through it. A name is then resolved by that proxy: the gate cannot check its addresses.

use bailiwick_event::Host;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Bytes of the proxy's answer.
const MAX_ANSWER: usize = 16 * 1024;

/// Where the host's proxy is, and for whom.
#[derive(Clone, PartialEq, Eq)]
pub struct OuterProxy {
    host: String,
    port: u16,
    /// The value of `Proxy-Authorization`.
    login: Option<String>,
    /// Hosts that are reached without it: names, and the domains that they lie below.
    without: Vec<String>,
}

impl std::fmt::Debug for OuterProxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Nothing of the login.
        write!(f, "OuterProxy({}:{})", self.host, self.port)
    }
}

impl OuterProxy {
    /// The proxy that the variables of a user name, as clients read them: `https_proxy`,
    /// `all_proxy` and `no_proxy`, in lower or upper case.
    ///
    /// # Errors
    /// What is wrong with the variable, without the login in it.
    pub fn of(environment: &BTreeMap<OsString, OsString>) -> Result<Option<Self>, String> {
        let variable = |name: &str| {
            let upper = name.to_ascii_uppercase();
            let both = [name, &upper];
            let mut values = both.iter().filter_map(|n| environment.get(OsStr::new(n)));
            let value = values.find(|value| !value.is_empty())?;
            Some((upper.clone(), value.to_string_lossy().into_owned()))
        };
        let Some((name, value)) = variable("https_proxy").or_else(|| variable("all_proxy")) else {
            return Ok(None);
        };
        let wrong = |why: &str| Err(format!("{name}: {why}; write http://HOST:PORT"));
        let rest = match value.split_once("://") {
            Some(("http", rest)) => rest,
            Some(_) => return wrong("the gate speaks to proxies by http only"),
            None => &value,
        };
        let rest = rest.trim_end_matches('/');
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(decoded(login)), place),
            None => (None, rest),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()),
            None => (place, Some(80)),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let (Some(port), false) = (port.filter(|port| *port != 0), host.is_empty()) else {
            return wrong("it names no host and port");
        };
        let without = variable("no_proxy")
            .map(|(_, value)| value)
            .unwrap_or_default();
        let without = without
            .split(',')
            .map(|entry| entry.trim().to_ascii_lowercase());
        Ok(Some(Self {
            host: host.to_owned(),
            port,
            login: login.map(|login| format!("Basic {}", STANDARD.encode(login))),
            without: without.filter(|entry| !entry.is_empty()).collect(),
        }))
    }

    /// Whether a machine is reached through it.
    pub(crate) fn is_for(&self, host: &Host, port: u16) -> bool {
        if host.is_inward() {
            return false;
        }
        let name = host.to_string();
        !self.without.iter().any(|entry| {
            let (entry, only): (&str, _) = match entry.rsplit_once(':') {
                Some((entry, digits)) => match digits.parse::<u16>() {
                    Ok(port) => (entry, Some(port)),
                    Err(_) => (entry, None),
                },
                None => (entry.as_str(), None),
            };
            let domain = entry.trim_start_matches("*.").trim_start_matches('.');
            let below = name
                .strip_suffix(domain)
                .is_some_and(|rest| rest.ends_with('.'));
            only.is_none_or(|only| only == port) && (entry == "*" || name == domain || below)
        })
    }

    /// A connection to a machine, through the proxy.
    pub(crate) async fn connect(&self, host: &Host, port: u16) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect((&*self.host, self.port)).await?;
        let _ = stream.set_nodelay(true);
        let target = match host.ip() {
            Some(std::net::IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
            _ => format!("{host}:{port}"),
        };
        let login = self.login.as_ref();
        let login = login.map_or(String::new(), |v| format!("Proxy-Authorization: {v}\r\n"));
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{login}\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        // Byte by byte: what comes behind the head is the server's.
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() >= MAX_ANSWER {
                return Err(io::Error::other(
                    "the host's proxy sends no end of its answer",
                ));
            }
            answer.push(stream.read_u8().await?);
        }
        let line = answer.split(|b| *b == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        match line.split(' ').nth(1) {
            Some(status) if status.starts_with('2') => Ok(stream),
            _ => Err(io::Error::other(format!(
                "the host's proxy {self:?} refused it: {}",
                bailiwick_event::Text::from(&*line)
            ))),
        }
    }
}

/// A user name and password as a URL has them.
fn decoded(login: &str) -> Vec<u8> {
    let bytes = login.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let hex = login
            .get(at + 1..at + 3)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<Option<OuterProxy>, String> {
        let pair = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
        OuterProxy::of(&pairs.iter().map(pair).collect())
    }

    #[test]
    fn the_variables_are_read_as_clients_read_them() {
        assert_eq!(of(&[]), Ok(None));
        assert_eq!(of(&[("HTTPS_PROXY", "")]), Ok(None));
        let plain = of(&[("https_proxy", "http://proxy.test:3128/")])
            .unwrap()
            .unwrap();
        assert_eq!(
            (&*plain.host, plain.port, &plain.login),
            ("proxy.test", 3128, &None)
        );
        let with = of(&[("ALL_PROXY", "http://me:p%40ss@[::1]:8080")])
            .unwrap()
            .unwrap();
        assert_eq!((&*with.host, with.port), ("::1", 8080));
        assert_eq!(with.login.as_deref(), Some("Basic bWU6cEBzcw=="));
        assert!(!format!("{with:?}").contains("bWU6"));
        for wrong in [
            "socks5://a.test:1080",
            "http://a.test:0",
            "http://:80",
            "http://me:secret@",
        ] {
            let said = of(&[("HTTPS_PROXY", wrong)]).unwrap_err();
            assert!(
                said.starts_with("HTTPS_PROXY: ") && !said.contains("secret"),
                "{said}"
            );
        }
    }

    /// A proxy that says this and then sends back what it gets; and what it was asked.
    async fn proxy(
        answer: &'static str,
    ) -> (OuterProxy, tokio::sync::mpsc::UnboundedReceiver<String>) {
        let (tell, told) = tokio::sync::mpsc::unbounded_channel();
        let address = crate::testing::server(move |mut stream| {
            let tell = tell.clone();
            async move {
                let asked = crate::testing::read_until(&mut stream, "\r\n\r\n").await;
                let _ = tell.send(asked);
                stream.write_all(answer.as_bytes()).await.unwrap();
                let (mut read, mut write) = stream.split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            }
        })
        .await;
        let value = format!("http://me:secret@{address}");
        (of(&[("HTTPS_PROXY", &value)]).unwrap().unwrap(), told)
    }

    #[tokio::test]
    async fn what_was_decided_goes_through_it_and_what_is_mapped_does_not() {
        use crate::testing::{Rig, Script, echo};
        let (outer, mut told) = proxy("HTTP/1.1 200 OK\r\n\r\n").await;
        let mut script = Script::allowing().mapping("mapped.test", echo().await);
        script.outer_proxy = Some(outer);
        let rig = Rig::new(script).await;
        for name in ["a.test", "mapped.test"] {
            let mut stream = rig.to(name).await;
            stream.write_all(b"\0\x01\x02hi").await.unwrap();
            let mut back = [0; 5];
            stream.read_exact(&mut back).await.unwrap();
            assert_eq!(&back, b"\0\x01\x02hi", "{name}");
        }
        let port = rig.port();
        let asked = told.recv().await.unwrap();
        let wanted = format!(
            "CONNECT a.test:{port} HTTP/1.1\r\nHost: a.test:{port}\r\n\
             Proxy-Authorization: Basic bWU6c2VjcmV0\r\n\r\n"
        );
        assert_eq!(asked, wanted);
        assert!(told.try_recv().is_err());
    }

    #[tokio::test]
    async fn what_it_refuses_is_told() {
        let (outer, _told) = proxy("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").await;
        let error = outer
            .connect(&Host::parse("a.test").unwrap(), 443)
            .await
            .unwrap_err();
        let said = error.to_string();
        assert!(said.contains("407 Proxy Authentication Required"), "{said}");
        assert!(!said.contains("secret") && !said.contains("bWU6"), "{said}");
    }

    #[test]
    fn what_is_this_machines_own_or_excepted_is_reached_without_it() {
        let pairs = [
            ("HTTPS_PROXY", "proxy.test:3128"),
            ("no_proxy", "corp.test, .below.test,one.test:8443"),
        ];
        let proxy = of(&pairs).unwrap().unwrap();
        let is_for = |host: &str, port| proxy.is_for(&Host::parse(host).unwrap(), port);
        assert!(
            is_for("example.com", 443) && is_for("one.test", 443) && is_for("93.184.216.34", 443)
        );
        for host in [
            "corp.test",
            "a.corp.test",
            "a.below.test",
            "localhost",
            "10.0.0.1",
            "127.0.0.1",
            "::1",
        ] {
            assert!(!is_for(host, 443), "{host}");
        }
        assert!(!is_for("one.test", 8443) && is_for("notcorp.test", 443));
        let all = of(&[("HTTPS_PROXY", "p.test:1"), ("NO_PROXY", "*")])
            .unwrap()
            .unwrap();
        assert!(!all.is_for(&Host::parse("example.com").unwrap(), 443));
    }
}
