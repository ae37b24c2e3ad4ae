//! What `bailiwick image` says of a cache. Nothing is built and nothing fetched: the images are
//! folders that a test made.

use crate::support::wait::PATIENCE;
use crate::support::{Finished, Scratch, binary, host_command, run_to_end};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A cache of a test's own.
struct Cache(Scratch);

impl Cache {
    fn new() -> Self {
        Self(Scratch::new())
    }

    fn folder(&self) -> PathBuf {
        self.0.root().join("cache/bailiwick")
    }

    /// `bailiwick image …`, as it ended.
    #[track_caller]
    fn image(&self, arguments: &[&str]) -> Finished {
        let mut command = host_command(binary());
        command
            .arg("image")
            .args(arguments)
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.0.home())
            .env("XDG_CACHE_HOME", self.0.root().join("cache"))
            .current_dir(self.0.workspace());
        run_to_end(&mut command, &[], PATIENCE)
    }

    /// Puts a part there; its row of the manifest.
    fn part(&self, role: &str, content: &str) -> String {
        let hash = blake3::hash(content.as_bytes()).to_hex();
        let path = self.folder().join(format!("parts/{hash}.{role}"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        format!(
            r#"{{"role":"{role}","format":"text","size":{},"blake3":"{hash}"}}"#,
            content.len()
        )
    }

    /// Puts an image there.
    fn with(self, name: &str, root: &str) -> Self {
        let parts = [
            self.part("kernel", "kernel"),
            self.part("kernel-config", "CONFIG_PVH=y"),
            self.part("rootfs", root),
        ];
        let manifest = format!(
            r#"{{"format":4,"name":"{name}","architecture":"x86_64","suite":"trixie","asked":"a",
            "inputs":"i","epoch":1,"kernel":{{"source":"s","version":"6.12.9","inputs":"k"}},
            "packages":[{{"name":"git","version":"1"}}],"additions":[],"tools":{{}},
            "parts":[{}]}}"#,
            parts.join(",")
        );
        let images = self.folder().join("images");
        fs::create_dir_all(&images).unwrap();
        fs::write(images.join(format!("{name}.json")), manifest).unwrap();
        self
    }

    /// The file of the root file system with this content.
    fn root_of(&self, content: &str) -> PathBuf {
        let hash = blake3::hash(content.as_bytes()).to_hex();
        self.folder().join(format!("parts/{hash}.rootfs"))
    }
}

#[track_caller]
fn has(finished: &Finished, code: i32, stdout: &str, stderr: &str) {
    let (out, err) = (finished.stdout(), finished.stderr());
    assert_eq!(finished.status.code(), Some(code), "{out}{err}");
    assert!(out.contains(stdout), "{stdout:?} in {out}");
    assert!(err.contains(stderr), "{stderr:?} in {err}");
}

#[test]
fn an_empty_cache_has_no_images_and_the_way_to_one_is_said() {
    let cache = Cache::new();
    has(
        &cache.image(&["list"]),
        0,
        "",
        "there are no images; `bailiwick image build` makes one",
    );
    has(
        &cache.image(&["verify", "code"]),
        125,
        "",
        "the image \"code\" is not built\n  remedy: `bailiwick image build code` (or `make image`)",
    );
    has(&cache.image(&["verify"]), 0, "", "");
    has(&cache.image(&["gc"]), 0, "0 removed, 0.0 MB freed\n", "");
}

#[test]
fn images_are_listed_and_verified() {
    let cache = Cache::new()
        .with("code", "root")
        .with("agents", "root of agents");
    let listed = cache.image(&["list"]);
    has(&listed, 0, "Debian trixie", "");
    assert_eq!(listed.stdout().lines().count(), 2);
    let json = cache.image(&["list", "--json"]).stdout();
    let first: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(first["name"], "agents");
    assert_eq!(first["id"].as_str().unwrap().len(), 64);
    let verified = cache.image(&["verify"]);
    has(
        &verified,
        0,
        "code: kernel, kernel-config, rootfs are as they were built\n",
        "",
    );
    assert_eq!(verified.stdout().lines().count(), 2);
}

