use super::*;
use proptest::prelude::*;

/// What a path means, slowly: the folders it goes through, one by one.
fn leads_below(path: &[u8]) -> bool {
    let mut name = 0;
    for (at, byte) in path.iter().enumerate() {
        match byte {
            0 => return false,
            b'/' if name == 0 || at + 1 == path.len() => return false,
            b'/' => name = 0,
            _ => name += 1,
        }
        if name > 255 {
            return false;
        }
    }
    let dots = [&b"."[..], b".."];
    let lies = |part: &&[u8]| -> bool {
        path == *part
            || path.starts_with(&[part, &b"/"[..]].concat())
            || path.ends_with(&[&b"/"[..], part].concat())
            || path
                .windows(part.len() + 2)
                .any(|w| w == [&b"/"[..], part, b"/"].concat())
    };
    path.len() < 4096 && !dots.iter().any(lies)
}

proptest! {
    #[test]
    fn a_path_is_one_below_the_folder_or_none(path in "[./a\0]{0,8}") {
        prop_assert_eq!(checked(path.as_bytes()).is_ok(), leads_below(path.as_bytes()));
    }
}

#[test]
fn paths_that_lead_elsewhere_are_none() {
    let name = "n".repeat(255);
    let long = [name.as_str(); 16].join("/");
    assert_eq!(long.len(), 4095);
    for good in ["", "a", "a/b", "...", "a/..b", "-", "\n", &name, &long] {
        assert_eq!(checked(good.as_bytes()), Ok(Path::new(good)), "{good:?}");
    }
    let (one_more, longer) = (format!("{name}n"), format!("a{long}"));
    for bad in [
        "/", "/a", "a/", "a//b", ".", "..", "a/./b", "a/../b", "a/..", "./a", "a\0", "\0",
        &one_more, &longer,
    ] {
        assert_eq!(checked(bad.as_bytes()), Err(BadPath), "{bad:?}");
    }
}

#[test]
fn what_counts_as_the_same() {
    let file = |size, mode, modified| Entry {
        mode,
        modified,
        ..Entry::bare(b"a", Kind::File { size })
    };
    let same = file(1, 0o644, (5, 5));
    assert!(same.is_as(&file(1, 0o644, (5, 5))));
    for other in [
        file(2, 0o644, (5, 5)),
        file(1, 0o600, (5, 5)),
        file(1, 0o644, (5, 6)),
        file(1, 0o644, (6, 5)),
    ] {
        assert!(!same.is_as(&other), "{other:?}");
    }
    let of = |kind, mode, time| Entry {
        mode,
        modified: (time, 0),
        ..Entry::bare(b"a", kind)
    };
    assert!(
        of(Kind::Folder, 0o755, 1).is_as(&of(Kind::Folder, 0o755, 2)),
        "its entries' time"
    );
    assert!(!of(Kind::Folder, 0o755, 1).is_as(&of(Kind::Folder, 0o700, 1)));
    let link = |target: &str| Kind::Link {
        target: target.into(),
    };
    assert!(of(link("x"), 0o777, 1).is_as(&of(link("x"), 0, 2)));
    assert!(!of(link("x"), 0o777, 1).is_as(&of(link("y"), 0o777, 1)));
}
