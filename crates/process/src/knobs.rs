//! Why a machine gives no user namespaces: the settings that distributions have for it, and the one
//! command that changes the setting that it is.

use rustix::process::geteuid;
use std::fs;

/// What the machine is set to; none where it has no such setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knobs {
    /// Ubuntu: AppArmor gives them only to programs with a profile.
    apparmor: Option<u64>,
    /// Debian: users may make them.
    clone: Option<u64>,
    /// How many there may be.
    most: Option<u64>,
}

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
            most: number("user/max_user_namespaces"),
        }
    }

    /// What to do about it.
    pub(crate) fn remedy(self) -> &'static str {
        if self.clone == Some(0) {
            return "let users make namespaces: `sudo sysctl -w \
                    kernel.unprivileged_userns_clone=1`";
        }
        if self.most == Some(0) {
            return "let there be namespaces: `sudo sysctl -w user.max_user_namespaces=15000`";
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
            most: Some(15_000),
        };
        assert!(free.remedy().contains("container"));
        assert!(Knobs::default().remedy().contains("container"));
        let apparmor = Knobs {
            apparmor: Some(1),
            ..free
        };
        assert!(
            apparmor
                .remedy()
                .contains("`sudo bailiwick setup apparmor`")
        );
        let none = Knobs {
            most: Some(0),
            ..apparmor
        };
        assert!(none.remedy().contains("user.max_user_namespaces=15000"));
        let debian = Knobs {
            clone: Some(0),
            ..none
        };
        assert!(
            debian
                .remedy()
                .contains("kernel.unprivileged_userns_clone=1")
        );
    }
}