#[test]
fn a_part_that_was_changed_is_named_and_the_other_images_are_looked_at() {
    let cache = Cache::new()
        .with("code", "root")
        .with("agents", "root of agents");
    fs::write(cache.root_of("root of agents"), "root of somebody").unwrap();
    let verified = cache.image(&["verify"]);
    has(
        &verified,
        125,
        "code: kernel",
        "the rootfs of the image \"agents\" is not what was built",
    );
    has(
        &verified,
        125,
        "",
        "remedy: `bailiwick image build --force agents`",
    );
    // A build that is not asked to make everything again would not take it either.
    fs::remove_file(cache.root_of("root of agents")).unwrap();
    has(
        &cache.image(&["verify", "agents"]),
        125,
        "",
        "the rootfs of the image \"agents\" is missing",
    );
}

#[test]
fn a_manifest_that_is_damaged_hides_no_other() {
    let cache = Cache::new().with("code", "root");
    fs::write(cache.folder().join("images/agents.json"), "{").unwrap();
    has(
        &cache.image(&["list"]),
        125,
        "code",
        "the image \"agents\" cannot be used",
    );
    has(
        &cache.image(&["gc"]),
        125,
        "",
        "remedy: `bailiwick image build --force agents`",
    );
    assert!(cache.root_of("root").exists());
}

#[test]
fn gc_removes_what_no_image_names_and_says_how_much() {
    let cache = Cache::new().with("code", "old root").with("code", "root");
    let dead = cache.folder().join("scratch/1");
    fs::create_dir_all(&dead).unwrap();
    fs::write(dead.join("rootfs"), vec![1; 1_000_000]).unwrap();
    let held = File::open(cache.root_of("old root")).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockShared).unwrap();
    has(
        &cache.image(&["gc"]),
        0,
        "1 removed, 1.0 MB freed; 1 more held by machines that run\n",
        "",
    );
    drop(held);
    has(&cache.image(&["gc"]), 0, "1 removed, ", "");
    assert!(!cache.root_of("old root").exists() && !dead.exists());
    has(&cache.image(&["verify"]), 0, "code: ", "");
}

#[test]
fn a_spec_with_a_mistake_is_told_with_line_and_column() {
    let cache = Cache::new();
    let spec = "name = \"mine\"\nextends = \"code\"\npackages = [\"jq\", \"Jq\"]\n";
    cache.0.write("workspace/mine.toml", spec);
    has(
        &cache.image(&["build", "mine.toml"]),
        2,
        "",
        "mine.toml:3:19: \"Jq\" cannot be a name of Debian's; use a-z, 0-9, +, - and ., and no version",
    );
    has(
        &cache.image(&["build", "cod"]),
        2,
        "",
        "there is no image \"cod\"; there are code and agents",
    );
    has(
        &cache.image(&["build", "./none.toml"]),
        2,
        "",
        "./none.toml cannot be read",
    );
}

#[test]
fn without_a_home_there_is_no_cache() {
    let mut command = host_command(binary());
    command.args(["image", "list"]).env_clear();
    let finished = run_to_end(&mut command, &[], PATIENCE);
    has(
        &finished,
        2,
        "",
        "neither XDG_CACHE_HOME nor HOME is an absolute path",
    );
}

#[test]
fn a_cache_that_cannot_be_written_can_be_read() {
    let cache = Cache::new().with("code", "root");
    let parts = cache.folder().join("parts");
    fs::set_permissions(&parts, Permissions::from_mode(0o555)).unwrap();
    has(&cache.image(&["verify"]), 0, "code: ", "");
    fs::set_permissions(&parts, Permissions::from_mode(0o755)).unwrap();
}
