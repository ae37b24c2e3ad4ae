//! In a container nothing starts silently weaker: what a container engine leaves is used, and what it
//! keeps back is said in a line, with the remedy. Only root can make the containers.

use crate::support::{Finished, Sandbox, binary, host_command, run_to_end};
use serde_json::{Value, json};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::time::Duration;

/// What of the root a container has of its own.
const OWN: [&str; 6] = ["dev", "proc", "sys", "tmp", "run", "lost+found"];

/// Runs `bailiwick WORDS` in a container of runc's default shape (masked files in /proc, few
/// capabilities), where user namespaces can be made or not.
fn contained(sandbox: &Sandbox, uid: u32, namespaces: bool, words: &[&str]) -> Finished {
    let scratch = sandbox.scratch().root();
    let bundle = scratch.join("bundle");
    let root = bundle.join("rootfs");
    std::fs::create_dir_all(&root).unwrap();
    let program = sandbox.scratch().copy_of_program(binary(), "bailiwick");
    std::fs::set_permissions(&scratch, std::fs::Permissions::from_mode(0o755)).unwrap();
    for folder in [
        sandbox.workspace(),
        sandbox.scratch().state(),
        sandbox.scratch().home(),
    ] {
        chown(folder, Some(uid), Some(uid)).unwrap();
    }
    let spec = host_command("runc")
        .arg("spec")
        .current_dir(&bundle)
        .status();
    assert!(spec.expect("runc").success());
    let config = bundle.join("config.json");
    let mut spec: Value = serde_json::from_slice(&std::fs::read(&config).unwrap()).unwrap();
    let process = &mut spec["process"];
    process["terminal"] = false.into();
    process["user"] = json!({"uid": uid, "gid": uid});
    process["cwd"] = json!(sandbox.workspace());
    process["args"] = json!([program]);
    process["args"]
        .as_array_mut()
        .unwrap()
        .extend(words.iter().map(|word| json!(word)));
    process["env"] = json!([
        "PATH=/usr/bin:/bin",
        format!("HOME={}", sandbox.scratch().home().display()),
        format!("XDG_STATE_HOME={}", sandbox.scratch().state().display()),
        format!("XDG_CONFIG_HOME={}", sandbox.scratch().config().display()),
    ]);
    // The kernel refuses a user namespace to a program in whose bounding set nothing is.
    process["noNewPrivileges"] = false.into();
    let mounts = spec["mounts"].as_array_mut().unwrap();
    mounts.push(json!({"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"}));
    mounts.extend(of_host(&root));
    mounts.push(bind(&scratch, "rw"));
    if !namespaces {
        let new_user = json!([{"index": 0, "value": 0x1000_0000, "valueTwo": 0x1000_0000,
                               "op": "SCMP_CMP_MASKED_EQ"}]);
        let refused = json!({"names": ["unshare", "clone"], "action": "SCMP_ACT_ERRNO",
                             "errnoRet": 1, "args": new_user});
        let absent = json!({"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38});
        spec["linux"]["seccomp"] = json!({"defaultAction": "SCMP_ACT_ALLOW",
                                          "syscalls": [refused, absent]});
    }
    std::fs::write(&config, serde_json::to_vec(&spec).unwrap()).unwrap();
    let name = scratch.file_name().unwrap();
    let mut command = host_command("runc");
    command.arg("--root").arg(scratch.join("runc"));
    command.args(["run", "--bundle"]).arg(&bundle).arg(name);
    run_to_end(&mut command, &[], Duration::from_secs(120))
}

fn bind(path: &Path, write: &str) -> Value {
    json!({"destination": path, "type": "bind", "source": path, "options": ["rbind", write]})
}

/// The host's own folders, read-only, and its links.
fn of_host(root: &Path) -> Vec<Value> {
    let mut mounts = Vec::new();
    for entry in std::fs::read_dir("/").unwrap().flatten() {
        let (name, kind) = (entry.file_name(), entry.file_type().unwrap());
        if kind.is_symlink() {
            let _ = symlink(std::fs::read_link(entry.path()).unwrap(), root.join(name));
        } else if kind.is_dir() && OWN.iter().all(|own| name != *own) {
            mounts.push(bind(&entry.path(), "ro"));
        }
    }
    mounts
}

fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

#[test]
fn without_user_namespaces_nothing_starts_unless_the_user_accepts_it() {
    if !is_root() {
        return;
    }
    for uid in [0, 1000] {
        let sandbox = Sandbox::new();
        let said = contained(&sandbox, uid, false, &["run", "--", "touch", "started"]);
        assert_eq!(said.status.code(), Some(125), "{}", said.stderr());
        let text = said.stderr();
        assert!(
            text.starts_with("bailiwick: not started: the user namespace"),
            "{text}"
        );
        assert!(text.contains("--security-opt seccomp=unconfined"), "{text}");
        assert!(!sandbox.workspace().join("started").exists());
    }
}

#[test]
fn what_the_user_accepts_runs_and_the_first_line_says_what_it_is() {
    if !is_root() {
        return;
    }
    for uid in [0, 1000] {
        let sandbox = Sandbox::new().home_file(".ssh/id", "the key\n");
        let line = [
            "run",
            "--best-effort",
            "-c",
            "echo x > new; cat ~/.ssh/id || echo held",
        ];
        let said = contained(&sandbox, uid, false, &line).success();
        assert_eq!(said.stdout(), "held\n");
        assert!(
            said.stderr().starts_with("bailiwick: no namespaces here"),
            "{}",
            said.stderr()
        );
        assert!(sandbox.workspace().join("new").exists());
    }
}

#[test]
fn a_proc_that_is_masked_is_never_shown_in_the_place_of_a_private_one() {
    if !is_root() {
        return;
    }
    let sandbox = Sandbox::new();
    let said = contained(&sandbox, 1000, true, &["run", "--", "touch", "started"]);
    let text = said.stderr();
    assert_eq!(said.status.code(), Some(125), "{text}");
    assert!(
        text.starts_with("bailiwick: not started: a private /proc cannot be had"),
        "{text}"
    );
    assert!(
        text.contains("--security-opt systempaths=unconfined"),
        "{text}"
    );
    assert!(!sandbox.workspace().join("started").exists());
}

#[test]
fn the_doctor_says_what_nothing_stops_in_a_container() {
    if !is_root() {
        return;
    }
    let said = contained(&Sandbox::new(), 1000, false, &["doctor"]);
    assert_eq!(said.status.code(), Some(1));
    for what in bailiwick_process::WITHOUT_NAMESPACES {
        assert!(said.stdout().contains(what), "{}", said.stdout());
    }
}
