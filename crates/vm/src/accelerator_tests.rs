use super::*;
use tempfile::TempDir;

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn what_was_found_is_remembered_and_damage_is_not_believed() {
    let cache = TempDir::new().unwrap();
    let remembered = Remembered(cache.path().join("one"));
    assert_eq!(remembered.read(), None);
    let failed = Outcome::failed(at(5), None, "no guest came within 4 s\nand more");
    for found in [Outcome::Runs, failed] {
        remembered.write(&found);
        assert_eq!(remembered.read(), Some(found));
    }
    for damaged in ["kv", "tcg\n", "tcg\n1\n", "tcg\nx\n5\nwhy\n", ""] {
        fs::write(&remembered.0, damaged).unwrap();
        assert_eq!(remembered.read(), None, "{damaged:?}");
    }
}

#[test]
fn a_failure_is_tried_again_after_a_time_that_doubles_and_a_success_is_not() {
    let first = Outcome::failed(at(1_000), None, "no");
    assert!(first.holds(at(1_000)) && first.holds(at(1_599)));
    assert!(!first.holds(at(1_600)));
    // The clock was set back.
    assert!(!first.holds(at(999)));
    let second = Outcome::failed(at(2_000), Some(&first), "no");
    assert!(second.holds(at(3_199)) && !second.holds(at(3_200)));
    let many = (0..100).fold(second, |before, _| {
        Outcome::failed(at(0), Some(&before), "no")
    });
    assert!(many.holds(at(604_799)) && !many.holds(at(604_800)));
    assert!(Outcome::Runs.holds(at(u64::from(u32::MAX))));
    let after = Outcome::failed(at(0), Some(&Outcome::Runs), "no");
    assert!(matches!(after, Outcome::Failed { tries: 1, .. }));
}

#[test]
fn it_is_tried_by_one_and_the_others_go_by_what_was_found() {
    let cache = TempDir::new().unwrap();
    let remembered = Remembered(cache.path().join("accelerator/one"));
    let old = Outcome::failed(at(0), None, "old");
    let mut meanwhile = None;
    let found = remembered.find_out(Some(&old), || {
        let other = remembered.find_out(Some(&old), || panic!("two try it"));
        meanwhile = Some(other.unwrap());
        Ok(Some("new".to_owned()))
    });
    assert_eq!(meanwhile, Some(old));
    assert!(matches!(found.unwrap(), Outcome::Failed { tries: 2, why, .. } if why == "new"));
    let again = remembered.find_out(None, || panic!("it is known"));
    assert!(matches!(again.unwrap(), Outcome::Failed { tries: 2, .. }));
}
