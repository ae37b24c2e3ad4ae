use super::*;
use proptest::prelude::*;

fn message(kind: u16, text: &str) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

fn told(records: &mut Records, all: &[(u16, &str)]) -> Vec<Executed> {
    let all = all
        .iter()
        .filter_map(|(kind, text)| records.take(&message(*kind, text)));
    all.collect()
}

const CALL: &str = "audit(1.2:7): arch=c000003e syscall=59 success=yes exit=0 a0=1 ppid=5 pid=9 \
    auid=4294967295 uid=3 gid=0 comm=\"ls\" exe=\"/usr/bin/ls\" key=(null)";

#[test]
fn one_execution_is_told_with_its_last_record() {
    let told = told(
        &mut Records::default(),
        &[
            (SYSCALL, CALL),
            (
                EXECVE,
                "audit(1.2:7): argc=3 a0=\"ls\" a1=\"-l\" a2=6120620A",
            ),
            (CWD, "audit(1.2:7): cwd=\"/root\""),
            (1302, "audit(1.2:7): item=0 name=\"/usr/bin/ls\""),
            (END, "audit(1.2:7): "),
        ],
    );
    let [executed] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((executed.pid, executed.parent, executed.uid), (9, 5, 3));
    assert_eq!(executed.path, b"/usr/bin/ls");
    assert_eq!(executed.argv, [&b"ls"[..], b"-l", b"a b\n"]);
    assert_eq!(executed.cwd, b"/root");
    assert!(!executed.cut);
}

#[test]
fn a_long_word_comes_in_parts() {
    let told = told(
        &mut Records::default(),
        &[
            (SYSCALL, CALL),
            (
                EXECVE,
                "audit(1.2:7): argc=2 a0=\"x\" a1_len=8 a1[0]=\"abcd\"",
            ),
            (EXECVE, "audit(1.2:7):  a1[1]=65666768 a2=\"end\""),
            (END, "audit(1.2:7): "),
        ],
    );
    assert_eq!(told[0].argv, [&b"x"[..], b"abcdefgh", b"end"]);
}

#[test]
fn records_that_belong_to_no_execution_are_none() {
    let told = told(
        &mut Records::default(),
        &[
            (CWD, "audit(1.2:8): cwd=\"/\""),
            (END, "audit(1.2:8): "),
            (SYSCALL, CALL),
            (END, "audit(1.2:9): "),
        ],
    );
    assert_eq!(told, []);
}

#[test]
fn too_many_words_are_cut_and_that_is_said() {
    let mut records = Records::default();
    records.take(&message(SYSCALL, CALL));
    for word in 0..2 * WORDS {
        records.take(&message(EXECVE, &format!("audit(1.2:7): a{word}=\"w\"")));
    }
    let executed = records.take(&message(END, "audit(1.2:7): ")).unwrap();
    assert_eq!(executed.argv.len(), WORDS);
    assert!(executed.cut);
}

proptest! {
    #[test]
    fn any_bytes_are_records_or_nothing_and_what_is_kept_is_bounded(
        all in prop::collection::vec((prop::sample::select(&[SYSCALL, CWD, EXECVE, END][..]), "\\PC{0,200}"), 0..40)
    ) {
        let mut records = Records::default();
        for (kind, text) in all {
            let text = format!("audit(1.2:7): {text}");
            if let Some(executed) = records.take(&message(kind, &text)) {
                prop_assert!(executed.argv.iter().map(Vec::len).sum::<usize>() <= LONGEST);
            }
        }
    }
}
