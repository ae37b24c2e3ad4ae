//! The machine's files: what cannot be changed, what is the session's, what stays.

use super::check::{Check, Outcome, said};
use super::world::{Act, World, list, read, told};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "files.root-device",
        expected: "every disk is read-only in the device itself, and no program can open one",
        remedy: "this is a defect of bailiwick (crates/vm/src/machine.rs): report it",
        probe: root_device,
    },
    Check {
        name: "files.setuid",
        expected: "no program of the image changes its user or group",
        remedy: "build the image again: images/prepare takes these bits away",
        probe: setuid,
    },
    Check {
        name: "files.guest-binary",
        expected: "root in the machine cannot change the machine's first program",
        remedy: "this is a defect of bailiwick (crates/guest/src/root.rs): report it",
        probe: guest_binary,
    },
    Check {
        name: "files.fresh",
        expected: "what an earlier machine has written to its root is not there",
        remedy: "something of the host appears where the machine's own root should be: look at \
                 `bailiwick policy show`",
        probe: fresh,
    },
    Check {
        name: "files.venv",
        expected: "uv is on the search path, and this session can write into /opt/venv",
        remedy: "build the image again, with a package index that has uv",
        probe: venv,
    },
    Check {
        name: "again.workspace",
        expected: "what the first machine wrote into the workspace is there in the second",
        remedy: "the workspace is not the host's folder: look at `bailiwick policy show --explain` of it",
        probe: kept,
    },
];

fn root_device(world: &dyn World) -> Outcome {
    let disks = list(world, "/sys/block").map_err(|e| format!("/sys/block: {}", said(&e)))?;
    if disks.is_empty() {
        return Err("there is no disk, so that nothing was looked at".to_owned());
    }
    for disk in &disks {
        let flag = read(world, &format!("/sys/block/{disk}/ro")).unwrap_or_default();
        if flag.trim() != "1" {
            return Err(format!("{disk} can be written (ro is {:?})", flag.trim()));
        }
        let number = read(world, &format!("/sys/block/{disk}/dev")).unwrap_or_default();
        let Some((major, minor)) = number.trim().split_once(':') else {
            return Err(format!("{disk} has no number ({:?})", number.trim()));
        };
        let (Ok(major), Ok(minor)) = (major.parse(), minor.parse()) else {
            return Err(format!("{disk} has no number ({:?})", number.trim()));
        };
        let path = world.at("/tmp").join("bailiwick-doctor-disk");
        let made = world.attempt(&Act::MakeDevice(path.clone(), true, major, minor));
        let opened = world.attempt(&Act::OpenToWrite(path.clone()));
        let _ = std::fs::remove_file(path);
        if opened.is_ok() {
            return Err(format!("{disk} was opened for writing"));
        }
        if made.is_ok() {
            return Err(format!("a file of {disk} could be made"));
        }
    }
    Ok(format!("{}: read-only, and out of reach", disks.join(", ")))
}

fn setuid(world: &dyn World) -> Outcome {
    let root = world.at("/");
    let device = root
        .symlink_metadata()
        .map_err(|e| format!("/: {}", said(&e)))?
        .dev();
    let mut folders = vec![root];
    let mut seen = 0_u64;
    while let Some(folder) = folders.pop() {
        // What cannot be read here cannot be executed here either, but it must not hide anything.
        let entries = std::fs::read_dir(&folder)
            .map_err(|e| format!("{}: {}", folder.display(), said(&e)))?;
        for entry in entries.flatten() {
            let Ok(data) = entry.path().symlink_metadata() else {
                continue;
            };
            if data.is_dir() && data.dev() == device {
                folders.push(entry.path());
            } else if data.is_file() {
                seen += 1;
                if data.permissions().mode() & 0o6000 != 0 {
                    return Err(format!(
                        "{} has mode {:o}",
                        entry.path().display(),
                        data.mode() & 0o7777
                    ));
                }
            }
        }
    }
    match seen {
        0 => Err("no file was found, so that nothing was looked at".to_owned()),
        seen => Ok(format!("none of {seen} files")),
    }
}

fn guest_binary(world: &dyn World) -> Outcome {
    let path = world
        .told("guest")
        .unwrap_or_else(|| "/run/bailiwick/guest".to_owned());
    let place = world.at(&path);
    if !place.is_file() {
        return Err(format!("{path} is not there, so that nothing was tried"));
    }
    let own = world.at("/proc/1/exe");
    for act in [
        Act::OpenToWrite(place.clone()),
        Act::OpenToWrite(own),
        Act::Replace(place),
    ] {
        if world.attempt(&act).is_ok() {
            return Err(format!("it worked: {act:?}"));
        }
    }
    Ok(format!("{path} and the file of pid 1 are out of reach"))
}

fn fresh(world: &dyn World) -> Outcome {
    let path = world
        .told("marker")
        .unwrap_or_else(|| "/var/lib/bailiwick-doctor".to_owned());
    let path = world.at(&path);
    if path.exists() {
        return Err(format!(
            "{} is there from an earlier machine",
            path.display()
        ));
    }
    std::fs::write(&path, "an earlier machine")
        .map_err(|e| format!("{} cannot be written: {}", path.display(), said(&e)))?;
    Ok("the root is as the image has it, and can be written".to_owned())
}

fn venv(world: &dyn World) -> Outcome {
    let ran = world
        .shell("uv --version")
        .map_err(|e| format!("sh: {}", said(&e)))?;
    if ran.code != 0 || !ran.said.starts_with("uv ") {
        return Err(format!("uv cannot be run: {}", ran.last()));
    }
    let place = world.at("/opt/venv").join("bailiwick-doctor");
    write_and_remove(&place)?;
    Ok(format!("{}; /opt/venv can be written", ran.said.trim()))
}

fn write_and_remove(path: &Path) -> Result<(), String> {
    std::fs::write(path, "x")
        .and_then(|()| std::fs::remove_file(path))
        .map_err(|e| format!("{}: {}", path.display(), said(&e)))
}

fn kept(world: &dyn World) -> Outcome {
    let (path, value) = (told(world, "kept-at")?, told(world, "kept")?);
    match std::fs::read_to_string(world.at(&path)) {
        Ok(found) if found == value => Ok("it is there".to_owned()),
        Ok(found) => Err(format!("{path} holds {found:?}")),
        Err(error) => Err(format!("{path}: {}", said(&error))),
    }
}
