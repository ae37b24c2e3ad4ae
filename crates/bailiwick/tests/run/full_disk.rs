//! On a full disk nothing is half done: a run is not started, or what it did is on record. Each disk
//! is a small one of the test's own.

use crate::support::Sandbox;

/// A run of a script on a state folder of some kilobytes or some files, and all that is left of
/// it, once for every size.
fn on_every_size(sandbox: &Sandbox, option: &str, sizes: &str, words: &str) -> Vec<Left> {
    let script = format!(
        r#"
for size in {sizes}; do
    rm -f "$WS/began"
    mnt tmpfs "{option}=$size" "$STATE"
    echo "-- run"
    bw run -- sh -c 'touch began; exit 0' {words} 2>&1
    ls "$WS"
    echo "-- list"
    bw sessions list --json 2>&1
    echo "-- verify"
    bw log verify 2>&1
    echo "-- log"
    bw log --json 2>/dev/null
    umount "$STATE"
    echo "== end"
done"#
    );
    let text = sandbox.elsewhere(&script).stdout();
    let all: Vec<Left> = text
        .split("== end\n")
        .filter(|part| !part.is_empty())
        .map(Left::parse)
        .collect();
    assert!(all.len() > 5, "{text}");
    all
}

/// What one run has left.
struct Left {
    run: String,
    list: String,
    verify: String,
    log: String,
}

impl Left {
    fn parse(text: &str) -> Self {
        let mut parts = text.split("-- ").skip(1).map(|part| {
            let (_, rest) = part.split_once('\n').unwrap();
            rest.to_owned()
        });
        let mut next = || parts.next().unwrap();
        Self {
            run: next(),
            list: next(),
            verify: next(),
            log: next(),
        }
    }

    /// The run either did not begin and says what to do, or it is on record from its first row.
    fn is_whole(&self) -> bool {
        let began = self.run.lines().any(|line| line == "began");
        if !began {
            assert!(self.run.contains("exit 125\n"), "{}", self.run);
            assert!(self.run.contains("No space left on device"), "{}", self.run);
            assert!(self.run.contains("free some space"), "{}", self.run);
            // What could not begin either has no session, or one that says that it failed.
            let failed = self.list == "exit 0\n" || self.list.contains("\"state\":");
            assert!(failed && self.list.ends_with("exit 0\n"), "{}", self.list);
        } else {
            assert!(
                self.log.contains("exec_start"),
                "began unrecorded: {}",
                self.log
            );
            assert!(self.verify.starts_with("intact"), "{}", self.verify);
        }
        assert!(!self.verify.contains("damaged"), "{}", self.verify);
        began
    }
}

/// Both must have happened, or the sizes were chosen badly.
fn some_began_and_some_did_not(all: &[Left]) {
    let began = all.iter().filter(|left| left.is_whole()).count();
    assert!(began > 0 && began < all.len(), "{began} of {}", all.len());
}

#[test]
fn a_run_for_whose_record_there_is_no_room_does_not_begin() {
    let sizes = "4k 20k 60k 68k 76k 80k 84k 88k 92k 96k 100k 112k 128k 160k 200k 400k";
    some_began_and_some_did_not(&on_every_size(&Sandbox::new(), "size", sizes, ""));
}

#[test]
fn a_run_for_whose_record_there_are_no_inodes_does_not_begin() {
    let sizes = "3 4 5 6 7 8 9 10 11 12 13 14 16 20";
    some_began_and_some_did_not(&on_every_size(&Sandbox::new(), "nr_inodes", sizes, ""));
}

#[test]
fn a_run_whose_first_row_does_not_fit_does_not_begin() {
    let sizes = "84k 92k 96k 100k 104k 108k 112k 120k 140k 180k 300k 400k";
    // A row of nearly the greatest length, which needs the journal's second piece.
    let words = "$(printf '%01000d ' $(seq 62))";
    some_began_and_some_did_not(&on_every_size(&Sandbox::new(), "size", sizes, words));
}

/// Asks for names that are allowed, and says which were answered with an address.
const CLIENT: &str = r"
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(60)
s.connect(('9.9.9.9', 53))
for n in range(400):
    label = b'q%d' % n
    s.send(b'\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00' + bytes([len(label)]) + label
           + b'\x02ok\x04test\x00\x00\x01\x00\x01')
    answer = s.recv(512)
    if answer[7]: print('answered', n)
print('asked')
";

