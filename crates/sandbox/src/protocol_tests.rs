use super::*;
use crate::packet::{channel, pack, receive, unpack};
use proptest::prelude::*;

#[test]
fn a_door_in_a_folder_with_a_long_name_is_found() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("x".repeat(200));
    std::fs::create_dir(&folder).unwrap();
    let door = open_door(&folder.join("door")).unwrap();
    let _client = knock(&folder.join("door")).unwrap();
    assert!(answer(door.as_fd()).is_some());
}

#[test]
fn nobody_answers_where_no_door_is_open() {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("door");
    assert!(knock(&path).is_err());
    drop(open_door(&path).unwrap());
    assert!(
        knock(&path).is_err(),
        "the door was left, and nobody is there"
    );
}

proptest! {
    #[test]
    fn what_any_client_sends_is_an_error_or_a_message(
        bytes in prop::collection::vec(any::<u8>(), 1..300)
    ) {
        let (a, b) = channel().unwrap();
        rustix::net::send(&a, &bytes, rustix::net::SendFlags::NOSIGNAL).unwrap();
        if let Ok(Some((ask, fds))) = receive::<Ask>(&b) {
            prop_assert!(fds.is_empty());
            let again = unpack::<Ask>(pack(&ask).unwrap()).unwrap();
            prop_assert_eq!(again, ask);
        }
    }

    #[test]
    fn a_wanted_command_arrives_as_it_was_sent(
        words in prop::collection::vec("[^\0]{0,20}", 1..5),
        umask in any::<u32>(),
        terminal in any::<bool>(),
    ) {
        let wanted = Wanted {
            argv: words.iter().map(OsString::from).collect(),
            cwd: "/somewhere".into(),
            caller: vec![("PATH".into(), "/bin".into())],
            added: Vec::new(),
            umask,
            terminal,
            run: None,
        };
        prop_assert_eq!(unpack::<Wanted>(pack(&wanted).unwrap()).unwrap(), wanted);
    }
}
