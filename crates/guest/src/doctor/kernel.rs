//! The kernel: that what must not be in it is not, and that what confines programs is.

use super::check::{Check, Outcome, said};
use super::world::{Act, World, list, read, told};
use rustix::io::Errno;

const REBUILD: &str = "build the image again (`bailiwick image build`): its kernel has an option that \
                       images/kernel.config switches off";

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "kernel.modules",
        expected: "the kernel cannot load a module, whoever asks",
        remedy: REBUILD,
        probe: modules,
    },
    Check {
        name: "kernel.mem",
        expected: "there is no /dev/mem, and it cannot be made",
        remedy: REBUILD,
        probe: |world| device(world, "/dev/mem", 1),
    },
    Check {
        name: "kernel.port",
        expected: "there is no /dev/port, and it cannot be made",
        remedy: REBUILD,
        probe: |world| device(world, "/dev/port", 4),
    },
    Check {
        name: "kernel.kcore",
        expected: "there is no /proc/kcore",
        remedy: REBUILD,
        probe: |world| absent(world, "/proc/kcore"),
    },
    Check {
        name: "kernel.kallsyms",
        expected: "there is no /proc/kallsyms",
        remedy: REBUILD,
        probe: |world| absent(world, "/proc/kallsyms"),
    },
    Check {
        name: "kernel.debugfs",
        expected: "the kernel knows no debugfs and no tracefs",
        remedy: REBUILD,
        probe: debugfs,
    },
    Check {
        name: "kernel.drivers",
        expected: "root in the machine cannot take its driver from a device",
        remedy: "this is a defect of bailiwick (crates/guest/src/root.rs): report it",
        probe: drivers,
    },
    Check {
        name: "kernel.command-line",
        expected: "the words that the host has given, and no others",
        remedy: "the machine was started by something else than this bailiwick, or the image's kernel \
                 has words of its own: build the image again",
        probe: command_line,
    },
    Check {
        name: "kernel.clock-source",
        expected: "the kernel reads a clock of the machine, and does not count its own ticks",
        remedy: "this is a defect of bailiwick (crates/vm/src/machine.rs): report it with the host's \
                 /proc/cpuinfo",
        probe: clock_source,
    },
    Check {
        name: "kernel.seccomp",
        expected: "a program can attach a filter, and the filter refuses",
        remedy: REBUILD,
        probe: |world| {
            acts(
                world,
                &Act::Seccomp,
                "a filter was attached and refused a call",
            )
        },
    },
    Check {
        name: "kernel.landlock",
        expected: "a program can confine itself, and is confined",
        remedy: REBUILD,
        probe: |world| acts(world, &Act::Landlock, "a program confined itself"),
    },
];

fn modules(world: &dyn World) -> Outcome {
    if world.at("/proc/modules").exists() {
        return Err("/proc/modules is there".to_owned());
    }
    match world.attempt(&Act::LoadModule) {
        Ok(()) => Err("a module was loaded".to_owned()),
        // Any other answer means that somebody with more rights could.
        Err(error) if error.raw_os_error() == Some(Errno::NOSYS.raw_os_error()) => {
            Ok("no such system call".to_owned())
        }
        Err(error) => Err(format!("the kernel knows modules: {}", said(&error))),
    }
}

fn absent(world: &dyn World, path: &str) -> Outcome {
    match world.at(path).symlink_metadata() {
        Ok(_) => Err(format!("{path} is there")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Ok("it is not there".to_owned())
        }
        Err(error) => Err(format!("{path}: {}", said(&error))),
    }
}

/// A device of characters with the major number 1.
fn device(world: &dyn World, path: &str, minor: u32) -> Outcome {
    absent(world, path)?;
    let made = world.at("/tmp").join(format!("bailiwick-doctor-{minor}"));
    let outcome = world.attempt(&Act::MakeDevice(made.clone(), false, 1, minor));
    let _ = std::fs::remove_file(made);
    match outcome {
        Ok(()) => Err(format!(
            "{path} is not there, but a file of the device could be made"
        )),
        Err(error) => Ok(format!("not there; to make it: {}", said(&error))),
    }
}

