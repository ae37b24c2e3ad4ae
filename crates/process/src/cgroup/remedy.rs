//! What to do where a limit cannot be exact. "Boot with cgroup v2" sends people the wrong way whose
//! machine has it, but with the controller bound to version 1, switched off, or not handed down: the
//! kernel says which it is (`/proc/cgroups`), so that is asked.

use super::place::NO_CONTROLLER;
use std::fs;

/// The remedy for a reason that [`super::available`] gave.
pub(crate) fn remedy(reason: &str) -> String {
    match reason.strip_prefix(NO_CONTROLLER) {
        Some(name) => {
            let known = fs::read_to_string("/proc/cgroups").unwrap_or_default();
            for_controller(name, &known)
        }
        None => "boot with cgroup v2; in a container, give it a control group that it may write"
            .to_owned(),
    }
}

/// The remedy for a controller that is missing where this process is, by the kernel's own list of
/// controllers: name, hierarchy of version 1, number of groups, whether it is switched on.
fn for_controller(name: &str, known: &str) -> String {
    let mut rows = known.lines().map(|line| line.split_whitespace().collect());
    let found = rows.find(|row: &Vec<&str>| row.first() == Some(&name));
    match found.as_deref() {
        Some([_, _, _, "0"]) => format!(
            "the {name} controller is switched off: boot with the kernel parameter \
             `cgroup_enable={name}`, and without `cgroup_disable={name}`"
        ),
        Some([_, hierarchy, ..]) if *hierarchy != "0" => format!(
            "the {name} controller belongs to cgroup v1 here: boot with the kernel parameter \
             `systemd.unified_cgroup_hierarchy=1` (without systemd `cgroup_no_v1=all`)"
        ),
        None if !known.is_empty() && known.contains('\n') => {
            format!("use a kernel that is built with the {name} controller")
        }
        _ => format!(
            "have it handed down: `echo +{name} | sudo tee` into cgroup.subtree_control of every \
             group above this one; in a container, give it a control group that it may write"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_for_what_keeps_the_controller_away() {
        let list = |row: &str| {
            let head = "#subsys_name\thierarchy\tnum_cgroups\tenabled\ncpu\t0\t9\t1\n";
            for_controller("memory", &format!("{head}{row}"))
        };
        for (row, says) in [
            ("memory\t4\t74\t1\n", "systemd.unified_cgroup_hierarchy=1"),
            ("memory\t0\t1\t0\n", "cgroup_enable=memory"),
            ("memory\t0\t74\t1\n", "echo +memory"),
            ("", "built with the memory controller"),
        ] {
            assert!(list(row).contains(says), "{row}: {}", list(row));
            assert!(!list(row).contains("boot with cgroup v2"), "{row}");
        }
        // Nothing is known: linux 6.12 and later can be built without that list.
        assert!(for_controller("memory", "").contains("echo +memory"));
        assert!(remedy("cgroup v2 is not mounted").contains("boot with cgroup v2"));
    }
}