#[test]
fn what_a_disk_that_fills_up_cannot_record_is_refused_and_told() {
    let sandbox = Sandbox::new().file("client.py", CLIENT);
    let policy = "extends = [\"default\"]\n[network]\nallow = [\"*.ok.test\"]\n";
    sandbox.scratch().write("names.toml", policy);
    let text = sandbox
        .elsewhere(
            r#"
mnt tmpfs size=600k "$STATE"
(bw run --policy "$ROOT/names.toml" -- sh -c 'touch began
    while ! test -e may-go; do sleep 0.01; done; python3 client.py; exit 3' 2>&1) &
# The policy's text is kept while the command runs already.
while ! test -e "$WS/began" || ! test -s "$STATE"/bailiwick/sessions/2*/policy.lock; do sleep 0.01; done
full "$STATE"
touch "$WS/may-go"
wait
echo "-- rows"
bw log --json 2>/dev/null | grep -o '"q[0-9]*\.ok\.test'
echo "-- shown"
bw log 2>&1 | head -4
bw log verify 2>&1
bw sessions list --json 2>&1
echo "-- afterwards"
rm "$STATE/ballast"
bw log verify 2>&1
bw run -- true 2>&1"#,
        )
        .stdout();
    let parts: Vec<&str> = text.split("-- ").collect();
    let [run, rows, shown, afterwards] = parts[..] else {
        panic!("{text}")
    };
    // The command ran to its end; what it was given stands in the record, the rest was refused.
    assert!(
        run.contains("asked\n") && run.contains("exit 125\n"),
        "{text}"
    );
    assert!(run.contains("the command ended with 3"), "{text}");
    assert!(run.contains("free some space"), "{text}");
    let answered: Vec<&str> = run
        .lines()
        .filter_map(|l| l.strip_prefix("answered "))
        .collect();
    assert!(!answered.is_empty() && answered.len() < 400, "{text}");
    for number in answered {
        assert!(
            rows.contains(&format!("\"q{number}.ok.test\n")),
            "{number} is lost: {text}"
        );
    }
    assert!(shown.contains("rows could not be kept"), "{text}");
    assert!(shown.contains("intact"), "{text}");
    assert!(!shown.contains("\"lost\":0"), "{text}");
    assert!(afterwards.contains("intact"), "{text}");
    assert!(afterwards.ends_with("exit 0\n"), "{text}");
}

#[test]
fn a_full_workspace_is_the_commands_own_affair() {
    let sandbox = Sandbox::new();
    for option in ["size=64k", "nr_inodes=3"] {
        let text = sandbox
            .elsewhere(&format!(
                r#"
mnt tmpfs {option} "$WS"
cd "$WS"
bw run -- sh -c 'for n in 1 2 3 4 5; do head -c 20000 /dev/zero > $n || echo no room; done; exit 4' 2>&1
ls -A
bw log verify 2>&1"#
            ))
            .stdout();
        assert!(text.contains("No space left on device"), "{text}");
        assert!(
            text.contains("no room\n") && text.contains("exit 4\n"),
            "{text}"
        );
        assert!(
            text.contains("\n1\n2\n"),
            "nothing else is in the workspace: {text}"
        );
        assert!(text.contains("intact: 4 rows"), "{text}");
    }
}

#[test]
fn a_full_cache_is_the_commands_affair_and_one_that_cannot_be_made_is_a_fault() {
    let sandbox = Sandbox::new().fresh_home();
    let text = sandbox
        .elsewhere(
            r#"
mkdir -p "$STATE/bailiwick/projects"
mnt tmpfs size=64k "$STATE/bailiwick/projects"
bw run -- sh -c 'mkdir -p ~/.cache; head -c 200000 /dev/zero > ~/.cache/x || echo no room' 2>&1
umount "$STATE/bailiwick/projects"
echo "-- none"
mnt tmpfs nr_inodes=1 "$STATE/bailiwick/projects"
bw run -- touch began 2>&1
ls "$WS"
bw sessions list --json"#,
        )
        .stdout();
    let (room, none) = text.split_once("-- none\n").unwrap();
    assert!(room.contains("no room\nexit 0\n"), "{text}");
    assert!(
        none.contains("cannot be made: No space left on device"),
        "{text}"
    );
    assert!(none.contains("free some space there"), "{text}");
    assert!(
        none.contains("exit 125\n") && !none.contains("began"),
        "{text}"
    );
    assert_eq!(none.matches("\"session\"").count(), 1, "{text}");
}
