use super::*;
use crate::monitor::Shown;
use crate::paths::Link;
use crate::plan::{Access, Bind, Mask};
use crate::skeleton::Content;
use proptest::prelude::*;
use std::os::unix::ffi::OsStringExt;

/// Any bytes that a name may have.
fn word() -> impl Strategy<Value = OsString> {
    prop::collection::vec(1..=u8::MAX, 0..40).prop_map(OsString::from_vec)
}

fn path() -> impl Strategy<Value = PathBuf> {
    word().prop_map(PathBuf::from)
}

prop_compose! {
    fn plan()(
        links in prop::collection::vec((path(), path()), 0..4),
        binds in prop::collection::vec((path(), path(), 0..3_u8, any::<bool>(), any::<Option<(u32, u32)>>()), 0..4),
        pinned in prop::collection::vec(path(), 0..4),
        protected in prop::collection::vec(path(), 0..4),
        masked in prop::collection::vec((path(), any::<bool>()), 0..4),
        share in prop::option::of(path()),
    ) -> Plan {
        Plan {
            links: links.into_iter().map(|(at, target)| Link { at, target }).collect(),
            binds: binds
                .into_iter()
                .map(|(source, at, access, folder, owner)| Bind {
                    source,
                    at,
                    access: [Access::Read, Access::Private, Access::Write][usize::from(access)],
                    folder,
                    owner,
                })
                .collect(),
            pinned,
            protected,
            masked: masked.into_iter().map(|(at, folder)| Mask { at, folder }).collect(),
            shown: share.map(|share| Shown { share, own: Vec::new() }),
            notices: Vec::new(),
            closed: Vec::new(),
            led: Vec::new(),
        }
    }
}

prop_compose! {
    fn set_up()(
        plan in plan(),
        files in prop::collection::vec((path(), any::<Vec<u8>>()), 0..3),
        home in path(),
        memory in any::<Option<u64>>(),
        wall in any::<Option<std::time::Duration>>(),
        loopback in any::<Vec<u16>>(),
        owners in any::<BTreeSet<(u32, u32)>>(),
        argv in prop::collection::vec(word(), 1..4),
        cwd in path(),
        environment in prop::collection::vec((word(), word()), 0..4),
        streams in any::<[bool; 3]>(),
    ) -> SetUp {
        SetUp {
            plan,
            skeleton: Skeleton {
                trust: None,
                files: files.into_iter().map(|(path, bytes)| Content { path, bytes }).collect(),
                covered: Vec::new(),
                home,
            },
            bounds: Bounds { memory, wall, ..Bounds::default() },
            rules: None,
            loopback,
            owners,
            command: Some(Command { argv, cwd, environment }),
            open: true,
            bare: None,
            without_landlock: false,
            without_seccomp: false,
            streams,
        }
    }
}

proptest! {
    #[test]
    fn what_is_packed_is_unpacked_whatever_the_names_are(set_up in set_up()) {
        let file = pack(&set_up).unwrap();
        prop_assert_eq!(unpack::<SetUp>(&file).unwrap(), set_up);
    }
}

#[test]
fn a_message_of_many_megabytes_arrives() {
    let words: Vec<OsString> = (0..200_000)
        .map(|n| format!("/workspace/{n}").into())
        .collect();
    assert_eq!(
        unpack::<Vec<OsString>>(pack(&words).unwrap()).unwrap(),
        words
    );
}
