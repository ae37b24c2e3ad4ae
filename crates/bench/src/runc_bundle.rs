//! An OCI bundle that shows a container the host's own files, read-only: a container runtime is
//! comparable with a sandbox only when both start the same programs.

use crate::workload::Job;
use rustix::process::{getgid, getuid};
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};

/// Folders of the root that a container has its own of, or none.
const OWN: [&str; 6] = ["dev", "proc", "sys", "tmp", "run", "lost+found"];

/// Writes a bundle for one command below `settings`; one for each program and its words.
pub(crate) fn write(settings: &Path, workspace: &Path, job: &Job) -> io::Result<PathBuf> {
    let text = job
        .argv
        .iter()
        .flat_map(|word| [word.as_encoded_bytes(), b"\0"])
        .collect::<Vec<_>>()
        .concat();
    let bundle = settings.join(&blake3::hash(&text).to_hex()[..16]);
    let root = bundle.join("rootfs");
    std::fs::create_dir_all(&root)?;
    let mut mounts = Vec::new();
    for entry in std::fs::read_dir("/")? {
        let entry = entry?;
        let (name, kind) = (entry.file_name(), entry.file_type()?);
        if OWN.iter().any(|own| name == *own) {
            continue;
        }
        if kind.is_symlink() {
            let link = root.join(&name);
            if link.symlink_metadata().is_err() {
                std::os::unix::fs::symlink(std::fs::read_link(entry.path())?, link)?;
            }
        } else if kind.is_dir() {
            let path = entry.path().to_string_lossy().into_owned();
            mounts.push(bind(&path, &["rbind", "rro", "rprivate"]));
        }
    }
    mounts.extend([
        json!({"destination": "/proc", "type": "proc", "source": "proc"}),
        json!({"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
               "options": ["nosuid", "strictatime", "mode=755", "size=65536k"]}),
        json!({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
               "options": ["nosuid", "nodev"]}),
        bind(&workspace.to_string_lossy(), &["rbind", "rw", "rprivate"]),
    ]);
    std::fs::write(
        bundle.join("config.json"),
        serde_json::to_vec_pretty(&config(workspace, job, &mounts))?,
    )?;
    Ok(bundle)
}

fn bind(path: &str, options: &[&str]) -> Value {
    json!({"destination": path, "type": "bind", "source": path, "options": options})
}

fn config(workspace: &Path, job: &Job, mounts: &[Value]) -> Value {
    let words: Vec<_> = job.argv.iter().map(|w| w.to_string_lossy()).collect();
    let variables: Vec<String> = ["PATH", "HOME"]
        .iter()
        .filter_map(|name| Some(format!("{name}={}", std::env::var(name).ok()?)))
        .collect();
    let mut namespaces: Vec<Value> = ["pid", "network", "ipc", "uts", "mount"]
        .iter()
        .map(|kind| json!({"type": kind}))
        .collect();
    let mut linux = json!({});
    if !getuid().is_root() {
        namespaces.push(json!({"type": "user"}));
        let map = |id: u32| json!([{"containerID": 0, "hostID": id, "size": 1}]);
        linux["uidMappings"] = map(getuid().as_raw());
        linux["gidMappings"] = map(getgid().as_raw());
    }
    linux["namespaces"] = namespaces.into();
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": {"uid": 0, "gid": 0},
            "args": words,
            "env": variables,
            "cwd": workspace,
            "capabilities": {},
            "noNewPrivileges": true,
        },
        "root": {"path": "rootfs", "readonly": true},
        "hostname": "bench",
        "mounts": mounts,
        "linux": linux,
    })
}
