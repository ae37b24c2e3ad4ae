//! Why a machine gives no user namespaces: the settings that distributions have for it, and the one
//! command that changes the setting that it is.

use rustix::process::geteuid;
use std::fs;

/// The remedy for a limit of namespaces.
macro_rules! limit {
    ($kind:literal) => {
        concat!(
            "let there be namespaces: `sudo sysctl -w user.max_",
            $kind,
            "_namespaces=15000`"
        )
    };
}

/// What the machine is set to; none where it has no such setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knobs {
    /// Ubuntu: AppArmor gives them only to programs with a profile.
    apparmor: Option<u64>,
    /// Debian: users may make them.
    clone: Option<u64>,
    /// Which kind of namespaces there may be none of, by its remedy.
    none: Option<&'static str>,
}

/// How many namespaces of a kind there may be (namespaces(7)), and what lets there be some.
const LIMITS: [(&str, &str); 7] = [
    ("user/max_user_namespaces", USER),
    ("user/max_mnt_namespaces", limit!("mnt")),
    ("user/max_pid_namespaces", limit!("pid")),
    ("user/max_net_namespaces", limit!("net")),
    ("user/max_ipc_namespaces", limit!("ipc")),
    ("user/max_uts_namespaces", limit!("uts")),
    ("user/max_cgroup_namespaces", limit!("cgroup")),
];

const USER: &str = limit!("user");

impl Knobs {
    /// As the machine is set for this user.
    pub(crate) fn read() -> Self {
        let number = |name: &str| {
            let text = fs::read_to_string(format!("/proc/sys/{name}")).ok()?;
            text.trim().parse().ok()
        };
        let user = !geteuid().is_root();
        Self {
            apparmor: number("kernel/apparmor_restrict_unprivileged_userns").filter(|_| user),
            clone: number("kernel/unprivileged_userns_clone").filter(|_| user),
            none: LIMITS
                .into_iter()
                .find(|(name, _)| number(name) == Some(0))
                .map(|(_, remedy)| remedy),
        }
    }

    /// What to do about it. `limit` says whether the kernel has named a limit as the reason: what
    /// else is set is not it then. That limit may be one of the machine's that is not to be seen
    /// from a container.
    pub(crate) fn remedy(self, limit: bool) -> &'static str {
        if limit {
            return self.none.unwrap_or(USER);
        }
        if self.clone == Some(0) {
            return "let users make namespaces: `sudo sysctl -w \
                    kernel.unprivileged_userns_clone=1`";
        }
        if let Some(remedy) = self.none {
            return remedy;
        }
        if self.apparmor.is_some_and(|value| value != 0) {
            return "let AppArmor give this program namespaces: `sudo bailiwick setup apparmor`";
        }
        "in a container, start it with `--security-opt seccomp=unconfined --security-opt \
         apparmor=unconfined`"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_for_the_setting_that_forbids() {
        let free = Knobs {
            apparmor: Some(0),
            clone: Some(1),
            none: None,
        };
        assert!(free.remedy(false).contains("container"));
        assert!(Knobs::default().remedy(false).contains("container"));
        let apparmor = Knobs {
            apparmor: Some(1),
            ..free
        };
        assert!(
            apparmor
                .remedy(false)
                .contains("`sudo bailiwick setup apparmor`")
        );
        // The kernel has said that it is the limit: a container sees AppArmor's setting and not it.
        assert_eq!(apparmor.remedy(true), USER);
        let none = Knobs {
            none: Some(LIMITS[3].1),
            ..apparmor
        };
        assert!(none.remedy(false).contains("user.max_net_namespaces=15000"));
        assert!(none.remedy(true).contains("user.max_net_namespaces=15000"));
        let debian = Knobs {
            clone: Some(0),
            ..none
        };
        assert!(
            debian
                .remedy(false)
                .contains("kernel.unprivileged_userns_clone=1")
        );
    }
}
