//! A cache with images in it that nobody built.

use super::cache::Cache;
use super::hash;
use super::manifest::{FORMAT, Kernel, Manifest, Package, Part, Role};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A cache of its own.
pub(super) struct Fake {
    folder: TempDir,
}

impl Fake {
    pub(super) fn new() -> Self {
        let fake = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fake.cache().prepare().unwrap();
        fake
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(super) fn cache(&self) -> Cache {
        Cache::at(self.path())
    }

    /// An image whose kernel and root file system hold these bytes.
    pub(super) fn image(&self, name: &str, kernel: &str, root: &str) -> Manifest {
        let parts = vec![
            self.part(Role::Kernel, kernel),
            self.part(Role::KernelConfig, "CONFIG_PVH=y\n"),
            self.part(Role::Rootfs, root),
        ];
        let manifest = manifest(name, parts);
        let text = manifest.render().unwrap();
        self.cache()
            .install_text(&text, &self.cache().manifest(name))
            .unwrap();
        manifest
    }

    fn part(&self, role: Role, content: &str) -> Part {
        let part = Part {
            role,
            format: "text".to_owned(),
            size: content.len() as u64,
            blake3: blake3::hash(content.as_bytes()).to_hex().to_string(),
        };
        let path = self.path().join("new");
        fs::write(&path, content).unwrap();
        assert_eq!(hash::file(&path).unwrap(), part.blake3);
        self.cache()
            .install(&path, &self.cache().parts().join(part.file_name()))
            .unwrap();
        part
    }

    /// The names in a folder of the cache, in order.
    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.path().join(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// Where a part of an image lies.
    pub(super) fn part_of(&self, manifest: &Manifest, role: Role) -> PathBuf {
        let part = manifest.part(role).unwrap();
        self.cache().parts().join(part.file_name())
    }
}

/// A manifest with these parts.
pub(super) fn manifest(name: &str, parts: Vec<Part>) -> Manifest {
    Manifest {
        format: FORMAT,
        name: name.to_owned(),
        architecture: "x86_64".to_owned(),
        suite: "trixie".to_owned(),
        asked: "asked".to_owned(),
        inputs: "inputs".to_owned(),
        epoch: 1,
        kernel: Kernel {
            source: "linux-source-6.12".to_owned(),
            version: "6.12.1".to_owned(),
            inputs: "kernel".to_owned(),
        },
        packages: vec![Package {
            name: "git".to_owned(),
            version: "1:2.47.3-0".to_owned(),
        }],
        additions: vec!["uv==1".to_owned()],
        tools: [("mkfs.erofs".to_owned(), "1.5".to_owned())].into(),
        parts,
    }
}
