use super::*;
use crate::testing::helper;
use proptest::prelude::*;

fn session(words: &[&str]) -> InsideSession {
    let argv: Vec<OsString> = words.iter().map(OsString::from).collect();
    InsideSession::start(&argv, Path::new("/"), &[]).unwrap()
}

#[test]
fn the_helper_runs_the_command_once_per_turn_and_no_oftener_than_it_was_told() {
    let helper = helper();
    let helper = helper.to_str().unwrap();
    let mut session = session(&[
        helper, "bench", "inside", "--runs", "2", "--", "echo", "a\tb",
    ]);
    for _ in 0..2 {
        let sample = session.step().unwrap();
        assert_eq!(sample.stdout.as_bytes(), b"a\tb\n");
        assert_eq!(sample.code, Some(0));
        assert!(sample.ns > 0);
    }
    assert!(session.step().is_err());
}

#[test]
fn a_helper_that_answers_nonsense_gives_no_sample() {
    let error = session(&["sh", "-c", "read x; echo '{\"ns\":1}'; cat"])
        .step()
        .unwrap_err();
    assert!(error.contains("nonsense"), "{error}");
}

#[test]
fn a_helper_that_leaves_gives_no_sample() {
    let error = session(&["true"]).step().unwrap_err();
    assert!(error.contains("ended early"), "{error}");
}

#[test]
fn what_no_end_of_input_ends_does_not_outlive_who_started_it() {
    let starter = std::thread::spawn(|| {
        let argv: Vec<OsString> = ["sleep", "600"].map(OsString::from).into();
        let session = InsideSession::start_bound(&argv).unwrap();
        let process = Pid::from_raw(session.id().cast_signed()).unwrap();
        let handle = pidfd_open(process, PidfdFlags::empty()).unwrap();
        // Nobody is left to end it.
        std::mem::forget(session);
        handle
    });
    let handle = starter.join().unwrap();
    let limit = Timespec::try_from(Duration::from_secs(300)).unwrap();
    let ended = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&limit));
    assert_eq!(ended, Ok(1));
}

proptest! {
    #[test]
    fn no_answer_can_break_the_host(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }

    #[test]
    fn a_sample_survives_the_way_out(ns: u64, code: Option<i32>, stdout: Vec<u8>) {
        let sample = Sample {
            ns, wait_ns: 1, run_ns: 2, user_us: 3, system_us: 4, code, signal: None,
            stdout: stdout.into(), stderr: bailiwick_event::Text::default(),
        };
        let line = serde_json::to_vec(&sample).unwrap();
        prop_assert!(!line.contains(&b'\n'));
        prop_assert_eq!(parse(&line).unwrap(), sample);
    }
}
