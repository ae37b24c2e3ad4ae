use super::*;
use crate::Sessions;
use crate::testing::Lab;

fn links(lab: &Lab) -> Vec<String> {
    let names = std::fs::read_dir(lab.state.names());
    let names = names.into_iter().flatten();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_name_leads_to_its_session_and_goes_with_it() {
    let lab = Lab::new();
    let ledger = lab.named("build");
    assert_eq!(
        running(&lab.state, "build").unwrap().as_ref(),
        Some(ledger.id())
    );
    assert_eq!(running(&lab.state, "test").unwrap(), None);
    let folder = lab.state.names().join("build").canonicalize().unwrap();
    assert!(folder.ends_with(ledger.id().as_str()));
    ledger.close().unwrap();
    assert_eq!(running(&lab.state, "build").unwrap(), None);
    assert!(links(&lab).is_empty());
}

#[test]
fn the_name_of_a_killed_session_is_free_and_goes_with_its_record() {
    let lab = Lab::new();
    let sessions = Sessions::open(&lab.state);
    let first = lab.named("build").id().clone();
    // Dropped without an end: as if it had been killed.
    assert_eq!(running(&lab.state, "build").unwrap(), None);
    assert_eq!(links(&lab), ["build"]);
    let second = lab.named("build");
    sessions.remove(&first).unwrap();
    assert_eq!(
        running(&lab.state, "build").unwrap().as_ref(),
        Some(second.id())
    );
    let killed = second.id().clone();
    drop(second);
    sessions.remove(&killed).unwrap();
    assert!(links(&lab).is_empty());
}

#[test]
fn what_is_no_name_leads_nowhere() {
    let lab = Lab::new();
    let sessions = Sessions::open(&lab.state);
    let live = lab.named("build");
    let elsewhere = lab.state.path().join("elsewhere");
    symlink(Path::new("sessions").join(live.id().as_str()), elsewhere).unwrap();
    for name in ["../elsewhere", "..", "", "latest", live.id().as_str()] {
        assert_eq!(sessions.running(name).unwrap(), None, "{name}");
    }
    std::fs::write(lab.state.name("file"), "").unwrap();
    assert_eq!(sessions.running("file").unwrap(), None);
    symlink("../../nowhere", lab.state.name("link")).unwrap();
    assert_eq!(sessions.running("link").unwrap(), None);
}
