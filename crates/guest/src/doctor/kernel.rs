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
        name: "kernel.command-line",
        expected: "the words that the host has given, and no others",
        remedy: "the machine was started by something else than this bailiwick, or the image's kernel \
                 has words of its own: build the image again",
        probe: command_line,
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

fn acts(world: &dyn World, act: &Act, done: &str) -> Outcome {
    match world.attempt(act) {
        Ok(()) => Ok(done.to_owned()),
        Err(error) => Err(said(&error)),
    }
}
