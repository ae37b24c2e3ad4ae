use super::*;
use bailiwick_event::Origin;
use bailiwick_policy::{FilesystemPolicy, Written};
use std::os::unix::fs::symlink;
use tempfile::TempDir;

struct World {
    dir: TempDir,
    filesystem: FilesystemPolicy,
    /// Folders of earlier runs.
    earlier: Vec<PathBuf>,
}

impl World {
    fn new(files: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        Self {
            dir,
            filesystem: FilesystemPolicy::default(),
            earlier: Vec::new(),
        }
    }
    fn link(self, path: &str, target: &str) -> Self {
        symlink(self.top().join(target), self.top().join(path)).unwrap();
        self
    }
    fn earlier(mut self, folder: &str) -> Self {
        self.earlier.push(self.top().join(folder));
        self
    }
    fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }
    fn entry(&self, path: &str) -> PathEntry {
        let origin = Origin::new("bailiwick.toml", 7, 3);
        PathEntry {
            pattern: PathPattern::Path(self.top().join(path)),
            origin,
        }
    }
    fn write(mut self, path: &str) -> Self {
        self.filesystem.write.push(self.entry(path));
        self
    }
    fn read(mut self, path: &str) -> Self {
        self.filesystem.read.push(self.entry(path));
        self
    }
    fn protect(mut self, path: &str) -> Self {
        self.filesystem.protect.push(self.entry(path));
        self
    }
    fn deny(mut self, path: &str) -> Self {
        self.filesystem.deny.push(self.entry(path));
        self
    }
    fn plan(&self) -> Result<Plan, Failure> {
        let list = self.top().join("written");
        Written::remember(&list, &self.earlier).unwrap();
        let policy = Effective {
            filesystem: self.filesystem.clone(),
            written: Some(list),
            ..Effective::empty(self.top().join("ws"), self.top().join("home"))
        };
        Plan::new(&policy, &self.top().join("private"), false, None)
    }
    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.top()).unwrap().display().to_string()
    }
}

fn mounts(world: &World) -> Vec<(String, Access)> {
    let plan = world.plan().unwrap();
    plan.binds
        .iter()
        .map(|b| (world.relative(&b.at), b.access))
        .collect()
}

#[test]
fn parents_are_mounted_before_children_and_what_is_covered_is_not_mounted_again() {
    let world = World::new(&["ws/a/b/f", "ws/ro/f"])
        .write("ws")
        .read("ws/ro")
        .write("ws/a/b");
    assert_eq!(
        mounts(&world),
        [("ws".into(), Access::Write), ("ws/ro".into(), Access::Read)]
    );
}

#[test]
fn the_stronger_access_of_one_path_wins() {
    let world = World::new(&["ws/f"]).read("ws").write("ws");
    assert_eq!(mounts(&world), [("ws".into(), Access::Write)]);
}

#[test]
fn a_protected_hook_pins_its_control_folder_but_no_source_folder() {
    let world = World::new(&["ws/sub/.git/hooks/x"])
        .write("ws")
        .protect("ws/sub/.git/hooks");
    let plan = world.plan().unwrap();
    let list = |paths: &[PathBuf]| paths.iter().map(|p| world.relative(p)).collect::<Vec<_>>();
    assert_eq!(list(&plan.protected), ["ws/sub/.git/hooks"]);
    assert_eq!(list(&plan.pinned), ["ws/sub/.git"]);
}

#[test]
fn the_git_file_of_a_worktree_is_protected_in_place_of_its_hooks() {
    let world = World::new(&["ws/.git"])
        .write("ws")
        .protect("ws/.git/hooks");
    let plan = world.plan().unwrap();
    assert_eq!(world.relative(&plan.protected[0]), "ws/.git");
}

#[test]
fn a_protected_link_is_refused_with_its_policy_line() {
    let world = World::new(&["ws/real/h"]).write("ws").protect("ws/hooks");
    symlink("real", world.top().join("ws/hooks")).unwrap();
    let Err(Failure::Refused(refused)) = world.plan() else {
        panic!("not refused")
    };
    assert_eq!(
        refused.rule.to_string(),
        "filesystem.protect (bailiwick.toml:7:3)"
    );
}

