//! Ends that nobody planned: the disk is in order, and nothing runs on.

use crate::closing::monitors_get;
use crate::support::processes::{state, with_words};
use crate::{Backend, Sandbox, counting, is_in_order, machines, sandbox, start, wait};
use rustix::process::Signal;

#[test]
fn a_killed_supervisor_takes_the_machine_along_and_leaves_a_disk_in_order() {
    let sandbox = Sandbox::on(Backend::Vm)
        .option("--disk")
        .option("--memory=496MiB");
    let mut run = counting(&sandbox, "box");
    sandbox
        .bailiwick([
            "exec",
            "box",
            "-c",
            "until test -s log; do sleep 0.1; done; sync",
        ])
        .code(0);
    assert!(!with_words("size=496M").is_empty());
    run.kill();
    run.ends();
    wait::until("its machine is gone", || with_words("size=496M").is_empty());
    // The file system's own recovery, by the machine that reads the disk.
    let applied = sandbox.bailiwick(["apply", "box"]);
    applied.code(0).stdout_has("A log\n");
    is_in_order(&machines(&sandbox)[0].join("disk"));
    sandbox.bailiwick(["rm", "box"]).code(0);
}

#[test]
fn a_disk_of_the_host_that_is_full_keeps_a_session_from_being_saved_and_from_nothing_else() {
    let sandbox = sandbox();
    let text = sandbox
        .elsewhere(
            r#"
mnt tmpfs size=40m "$STATE"
mkfifo in; exec 8<>in
"$BAILIWICK" run --backend vm --disk --memory=512MiB --name box -c 'echo up; cat; exit 5' < in > out 2>err 8>&- &
until grep -q up out; do sleep 0.1; done
bw suspend box 2>&1
bw fork box --name other 2>&1
echo "left $(ls "$STATE/bailiwick/machines" | wc -l)"
bw exec box -- echo alive 2>&1
exec 8>&-
wait $!; echo "ended $?"
bw log verify box 2>&1"#,
        )
        .stdout();
    assert!(text.contains("left 0\n"), "{text}");
    assert!(text.contains("alive\nexit 0\n"), "{text}");
    assert!(text.contains("ended 5\n"), "{text}");
    assert_eq!(text.matches("exit 125\n").count(), 2, "{text}");
    assert!(text.contains("intact"), "{text}");
}

#[test]
fn a_disk_of_the_host_that_is_full_is_an_error_inside_and_a_line_and_the_disk_counts_as_not_closed()
{
    let sandbox = sandbox();
    let text = sandbox
        .elsewhere(
            r#"
mnt tmpfs size=80m "$STATE"
head -c 30M /dev/zero > "$STATE/filler"
mkfifo in; exec 8<>in
"$BAILIWICK" run --backend vm --disk --memory=512MiB --name box -c 'dd if=/dev/zero of=big bs=1M count=90 conv=fsync 2>/dev/null; echo "written $?"; cat' < in > out 2>&1 8>&- &
until grep -q written out; do sleep 0.1; done
cat out
rm "$STATE/filler"
exec 8>&-
wait $!
cat out
bw apply --dry-run box 2>&1"#,
        )
        .stdout();
    assert!(text.contains("written 1\n"), "{text}");
    assert!(
        text.contains(
            "arrived in the session's disk: No space left on device; the command ended with 0"
        ),
        "{text}"
    );
    assert!(
        text.contains("was ended before everything was on its disk"),
        "{text}"
    );
}

#[test]
fn a_machine_that_is_frozen_is_ended_by_a_second_signal_and_by_stop() {
    let sandbox = Sandbox::on(Backend::Vm)
        .option("--disk")
        .option("--memory=456MiB");
    let frozen = || {
        let run = start(&sandbox, "box", "echo up; sleep 600");
        monitors_get(Signal::STOP, "size=456M");
        run
    };
    let mut run = frozen();
    wait::until("signals end it", || {
        run.terminate();
        matches!(state(run.pid()), None | Some('Z'))
    });
    assert_eq!(run.ends(), Some(143));
    let mut run = frozen();
    sandbox.bailiwick(["stop", "--time=0", "box"]).code(0);
    run.ends();
    assert!(with_words("size=456M").is_empty());
}
