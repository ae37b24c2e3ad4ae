use super::{Collected, collect};
use crate::image::fake::Fake;
use crate::image::{Role, open};
use std::fs;

fn collected(fake: &Fake) -> Collected {
    collect(fake.path(), &mut |_| panic!("nobody else is here")).unwrap()
}

#[test]
fn what_an_image_names_stays_and_the_rest_goes() {
    let fake = Fake::new();
    fake.image("code", "kernel", "old root");
    open(fake.path(), "code").unwrap();
    fake.image("code", "kernel", "new root");
    fake.image("agents", "kernel", "root of agents");
    let done = collected(&fake);
    assert_eq!((done.removed, done.held), (1, 0));
    assert!(done.freed > 0);
    for name in ["code", "agents"] {
        open(fake.path(), name).unwrap();
    }
    assert_eq!(collected(&fake), Collected::default());
}

#[test]
fn what_a_machine_runs_on_stays_until_it_ends() {
    let fake = Fake::new();
    let old = fake.image("code", "old kernel", "old root");
    let held = open(fake.path(), "code").unwrap().hold().unwrap();
    let also = open(fake.path(), "code").unwrap().hold().unwrap();
    fake.image("code", "new kernel", "new root");
    let done = collected(&fake);
    assert_eq!((done.removed, done.held), (0, 2));
    drop(held);
    assert_eq!(collected(&fake).held, 2, "another still runs");
    assert!(fake.part_of(&old, Role::Rootfs).exists());
    drop(also);
    let done = collected(&fake);
    assert_eq!((done.removed, done.held), (2, 0));
    assert!(!fake.part_of(&old, Role::Rootfs).exists());
}

#[test]
fn an_image_that_was_removed_meanwhile_cannot_be_held() {
    let fake = Fake::new();
    fake.image("code", "old kernel", "old root");
    let opened = open(fake.path(), "code").unwrap();
    fake.image("code", "new kernel", "new root");
    collected(&fake);
    assert!(opened.hold().is_err());
    open(fake.path(), "code").unwrap().hold().unwrap();
}

#[test]
fn an_interrupted_build_leaves_nothing_that_looks_finished() {
    let fake = Fake::new();
    fake.image("code", "kernel", "root");
    // One that was killed: its folder is there, and nobody holds its lock.
    let dead = fake.path().join("scratch/1");
    fs::create_dir_all(dead.join("kernel")).unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    fs::write(dead.join("rootfs"), "half of it").unwrap();
    fs::write(fake.path().join("images/agents.json.1.new"), "{").unwrap();
    assert!(
        open(fake.path(), "agents")
            .unwrap_err()
            .to_string()
            .contains("is not built")
    );
    // One that goes on.
    let living = fake.cache().begin().unwrap();
    fs::write(living.path.join("rootfs"), "half of it").unwrap();
    assert_eq!(collected(&fake).removed, 1);
    assert!(!dead.exists());
    assert!(living.path.join("rootfs").exists());
    assert_eq!(fake.names("images"), ["code.json"]);
    drop(living);
    assert!(fake.names("scratch").is_empty());
}

#[test]
fn where_a_manifest_cannot_be_read_nothing_is_removed() {
    let fake = Fake::new();
    let code = fake.image("code", "kernel", "root");
    fs::remove_file(fake.cache().manifest("code")).unwrap();
    fs::write(fake.cache().manifest("code"), "{").unwrap();
    assert!(collect(fake.path(), &mut |_| {}).is_err());
    assert!(fake.part_of(&code, Role::Rootfs).exists());
}

#[test]
fn the_second_waits_for_the_first() {
    let fake = Fake::new();
    let first = fake
        .cache()
        .lock(&mut |_| panic!("nobody is here"))
        .unwrap();
    let (begun, waits) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let cache = fake.cache();
        let second = scope.spawn(move || {
            cache
                .lock(&mut |holder| begun.send(holder.to_owned()).unwrap())
                .unwrap();
        });
        let holder = waits.recv().unwrap();
        assert_eq!(holder, format!("process {}", std::process::id()));
        assert!(!second.is_finished());
        drop(first);
        second.join().unwrap();
    });
}
