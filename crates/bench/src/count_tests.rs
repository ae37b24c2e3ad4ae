use super::*;
use crate::testing::helper;

/// Runs the helper as the suite does.
fn counted(kind: &str, script: &str) -> Counted {
    let argv = ["sh", "-c", script].map(OsString::from);
    let sample = measure::run(&command(&helper(), kind, &argv), Path::new("/"), &[]).unwrap();
    serde_json::from_slice(sample.stdout.as_bytes())
        .unwrap_or_else(|error| panic!("{error}: {}", sample.ending()))
}

#[test]
fn the_programs_that_a_command_starts_are_counted() {
    for (script, execs) in [
        (":", 1),
        ("exec true", 2),
        ("/bin/true; /bin/true", 3),
        ("(/bin/true; :) & wait", 2),
        ("setsid -f sh -c 'sleep 0.2; /bin/true'", 5),
    ] {
        assert_eq!(counted(CALLS, script).execs, execs, "{script}");
    }
}

#[test]
fn the_calls_of_a_loop_are_counted_once_each() {
    // A shell's own `kill -0` is one call.
    let with = |n: usize| {
        let script = format!("for i in $(seq {n}); do kill -0 $$; done");
        counted(CALLS, &script).calls
    };
    let (few, many) = (with(10), with(210));
    assert_eq!((many - few) / 200, 1, "{few} and {many}");
    assert!(few > 10);
}

#[test]
fn a_signal_and_a_stop_reach_a_command_that_is_traced() {
    // It is stopped while it sleeps, and looked at again when it would sleep on if nothing kept it.
    let script = "state() { while s=$(cut -d ' ' -f 3 /proc/$!/stat); [ $s = R ]; do :; done; }; \
                  trap 'echo caught' USR1; kill -USR1 $$; sleep 60 & \
                  until state; [ $s = S ]; do :; done; kill -STOP $!; \
                  until state; [ $s = t ] || [ $s = T ]; do :; done; \
                  sleep 0.1; state; echo $s; kill -KILL $!; wait";
    let run = counted(CALLS, script);
    // A small `t`: it is its tracer that keeps it stopped.
    assert_eq!(run.stdout, Text::from("caught\nt\n"));
    assert_eq!(run.code, Some(0));
}

#[test]
fn an_end_is_told_as_it_was() {
    assert_eq!(counted(CALLS, "exit 7").code, Some(7));
    assert_eq!(
        counted(SWITCHES, "kill -TERM $$").signal,
        Some(libc::SIGTERM)
    );
}

#[test]
fn a_command_that_is_not_there_is_a_fault_and_no_count() {
    for kind in [CALLS, SWITCHES] {
        let argv = ["/no/such/file".into()];
        let sample = measure::run(&command(&helper(), kind, &argv), Path::new("/"), &[]).unwrap();
        assert_eq!(sample.code, Some(125), "{}", sample.ending());
        assert!(
            sample.ending().contains("/no/such/file"),
            "{}",
            sample.ending()
        );
    }
}

#[test]
fn switches_and_faults_of_what_was_left_behind_are_counted() {
    let work = "i=0; while [ $i -lt 30 ]; do sleep 0.01; i=$((i+1)); done";
    let waited = counted(SWITCHES, work);
    let left = counted(SWITCHES, &format!("setsid -f sh -c '{work}'"));
    for run in [&waited, &left] {
        assert!(run.voluntary >= 30, "{run:?}");
        assert!(run.minor >= 30 * 20, "{run:?}");
    }
    assert!(counted(SWITCHES, ":").minor < waited.minor / 5);
}
