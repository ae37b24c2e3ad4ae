use super::*;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use proptest::prelude::*;
use std::io::Write;

fn packed(content: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn id(kind: Kind, content: &[u8]) -> Vec<u8> {
    let mut hash = Sha1::new();
    hash.update(format!("{} {}\0", kind.name(), content.len()));
    hash.update(content);
    hash.finalize().to_vec()
}

/// A repository's folder of objects.
struct Store(tempfile::TempDir);

impl Store {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("pack")).unwrap();
        Self(dir)
    }

    fn put_as(&self, id: &[u8], packed: &[u8]) -> PathBuf {
        let hex = hex_of(id);
        let path = self.0.path().join(&hex[..2]).join(&hex[2..]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, packed).unwrap();
        path
    }

    fn put(&self, kind: Kind, content: &[u8]) -> Vec<u8> {
        let id = id(kind, content);
        let text = [
            format!("{} {}\0", kind.name(), content.len()).as_bytes(),
            content,
        ]
        .concat();
        self.put_as(&id, &packed(&text));
        id
    }

    fn tree(&self, entries: &[(&str, &str, &[u8])]) -> Vec<u8> {
        let lines = entries
            .iter()
            .map(|(mode, name, id)| [format!("{mode} {name}\0").as_bytes(), id].concat());
        self.put(Kind::Tree, &lines.collect::<Vec<_>>().concat())
    }

    fn commit(&self, tree: &[u8], parents: &[&[u8]]) -> Vec<u8> {
        let mut text = format!("tree {}\n", hex_of(tree));
        for parent in parents {
            text += &format!("parent {}\n", hex_of(parent));
        }
        self.put(
            Kind::Commit,
            format!("{text}author a\n\nparent x").as_bytes(),
        )
    }

    /// A pack of these objects; a change is of the one before it. The path of its list.
    fn pack(&self, objects: &[(u8, &[u8], Vec<u8>)]) -> PathBuf {
        let mut pack = b"PACK\0\0\0\x02".to_vec();
        pack.extend((objects.len() as u32).to_be_bytes());
        let mut listed = Vec::new();
        let mut last = 0;
        for (kind, content, id) in objects {
            let at = pack.len();
            pack.push(kind << 4 | 128 | (content.len() & 15) as u8);
            pack.push((content.len() >> 4) as u8);
            if *kind == 6 {
                pack.push((at - last) as u8);
            }
            pack.extend(packed(content));
            listed.push((id.clone(), at as u32));
            last = at;
        }
        listed.sort();
        let mut list = b"\xfftOc\0\0\0\x02".to_vec();
        for first in 0..=255 {
            let count = listed.iter().filter(|(id, _)| id[0] <= first).count();
            list.extend((count as u32).to_be_bytes());
        }
        list.extend(listed.iter().flat_map(|(id, _)| id.clone()));
        list.extend(vec![0; 4 * listed.len()]);
        list.extend(listed.iter().flat_map(|(_, at)| at.to_be_bytes()));
        let path = self.0.path().join("pack/pack-x.idx");
        fs::write(&path, list).unwrap();
        fs::write(path.with_extension("pack"), pack).unwrap();
        path
    }
}

fn is_meant(path: &[u8], brought: Brought<'_>) -> bool {
    path.ends_with(b".envrc")
        || match brought {
            Brought::File => false,
            Brought::Link(target) => target.starts_with(b"/"),
            Brought::Absent | Brought::Odd => true,
        }
}

#[test]
fn an_object_is_what_its_name_says_or_it_is_none() {
    let store = Store::new();
    let budget = Budget::new(1 << 20);
    let objects = Objects::at(store.0.path(), Path::new("/"), &budget);
    let blob = store.put(Kind::Blob, b"text");
    assert_eq!(objects.read(&blob), Ok((Kind::Blob, b"text".to_vec())));
    for forged in [
        b"blob 4\0TEXT".as_slice(),
        b"blob 5\0text",
        b"blob 3\0text",
        b"tree 4\0text",
        b"blob +4\0text",
        b"blob 4",
        b"",
    ] {
        let path = store.put_as(&blob, &packed(forged));
        assert_eq!(objects.verify_loose(&path, &blob), Err(Fault::Broken));
        assert_eq!(objects.read(&blob), Err(Fault::Broken));
    }
    let path = store.put_as(&blob, b"no zlib");
    assert_eq!(objects.verify_loose(&path, &blob), Err(Fault::Broken));
    assert_eq!(objects.read(&[0; 20]), Err(Fault::Absent));
}

