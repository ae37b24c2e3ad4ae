use super::*;
use std::time::Duration;
use tempfile::TempDir;

fn place(cache: &TempDir, name: &str) -> Place {
    Place {
        folder: cache.path().join(name),
        disk: None,
    }
}

fn filled(place: &Place) -> Template {
    place
        .make(4096, |template, mut state| {
            use std::io::Write as _;
            fs::write(&template.ram, "memory").unwrap();
            state.write_all(b"state").unwrap();
            Ok(())
        })
        .unwrap()
}

#[test]
fn a_template_is_made_once_and_cannot_be_written() {
    let cache = TempDir::new().unwrap();
    let place = place(&cache, "one");
    assert!(place.find().is_none());
    let made = filled(&place);
    assert_eq!(fs::read(&made.state).unwrap(), b"state");
    let mode = fs::metadata(&made.ram).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o400);
    let again = place.make(4096, |_, _| panic!("it is there"));
    assert_eq!(again.unwrap().ram, made.ram);
}

#[test]
fn what_was_not_finished_is_not_there() {
    let cache = TempDir::new().unwrap();
    let place = place(&cache, "one");
    let failed = place.make(4096, |_, _| Err(Failure::fault("no")));
    assert!(failed.is_err());
    assert!(place.find().is_none());
    assert!(!place.folder.with_extension("unfinished").exists());
    filled(&place);
}

#[test]
fn those_that_were_used_last_stay() {
    let cache = TempDir::new().unwrap();
    let names = ["a", "b", "c"];
    let places = names.map(|name| place(&cache, name));
    for (age, place) in places.iter().enumerate() {
        filled(place);
        let then = SystemTime::now() - Duration::from_secs(60 * (1 + age as u64));
        File::open(&place.folder)
            .unwrap()
            .set_modified(then)
            .unwrap();
    }
    places[2].touch();
    let (removed, freed) = collect(cache.path(), 1).unwrap();
    assert_eq!(removed, 2);
    assert!(freed > 0);
    assert!(places[2].find().is_some());
    assert!(places[0].find().is_none() && places[1].find().is_none());
}

#[test]
fn one_failure_takes_no_template_away_and_two_in_a_row_do() {
    let cache = TempDir::new().unwrap();
    let place = place(&cache, "one");
    filled(&place);
    let fails = || place.failed(place.is_doubted(), place.identity());
    assert!(!fails());
    place.served();
    assert!(!fails());
    // One that began before the other failed.
    assert!(!place.failed(false, place.identity()));
    assert!(place.find().is_some());
    assert!(fails());
    assert!(place.find().is_none());
    let before = place.identity();
    filled(&place);
    // One that began with the template before.
    assert!(!place.failed(true, before));
    assert!(!fails());
}

#[test]
fn a_part_of_a_template_does_not_keep_another_from_being_made() {
    let cache = TempDir::new().unwrap();
    let place = place(&cache, "one");
    fs::create_dir_all(&place.folder).unwrap();
    fs::write(place.folder.join("ram"), "memory").unwrap();
    assert!(place.find().is_none());
    filled(&place);
    assert!(place.find().is_some());
}
