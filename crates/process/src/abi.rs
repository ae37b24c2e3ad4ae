//! What older kernels' Landlock cannot do. The mounts, seccomp and the write broker stop most of it
//! as well, but then they do it alone: a machine where a second layer is thinner says so.

/// Something that a version of Landlock lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Consequence {
    /// The first version that has it.
    since: i64,
    /// Its name in the record.
    pub(crate) name: &'static str,
    /// What is so without it in a sandbox with namespaces; none where that does not use it.
    pub(crate) isolated: Option<&'static str>,
    /// What is so without it in a sandbox without namespaces.
    pub(crate) bare: &'static str,
}

const ALL: [Consequence; 5] = [
    Consequence {
        since: 2,
        name: "refer",
        isolated: Some("no file can be moved or linked into another folder (EXDEV)"),
        bare: "no file can be moved or linked into another folder (EXDEV)",
    },
    Consequence {
        since: 3,
        name: "truncate",
        isolated: Some("only the mounts keep files that may be read from being cut short"),
        bare: "only the write broker keeps files that may be read from being cut short",
    },
    Consequence {
        since: 4,
        name: "tcp",
        isolated: None,
        bare: "only seccomp refuses TCP: a socket that was handed in can be connected",
    },
    Consequence {
        since: 5,
        name: "ioctl",
        isolated: Some("only seccomp limits what may be asked of device files"),
        bare: "only seccomp limits what may be asked of device files",
    },
    Consequence {
        since: 6,
        name: "scope",
        isolated: Some("only the namespaces keep signals and abstract sockets inside"),
        bare: "nothing keeps the program from ending the user's other processes, its keeper \
               included: what it started may then outlive the run",
    },
];

/// What follows from a kernel with this version of Landlock. Version 0 is none at all, which is a
/// missing layer and no weaker one.
pub(crate) fn consequences(abi: i64) -> Vec<Consequence> {
    let lacks = |c: &&Consequence| abi > 0 && abi < c.since;
    ALL.iter().filter(lacks).copied().collect()
}

/// The layer as the record names it; none where the kernel has no Landlock.
pub(crate) fn layer(abi: i64, isolated: bool) -> Option<String> {
    let lacks: Vec<&str> = consequences(abi)
        .iter()
        .filter(|c| !isolated || c.isolated.is_some())
        .map(|c| c.name)
        .collect();
    match (abi > 0, lacks.is_empty()) {
        (false, _) => None,
        (true, true) => Some(format!("landlock (ABI {abi})")),
        (true, false) => Some(format!("landlock (ABI {abi}: no {})", lacks.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(abi: i64) -> Vec<&'static str> {
        consequences(abi).iter().map(|c| c.name).collect()
    }

    #[test]
    fn each_version_lacks_what_came_later() {
        let all = ["refer", "truncate", "tcp", "ioctl", "scope"];
        for (abi, lacks) in [
            (0, &all[..0]),
            (1, &all[..]),
            (2, &all[1..]),
            (3, &all[2..]),
            (4, &all[3..]),
            (5, &all[4..]),
            (6, &all[..0]),
            (7, &all[..0]),
        ] {
            assert_eq!(names(abi), lacks, "ABI {abi}");
        }
    }

    #[test]
    fn the_record_names_what_is_missing_in_this_kind_of_sandbox() {
        assert_eq!(layer(0, true), None);
        assert_eq!(layer(7, true).unwrap(), "landlock (ABI 7)");
        assert_eq!(
            layer(3, true).unwrap(),
            "landlock (ABI 3: no ioctl, scope)",
            "TCP is the private network's matter"
        );
        assert_eq!(
            layer(3, false).unwrap(),
            "landlock (ABI 3: no tcp, ioctl, scope)"
        );
    }
}
