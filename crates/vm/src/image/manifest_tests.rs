use super::{FORMAT, Manifest, Role, names, read};
use crate::image::fake::Fake;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Changes a text of the cache, which is read-only.
fn rewrite(fake: &Fake, name: &str, change: impl FnOnce(&str) -> String) {
    let path = fake.cache().manifest(name);
    let text = fs::read_to_string(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(&path, change(&text)).unwrap();
}

#[test]
fn a_manifest_is_read_as_it_was_written() {
    let fake = Fake::new();
    let written = fake.image("code", "kernel", "root");
    let (found, id) = read(&fake.cache(), "code").unwrap();
    assert_eq!(found, written);
    assert_eq!(
        id,
        blake3::hash(written.render().unwrap().as_bytes())
            .to_hex()
            .to_string()
    );
    let again: Manifest = serde_json::from_str(&written.render().unwrap()).unwrap();
    assert_eq!(again.render().unwrap(), written.render().unwrap());
}

#[test]
fn two_images_of_the_same_have_the_same_identity() {
    let (here, there) = (Fake::new(), Fake::new());
    for fake in [&here, &there] {
        fake.image("code", "kernel", "root");
    }
    let id = |fake: &Fake| read(&fake.cache(), "code").unwrap().1;
    assert_eq!(id(&here), id(&there));
    there.image("code", "kernel", "another root");
    assert_ne!(id(&here), id(&there));
}

#[test]
fn an_image_that_is_not_built_names_the_remedy() {
    let fake = Fake::new();
    let said = |name: &str| read(&fake.cache(), name).unwrap_err();
    assert_eq!(
        said("code").to_string(),
        "the image \"code\" is not built\n  remedy: `bailiwick image build code` (or `make image`)"
    );
    assert_eq!(said("code").exit_code(), 125);
    assert!(
        said("agents")
            .to_string()
            .ends_with("`bailiwick image build agents`")
    );
    assert_eq!(said("../code").exit_code(), 2, "a name leads nowhere else");
}

#[test]
fn a_manifest_that_is_none_is_no_image() {
    let fake = Fake::new();
    for (change, said) in [
        ("{", "EOF while parsing"),
        (
            "{\"format\": 3}",
            "it has format 3, and this version of bailiwick reads 4",
        ),
        ("{\"format\": 4}", "missing field"),
    ] {
        fake.image("code", "kernel", "root");
        rewrite(&fake, "code", |_| change.to_owned());
        let failure = read(&fake.cache(), "code").unwrap_err().to_string();
        assert!(failure.contains(said), "{failure}");
        assert!(
            failure.ends_with("remedy: `bailiwick image build --force code`"),
            "{failure}"
        );
    }
    assert_eq!(FORMAT, 4);
}

#[test]
fn no_manifest_names_a_file_outside_of_the_parts() {
    let fake = Fake::new();
    let manifest = fake.image("code", "kernel", "root");
    let kernel = &manifest.part(Role::Kernel).unwrap().blake3;
    rewrite(&fake, "code", |text| {
        text.replace(kernel, "../../../etc/passwd")
    });
    let failure = read(&fake.cache(), "code").unwrap_err().to_string();
    assert!(failure.contains("something that is no hash"), "{failure}");
}

#[test]
fn a_manifest_under_another_name_is_not_taken() {
    let fake = Fake::new();
    fake.image("code", "kernel", "root");
    fs::rename(
        fake.cache().manifest("code"),
        fake.cache().manifest("agents"),
    )
    .unwrap();
    let failure = read(&fake.cache(), "agents").unwrap_err().to_string();
    assert!(
        failure.contains("it is the manifest of \"code\""),
        "{failure}"
    );
}

#[test]
fn what_is_no_manifest_is_no_image() {
    let fake = Fake::new();
    assert!(names(&fake.cache()).unwrap().is_empty());
    fake.image("code", "kernel", "root");
    fake.image("agents", "kernel", "root");
    fs::write(fake.cache().images().join("code.json.12.new"), "").unwrap();
    fs::write(fake.cache().images().join("-x.json"), "").unwrap();
    assert_eq!(names(&fake.cache()).unwrap(), ["agents", "code"]);
}