#[test]
fn what_is_not_visible_needs_no_mask() {
    let world = World::new(&["home/.ssh/id", "ws/f", "ws/.env"])
        .write("ws")
        .deny("home/.ssh")
        .deny("ws/.env")
        .deny("ws/absent");
    let plan = world.plan().unwrap();
    let masked: Vec<_> = plan
        .masked
        .iter()
        .map(|mask| (world.relative(&mask.at), mask.folder))
        .collect();
    assert_eq!(masked, [("ws/.env".into(), false)]);
}

#[test]
fn a_denied_link_hides_what_it_leads_to() {
    let world = World::new(&["ws/secret/key"]).write("ws").deny("ws/link");
    symlink("secret", world.top().join("ws/link")).unwrap();
    let plan = world.plan().unwrap();
    let mask = Mask {
        at: world.top().join("ws/secret"),
        folder: true,
    };
    assert_eq!(plan.masked, [mask]);
}

#[test]
fn links_outside_of_every_mount_are_made_again() {
    let world = World::new(&["usr/bin/sh", "ws/f"]).read("bin").read("usr");
    symlink("usr/bin", world.top().join("bin")).unwrap();
    let plan = world.plan().unwrap();
    assert_eq!(plan.links.len(), 1);
    assert_eq!(plan.links[0].at, world.top().join("bin"));
    assert_eq!(
        plan.binds.len(),
        1,
        "what the link leads to is mounted once"
    );
}

/// Why a plan is refused, without the folder of the test.
fn refused_for(world: &World) -> String {
    let Err(Failure::Refused(refused)) = world.plan() else {
        panic!("not refused")
    };
    assert_eq!(refused.rule.origin.to_string(), "bailiwick.toml:7:3");
    let text = format!("{} | {}", refused.resource, refused.remedy);
    text.replace(&format!("{}/", world.top().display()), "")
}

#[test]
fn a_link_of_this_run_or_of_an_earlier_one_does_not_choose_what_is_shown() {
    let world = || World::new(&["ws/f", "old/f", "secret/key"]).write("ws");
    assert_eq!(
        refused_for(&world().link("ws/pkg", "secret").read("ws/pkg")),
        "ws/pkg is a symbolic link in a folder that a sandbox may write, and leads to secret | write \
         the path that is meant, without the link: \"secret\", if it is that"
    );
    let old = || world().link("old/pkg", "secret").earlier("old");
    assert_eq!(
        refused_for(&old().read("old/pkg/key")),
        "old/pkg is a symbolic link in a folder that an earlier sandbox could write (old), and leads to \
         secret/key | write the path that is meant, without the link: \"secret/key\", if it is that"
    );
    assert!(refused_for(&old().write("old/pkg")).starts_with("old/pkg is"));
    // Nobody else's link is suspicious.
    let mine = world().link("pkg", "secret").read("pkg").earlier("old");
    assert!(mounts(&mine).contains(&("secret".into(), Access::Read)));
}

#[test]
fn a_link_of_a_sandbox_to_what_is_there_anyway_costs_nothing() {
    let world = || {
        World::new(&["ws/a/f", "tools/bin/x"])
            .write("ws")
            .read("tools")
    };
    for (link, target) in [("ws/b", "ws/a"), ("ws/b", "tools/bin")] {
        world().link(link, target).read(link).plan().unwrap();
    }
    // It is there, but not with that access.
    let more = world().link("ws/b", "tools/bin").write("ws/b");
    assert!(refused_for(&more).contains("leads to tools/bin"));
    // Another entry of the same kind does not make it be there.
    let two = world().link("ws/b", "home").link("ws/c", "home");
    fs::create_dir_all(two.top().join("home/x")).unwrap();
    assert!(refused_for(&two.read("ws/b").read("ws/c/x")).contains("leads to home"));
}
