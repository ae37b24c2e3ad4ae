#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use bailiwick_capos_core::manifest::Source;

fn given(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_graph_is_read() {
    let given = given(
        "out init=i:console,boot_package p=f --service a=p:own=endpoint#3!,timer --service \
         b=p:a/own#1,other=a/own --restart b=on-failure --exit-when b",
    );
    let words = words(&given).unwrap();
    assert_eq!((words.out, words.exit_when), ("out", Some("b")));
    let [init, program] = &words.programs[..] else {
        panic!("{words:?}")
    };
    assert_eq!((init.name, init.file, init.caps.len()), ("init", "i", 2));
    assert_eq!((program.name, program.caps.len()), ("p", 0));
    let [a, b] = &words.services[..] else {
        panic!("{words:?}")
    };
    assert_eq!(
        (a.binary, &a.exports[..], a.restart),
        ("p", &["own"][..], Restart::Never)
    );
    assert_eq!(a.caps[0].badge, 3);
    assert_eq!(b.restart, Restart::OnFailure);
    assert_eq!(
        (b.caps[0].name, b.caps[0].badge, b.caps[1].name),
        ("own", 1, "other")
    );
    let source = Source::Service {
        service: "a",
        export: "own",
    };
    assert_eq!([b.caps[0].source, b.caps[1].source], [source; 2]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, said) in [
        (
            "out init=i:tmer",
            "init: tmer: no source of the kernel's; there are console",
        ),
        (
            "out init=i:endpoint#x",
            "init: endpoint#x: a badge is a number",
        ),
        ("out init", "\"init\" is no NAME=FILE"),
        ("out =f", "\"=f\" is no NAME=FILE"),
        ("out init=i --service a", "\"a\" is no NAME=PROGRAM"),
        ("out init=i --restart a=never", "no such service"),
        (
            "out init=i --service a=p --restart a=daily",
            "is no SERVICE=never|on-failure|always",
        ),
        ("out init=i --exit-when", "--exit-when needs a value"),
        ("out init=i --exit", "--exit is no option"),
    ] {
        let error = words(&given(text)).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}
