use super::*;

fn sh(script: &str) -> Sample {
    let argv = ["sh", "-c", script].map(OsString::from);
    run(&argv, Path::new("/"), &[("WORD".into(), "given".into())]).unwrap()
}

#[test]
fn a_run_keeps_both_outputs_apart_and_the_exit_code() {
    let sample = sh("echo out $WORD; echo err >&2; exit 3");
    assert_eq!(sample.stdout, Text::from("out given\n"));
    assert_eq!(sample.stderr, Text::from("err\n"));
    assert_eq!((sample.code, sample.signal), (Some(3), None));
    assert_eq!(sample.ending(), "exit code 3: err");
}

#[test]
fn a_signal_is_not_an_exit_code() {
    let sample = sh("kill -TERM $$");
    assert_eq!((sample.code, sample.signal), (None, Some(libc::SIGTERM)));
    assert_eq!(sample.ending(), "ended by signal 15");
}

#[test]
fn a_run_accounts_for_the_work_that_was_done() {
    let sample = sh("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
    assert!(sample.run_ns > 0 && sample.ns > 0);
    assert!(sample.user_us + sample.system_us > 0);
}

#[test]
fn endless_output_is_cut() {
    let sample = sh("head -c 3000000 /dev/zero");
    assert_eq!(sample.stdout.as_bytes().len() as u64, OUTPUT_LIMIT);
}

#[test]
fn a_missing_program_is_an_error_and_not_a_fast_run() {
    assert!(run(&["/no/such/program".into()], Path::new("/"), &[]).is_err());
    assert!(run(&[], Path::new("/"), &[]).is_err());
}

#[test]
fn an_account_that_is_not_one_is_not_read() {
    assert_eq!(parse_schedstat("12 7 3\n"), Some((12, 7)));
    assert_eq!(parse_schedstat("12"), None);
    assert_eq!(parse_schedstat("a b"), None);
}
