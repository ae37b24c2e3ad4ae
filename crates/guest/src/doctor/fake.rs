//! A world in which a test decides what is there and what works.

use super::world::{Act, Ran, World};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A world. Whatever is tried fails with `errno` unless `works`.
pub(super) struct Fake {
    root: PathBuf,
    pub(super) works: bool,
    pub(super) errno: i32,
    pub(super) told: HashMap<&'static str, String>,
    pub(super) variables: Vec<(String, String)>,
    pub(super) says: String,
    pub(super) code: i32,
    pub(super) hears: Option<Vec<u8>>,
    pub(super) tried: RefCell<Vec<Act>>,
    pub(super) now: u64,
}

impl Fake {
    /// An empty machine in which nothing works.
    pub(super) fn new() -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root =
            std::env::temp_dir().join(format!("bailiwick-fake-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).unwrap();
        Self {
            root,
            works: false,
            errno: libc::EPERM,
            told: HashMap::new(),
            variables: vec![("PATH".to_owned(), "/bin".to_owned())],
            says: String::new(),
            code: 1,
            hears: None,
            tried: RefCell::new(Vec::new()),
            now: 0,
        }
    }

    /// The world in which everything is wrong that a check looks for.
    pub(super) fn broken() -> Self {
        let mut world = Self::new();
        for (path, text) in [
            ("proc/modules", ""),
            ("proc/kcore", ""),
            ("proc/kallsyms", ""),
            ("dev/mem", ""),
            ("dev/port", ""),
            ("proc/filesystems", "nodev\tdebugfs\n"),
            ("proc/cmdline", "console=ttyS0 init=/bin/sh"),
            ("sys/block/vda/ro", "0\n"),
            ("sys/block/vda/dev", "254:0\n"),
            ("sys/class/net/eth0/address", ""),
            ("run/bailiwick/guest", ""),
            ("var/lib/bailiwick-doctor", ""),
            ("proc/sys/kernel/hostname", "bailiwick\n"),
            ("proc/net/if_inet6", ""),
            ("etc/machine-id", "\n"),
            ("etc/resolv.conf", "nameserver 192.0.2.1\n"),
        ] {
            world.put(path, text);
        }
        world.put("usr/bin/su", "");
        let su = world.at("/usr/bin/su");
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(su, std::fs::Permissions::from_mode(0o4755)).unwrap();
        for (name, value) in [
            ("cmdline", "console=ttyS0"),
            ("listener", "192.0.2.1:80"),
            ("datagrams", "192.0.2.1:9"),
            ("denied", "denied.test"),
            ("granted", "granted.test"),
            ("https", "https://granted.test"),
            ("time", "http://granted.test/now"),
            ("page", "expected"),
            ("size", "24x80"),
            ("large-at", "/no/such/folder/file"),
            ("large", "8"),
            ("kept-at", "/kept"),
            ("kept", "value"),
            ("host-before", "bailiwick"),
            ("machine-before", ""),
        ] {
            world.told.insert(name, value.to_owned());
        }
        world.works = true;
        world.code = 0;
        world.says = "something else".to_owned();
        world.variables = vec![
            ("LD_PRELOAD".to_owned(), "x".to_owned()),
            ("http_proxy".to_owned(), "http://127.0.0.1:1".to_owned()),
        ];
        world.hears = Some(b"HTTP/1.1 200 OK\r\n\r\n1000".to_vec());
        world.now = 10_000_000_000;
        world
    }

    pub(super) fn put(&self, path: &str, text: &str) {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

impl World for Fake {
    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    fn attempt(&self, act: &Act) -> io::Result<()> {
        self.tried.borrow_mut().push(act.clone());
        // What confines programs is what should work.
        let confines = matches!(act, Act::Seccomp | Act::Landlock);
        match self.works != confines {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(self.errno)),
        }
    }

    fn shell(&self, _: &str) -> io::Result<Ran> {
        Ok(Ran {
            code: self.code,
            said: self.says.clone(),
        })
    }

    fn tcp(&self, _: SocketAddr, _: &[u8]) -> io::Result<Vec<u8>> {
        self.hears.clone().ok_or(io::ErrorKind::TimedOut.into())
    }

    fn udp(&self, _: SocketAddr, _: &[u8], _: Duration) -> io::Result<Vec<u8>> {
        self.hears.clone().ok_or(io::ErrorKind::TimedOut.into())
    }

    fn addresses(&self, _: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![SocketAddr::from(([192, 0, 2, 1], 80))])
    }

    fn told(&self, name: &str) -> Option<String> {
        self.told.get(name).cloned()
    }

    fn variables(&self) -> Vec<(String, String)> {
        self.variables.clone()
    }

    fn now(&self) -> u64 {
        self.now
    }

    fn terminal(&self) -> io::Result<(u16, u16)> {
        match self.works {
            true => Ok((10, 10)),
            false => Err(io::Error::from_raw_os_error(libc::ENOTTY)),
        }
    }
}