#[test]
fn what_is_too_much_is_not_unpacked() {
    let store = Store::new();
    let blob = store.put(Kind::Blob, &vec![0; 100_000]);
    let budget = Budget::new(50_000);
    let objects = Objects::at(store.0.path(), Path::new("/"), &budget);
    assert_eq!(objects.read(&blob), Err(Fault::TooMuch));
}

/// What makes "base text" to "base more".
const CHANGE: &[u8] = b"\x09\x09\x90\x05\x04more";

#[test]
fn every_object_of_a_pack_is_compared_with_its_name() {
    let base = (3, b"base text".as_slice(), id(Kind::Blob, b"base text"));
    let change = (6, CHANGE, id(Kind::Blob, b"base more"));
    let commit = (1, b"tree x".as_slice(), id(Kind::Commit, b"tree x"));
    let budget = Budget::new(1 << 20);
    let all = [base.clone(), change.clone(), commit.clone()];
    let verify = |objects: &[_]| {
        Pack::open(&Store::new().pack(objects))
            .unwrap()
            .verify(&budget)
    };
    assert_eq!(verify(&all), Ok(vec![commit.2.clone()]));
    for at in 0..3 {
        let mut forged = all.clone();
        forged[at].2[19] ^= 1;
        assert_eq!(verify(&forged), Err(Fault::Broken), "{at}");
    }
    // A change of nothing, and one with no base at all.
    assert_eq!(verify(&[change]), Err(Fault::Broken));
    let store = Store::new();
    store.pack(&all);
    let objects = Objects::at(store.0.path(), Path::new("/"), &budget);
    assert_eq!(
        objects.read(&all[1].2),
        Ok((Kind::Blob, b"base more".to_vec()))
    );
}

#[test]
fn what_a_commit_changes_is_what_no_parent_has() {
    let store = Store::new();
    let budget = Budget::new(1 << 20);
    let objects = Objects::at(store.0.path(), Path::new("/"), &budget);
    let (a, b) = (store.put(Kind::Blob, b"a"), store.put(Kind::Blob, b"b"));
    let sub = |id: &[u8]| store.tree(&[("100644", ".envrc", id), ("100644", "f", &a)]);
    let (sub_a, sub_b) = (sub(&a), sub(&b));
    let first = store.commit(&store.tree(&[("40000", "d", &sub_a)]), &[]);
    let second = store.commit(&store.tree(&[("40000", "d", &sub_b)]), &[&first]);
    let both = store.commit(&store.tree(&[("40000", "d", &sub_b)]), &[&first, &second]);
    let tops = [("100755", ".envrc", a.as_slice()), ("40000", "d", &sub_b)];
    let third = store.commit(&store.tree(&tops), &[&second, &[7; 20]]);
    let of = |commit: &[u8]| {
        let mut found = Changed::new();
        changed(&objects, commit, &is_meant, &mut found).map(|()| found.into_iter().collect())
    };
    let paths = |paths: &[&str]| Ok(paths.iter().map(|path| path.as_bytes().to_vec()).collect());
    assert_eq!(of(&first), paths(&["d/.envrc"]));
    assert_eq!(of(&second), paths(&["d/.envrc"]));
    assert_eq!(of(&both), paths(&[]));
    assert_eq!(of(&third), paths(&[".envrc"]));
    assert_eq!(of(&a), Err::<Vec<_>, _>(Fault::Broken));
}

