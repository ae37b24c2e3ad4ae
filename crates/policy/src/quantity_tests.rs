use super::*;
use proptest::prelude::*;

#[test]
fn sizes_are_read_as_people_write_them() {
    for (text, bytes) in [
        ("4GiB", 4 << 30),
        ("4 GiB", 4 << 30),
        ("4kB", 4000),
        ("4KB", 4000),
        ("1.5MiB", 3 << 19),
        ("2GB", 2_000_000_000),
        ("7B", 7),
    ] {
        assert_eq!(parse_size(text), Ok(bytes), "{text}");
    }
    for bad in [
        "",
        "4",
        "GiB",
        "4XiB",
        "-1GiB",
        "0GiB",
        "99999999999TiB",
        "1..5GiB",
        ".5GiB",
        "4GiB5",
        "4Gb",
        "4gb",
        "4gib",
        "4GIB",
        "4G",
        "4\u{e9}",
    ] {
        assert!(parse_size(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_unit_that_could_be_bits_is_refused_with_what_was_probably_meant() {
    for (text, first, second) in [
        ("4Gb", "\"4GB\"", Some("\"4GiB\"")),
        ("1.5 m", "\"1.5MB\"", Some("\"1.5MiB\"")),
        ("4kb", "\"4kB\"", Some("\"4KiB\"")),
        ("4gib", "\"4GiB\"", None),
    ] {
        let help = parse_size(text).unwrap_err();
        assert!(help.contains("the units are B, kB, MB"), "{help}");
        assert!(help.contains(&format!("write {first} (")), "{help}");
        assert_eq!(
            help.matches(" or ").count(),
            second.iter().count(),
            "{help}"
        );
        assert!(second.is_none_or(|other| help.contains(other)), "{help}");
    }
    assert!(!parse_size("4Gbit").unwrap_err().contains("Gbit"));
}

#[test]
fn times_are_read_as_people_write_them() {
    for (text, ms) in [
        ("1h30m", 5_400_000),
        ("90s", 90_000),
        ("500ms", 500),
        ("1.5h", 5_400_000),
        ("2d", 172_800_000),
    ] {
        assert_eq!(parse_time(text), Ok(Duration::from_millis(ms)), "{text}");
    }
    for bad in [
        "",
        "90",
        "h",
        "1x",
        "-1s",
        "0s",
        "1h30",
        "99999999999999999999d",
    ] {
        assert!(parse_time(bad).is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn what_is_shown_reads_back_the_same(n in 1u64..(1 << 62), ms in 1u64..1_000_000_000_000) {
        prop_assert_eq!(parse_size(&show_size(n)), Ok(n));
        let time = Duration::from_millis(ms);
        prop_assert_eq!(parse_time(&show_time(time)), Ok(time));
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,30}") {
        let _ = (parse_size(&text), parse_time(&text));
    }
}