fn debugfs(world: &dyn World) -> Outcome {
    let known =
        read(world, "/proc/filesystems").map_err(|e| format!("/proc/filesystems: {}", said(&e)))?;
    let bad = |name: &&str| ["debugfs", "tracefs"].contains(name);
    if let Some(name) = known.split_whitespace().find(bad) {
        return Err(format!("the kernel knows {name}"));
    }
    let below = list(world, "/sys/kernel").map_err(|e| format!("/sys/kernel: {}", said(&e)))?;
    match below
        .iter()
        .find(|name| ["debug", "tracing"].contains(&name.as_str()))
    {
        Some(name) => Err(format!("/sys/kernel/{name} is there")),
        None => Ok("neither is known".to_owned()),
    }
}

fn drivers(world: &dyn World) -> Outcome {
    let of = |path: &str| list(world, path).map_err(|e| format!("{path}: {}", said(&e)));
    let mut tried = 0;
    for bus in of("/sys/bus")? {
        let drivers = format!("/sys/bus/{bus}/drivers");
        for driver in of(&drivers)? {
            let path = format!("{drivers}/{driver}/unbind");
            let place = world.at(&path);
            if place.exists() {
                tried += 1;
                if world.attempt(&Act::OpenToWrite(place)).is_ok() {
                    return Err(format!("{path} can be written"));
                }
            }
        }
    }
    match tried {
        0 => Err("there is no driver, so that nothing was tried".to_owned()),
        tried => Ok(format!("none of {tried} drivers")),
    }
}

fn command_line(world: &dyn World) -> Outcome {
    let expected = told(world, "cmdline")?;
    let found = read(world, "/proc/cmdline").map_err(|e| format!("/proc/cmdline: {}", said(&e)))?;
    // How fast the processor's clock ticks is what it was when the machine or its template started.
    let plain = |line: &str| -> Vec<String> {
        let words = line.split_whitespace();
        words
            .filter(|word| !word.starts_with("tsc_early_khz="))
            .map(str::to_owned)
            .collect()
    };
    match plain(&found) == plain(&expected) {
        true => Ok(found.trim().to_owned()),
        false => Err(format!("{:?} instead of {expected:?}", found.trim())),
    }
}

fn clock_source(world: &dyn World) -> Outcome {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let found = read(world, path).map_err(|e| format!("{path}: {}", said(&e)))?;
    // Of `jiffies` and its like a busy host takes some away.
    match ["tsc", "tsc-early", "kvm-clock"].contains(&found.trim()) {
        true => Ok(found.trim().to_owned()),
        false => Err(format!("it is {:?}", found.trim())),
    }
}

fn acts(world: &dyn World, act: &Act, done: &str) -> Outcome {
    match world.attempt(act) {
        Ok(()) => Ok(done.to_owned()),
        Err(error) => Err(said(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::Fake;
    use super::*;

    #[test]
    fn a_kernel_that_refuses_to_load_a_module_knows_modules_and_one_that_has_no_such_call_does_not()
    {
        let mut world = Fake::new();
        world.errno = libc::ENOSYS;
        assert!(modules(&world).is_ok());
        for errno in [libc::EPERM, libc::ENOEXEC] {
            world.errno = errno;
            assert!(modules(&world).is_err());
        }
    }

    #[test]
    fn a_device_that_is_not_there_but_can_be_made_fails() {
        let mut world = Fake::new();
        assert!(device(&world, "/dev/mem", 1).is_ok());
        world.works = true;
        assert!(device(&world, "/dev/mem", 1).is_err());
    }

    #[test]
    fn a_word_more_or_less_on_the_command_line_fails_and_the_clock_does_not() {
        let mut world = Fake::new();
        world
            .told
            .insert("cmdline", "quiet a=b tsc_early_khz=1".to_owned());
        for (line, is) in [
            ("quiet a=b tsc_early_khz=2\n", true),
            ("quiet a=b", true),
            ("quiet a=b init=/bin/sh", false),
            ("quiet", false),
            ("a=b quiet", false),
        ] {
            world.put("proc/cmdline", line);
            assert_eq!(command_line(&world).is_ok(), is, "{line}");
        }
    }
}