#[test]
fn a_folder_that_git_takes_for_a_repository_is_found_and_what_a_link_says_is_asked() {
    let store = Store::new();
    let budget = Budget::new(1 << 20);
    let objects = Objects::at(store.0.path(), Path::new("/"), &budget);
    let (a, b) = (store.put(Kind::Blob, b"a"), store.put(Kind::Blob, b"b"));
    let out = store.put(Kind::Blob, b"/etc");
    let of = |tree: &[u8], parents: &[&[u8]]| {
        let mut found = Changed::new();
        let commit = store.commit(tree, parents);
        changed(&objects, &commit, &is_meant, &mut found).unwrap();
        found
            .into_iter()
            .map(|path| String::from_utf8(path).unwrap())
            .collect::<Vec<_>>()
    };
    let file = |name, id| store.tree(&[("100644", name, id)]);
    let with = |name, folder: &[u8]| store.tree(&[("40000", name, folder)]);
    // What is missing may lie in the working tree.
    let fixture = |file: &[u8], folder: &str, within: &[u8]| {
        let tree = [
            ("100644", "HEAD", a.as_slice()),
            ("100644", "file", file),
            ("40000", folder, within),
        ];
        with("docs", &store.tree(&tree))
    };
    let before = fixture(&a, "refs", &file("k", &a));
    assert_eq!(of(&before, &[]), ["docs/HEAD"]);
    let before = store.commit(&before, &[]);
    for (changed, told) in [
        (fixture(&b, "refs", &file("k", &a)), false),
        (fixture(&a, "refs", &file("k", &b)), true),
        (fixture(&a, "hooks", &with("deep", &file("k", &a))), true),
        (fixture(&a, "other", &file("config", &b)), false),
    ] {
        let told = if told { &["docs/HEAD"][..] } else { &[] };
        assert_eq!(of(&changed, &[&before]), told);
    }
    assert_eq!(of(&with("c", &file("head", &a)), &[]), ["c/head"]);
    assert_eq!(of(&file("HEAD", &a), &[]), [""; 0]);
    let [ends, long] =
        [b"in\0".to_vec(), vec![b'a'; 4096]].map(|link| store.put(Kind::Blob, &link));
    let links = [
        ("120000", "absent", [1; 20].as_slice()),
        ("120000", "ends", &ends),
        ("120000", "folder", &before),
        ("120000", "in", &a),
        ("120000", "long", &long),
        ("120000", "out", &out),
    ];
    let told = ["absent", "ends", "folder", "long", "out"];
    assert_eq!(of(&store.tree(&links), &[]), told);
}

#[test]
fn names_of_objects_are_known() {
    let loose = format!("ab/{}", "c".repeat(38));
    assert!(matches!(stored_as(Path::new(&loose)), Some(Stored::Loose(id)) if id.len() == 20));
    let is = |path: &str| stored_as(Path::new(path));
    for pack in ["pack/pack-1.idx", "pack/pack-1.pack"] {
        assert_eq!(is(pack), Some(Stored::Pack));
    }
    for cache in [
        "pack/multi-pack-index",
        "pack/pack-1.bitmap",
        "info/commit-graph",
        "info/commit-graphs/commit-graph-chain",
    ] {
        assert_eq!(is(cache), Some(Stored::Cache), "{cache}");
    }
    for other in [
        "ab/tmp_obj_x",
        "info/packs",
        "pack/tmp_pack_x",
        "ab",
        "AB/x",
    ] {
        assert_eq!(is(other), None, "{other}");
    }
}

proptest! {
    #[test]
    fn no_pack_is_read_beyond_its_end(at in any::<prop::sample::Index>(), byte: u8, list: bool, cut: bool) {
        let store = Store::new();
        let tree = id(Kind::Tree, b"");
        let objects = [
            (3, b"base text".as_slice(), id(Kind::Blob, b"base text")),
            (6, CHANGE, id(Kind::Blob, b"base more")),
            (2, b"".as_slice(), tree.clone()),
        ];
        let path = store.pack(&objects);
        let file = if list { path.clone() } else { path.with_extension("pack") };
        let mut bytes = fs::read(&file).unwrap();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        fs::write(file, bytes).unwrap();
        let budget = Budget::new(1 << 20);
        if let Ok(pack) = Pack::open(&path) {
            let _ = pack.verify(&budget);
        }
        let of = Objects::at(store.0.path(), Path::new("/"), &budget);
        for (_, _, id) in objects {
            if let Ok((kind, content)) = of.read(&id) {
                prop_assert_eq!(self::id(kind, &content), id);
            }
        }
    }

    #[test]
    fn no_change_makes_more_than_it_says(base: Vec<u8>, change: Vec<u8>) {
        let budget = Budget::new(1 << 20);
        let mut change = change;
        if let Some(first) = change.first_mut() {
            *first = base.len() as u8 & 127;
        }
        if let Ok(made) = pack::changed(&base, &change, &budget) {
            prop_assert!(made.len() <= 1 << 20);
        }
    }

    #[test]
    fn trees_and_commits_are_read_whatever_they_say(content: Vec<u8>) {
        let store = Store::new();
        let budget = Budget::new(1 << 20);
        let objects = Objects::at(store.0.path(), Path::new("/"), &budget);
        let tree = store.put(Kind::Tree, &content);
        let commit = store.commit(&tree, &[]);
        let other = store.put(Kind::Commit, &content);
        for commit in [commit, other] {
            let _ = changed(&objects, &commit, &|_, _| true, &mut Changed::new());
        }
    }
}
