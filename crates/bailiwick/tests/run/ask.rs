//! A rule asks a person, and the person's answer holds.

use crate::bodies::Server;
use crate::support::Sandbox;
use crate::terminal::{CTRL_C, Person};
use bailiwick_event::{Act, Event, Verdict};
use std::time::{Duration, Instant};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";

/// A policy under which deleting is asked about.
fn policy(server: &Server, more: &str) -> String {
    let port = server.port();
    format!(
        "extends = [\"default\"]\n{more}[network.hosts]\n\"a.test\" = \"127.0.0.1:{port}\"\n\
         [[rules]]\nid = \"deletes\"\non = \"http.request\"\naction = \"ask\"\n\
         reason = \"something would be deleted\"\nwhen = 'http.request.method == \"DELETE\"'\n"
    )
}

/// A person before a terminal in which `$B run --policy p.toml` has this policy.
fn person(server: &Server, more: &str) -> Person {
    let sandbox = Sandbox::new()
        .fresh_home()
        .file("p.toml", policy(server, more));
    Person::sits_down(sandbox)
}

/// The rows of the last session.
fn rows(person: &Person) -> Vec<Event> {
    let outcome = person.sandbox.bailiwick(["log", "--json"]);
    let lines = outcome.stdout();
    lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// How long a question has to have stood before a key answers it, and how long nothing may have been typed.
const READING: Duration = Duration::from_millis(600);

/// Takes long enough for a question to have been read. Only time tells: on a slow machine it is longer.
fn reads() {
    std::thread::sleep(READING + Duration::from_millis(200));
}

/// How long after its question the only one of the last session was answered by a key; none where it
/// was not.
fn answered_after(person: &Person) -> Option<Duration> {
    let rows = rows(person);
    let is_answer = |row: &&Event| match &row.act {
        Act::Answered { answer, .. } => ["once", "always", "deny"].contains(&answer.as_str()),
        _ => false,
    };
    let answer = rows.iter().find(is_answer)?;
    let Act::Answered { row, .. } = answer.act else {
        return None;
    };
    let asked = rows.iter().find(|asked| asked.id == row).unwrap();
    Some(Duration::from_nanos(answer.time_ns - asked.time_ns))
}

const DELETE: &str = "$B run --policy p.toml -- curl -sS -X DELETE http://a.test/thing\r";

#[test]
fn a_person_allows_denies_and_is_shown_what_is_asked() {
    let server = Server::start(OK);
    let mut person = person(&server, "");
    person
        .types(DELETE)
        .sees("bailiwick asks: DELETE http://a.test:80/thing");
    person
        .sees("something would be deleted")
        .sees("y  allow it this time");
    reads();
    person.types("y").sees("allowed this time").sees("ok");
    assert_eq!(server.heard().len(), 1);
    person
        .sees("outer> ")
        .types(DELETE)
        .sees("bailiwick asks:")
        .sees("n  deny");
    reads();
    person.types("n").sees("denied").sees("refused by policy");
    assert_eq!(server.heard().len(), 1);
    person.sees("outer> ");
    let answers: Vec<_> = rows(&person)
        .into_iter()
        .filter_map(|event| match event.act {
            Act::Answered { answer, .. } => Some((answer, event.decision.verdict)),
            _ => None,
        })
        .collect();
    assert_eq!(answers, [("deny".to_owned(), Verdict::Deny)]);
}

#[test]
fn always_is_shown_first_then_written_and_then_holds() {
    let server = Server::start(OK);
    let mut person = person(&server, "");
    person
        .types(DELETE)
        .sees("a  allow it always; this is added to")
        .sees("action = \"allow\"");
    reads();
    person
        .types("a")
        .sees("allowed from now on; added to")
        .sees("ok")
        .sees("outer> ");
    person.types(DELETE).sees("ok").sees("outer> ");
    assert_eq!(server.heard().len(), 2);
    let file = person
        .sandbox
        .scratch()
        .config()
        .join("bailiwick/policy.toml");
    let text = std::fs::read_to_string(file).unwrap();
    assert!(
        text.contains("http.request.path == \\\"/thing\\\""),
        "{text}"
    );
    // Another thing is asked about all the same.
    let other = DELETE.replace("thing", "other");
    person
        .types(&other)
        .sees("bailiwick asks: DELETE http://a.test:80/other");
    reads();
    person.types("n").sees("denied");
}

#[test]
fn a_person_who_is_asked_without_end_refuses_all_that_a_rule_asks() {
    let server = Server::start(OK);
    let mut person = person(&server, "");
    let many = "$B run --policy p.toml -- sh -c 'for i in 1 2 3 4; do \
                curl -sS -X DELETE http://a.test/$i; done'; echo the end\r";
    person
        .types(many)
        .sees("bailiwick asks:")
        .sees("r  deny it");
    reads();
    person.types("r").sees("denied, as all that deletes asks");
    person.sees("refused by policy").sees("the end");
    assert_eq!(server.heard().len(), 0);
    person.sees("outer> ");
    let denied =
        |event: &Event| matches!(&event.act, Act::Answered { answer, .. } if answer == "deny");
    assert_eq!(rows(&person).iter().filter(|row| denied(row)).count(), 4);
}

#[test]
fn what_was_typed_before_the_question_could_be_read_answers_nothing() {
    let server = Server::start(OK);
    let mut person = person(&server, "[ask]\ntimeout = \"2s\"\n");
    person.types(DELETE).sees("bailiwick asks:");
    person.types("y").sees("outer> ");
    // On a machine so slow that the key came late it was one that answers.
    match answered_after(&person) {
        Some(after) => assert!(after >= READING, "answered after {after:?}"),
        None => {
            assert!(person.was_shown("nobody answered in time"));
            assert!(person.was_shown("refused by policy"));
            assert_eq!(server.heard().len(), 0);
        }
    }
}

#[test]
fn somebody_who_goes_on_typing_answers_nothing() {
    let server = Server::start(OK);
    let mut person = person(&server, "[ask]\ntimeout = \"4s\"\n");
    // From before the question to its end.
    let mut typed = vec![Instant::now()];
    person.types(DELETE).sees("--policy p.toml");
    let mut keys = "a yes, may any baby say hay".chars().cycle();
    let ends = ["nobody answered in time", "allowed", "denied"];
    while !ends.iter().any(|end| person.has_seen(end)) {
        assert!(typed.len() < 3000, "the question has no end");
        std::thread::sleep(Duration::from_millis(100));
        person.types(&keys.next().unwrap().to_string());
        typed.push(Instant::now());
    }
    typed.push(Instant::now());
    person.types(CTRL_C).sees("outer> ");
    // A key answers where there was a pause before it. It was read before the one behind it was typed, so
    // that this one and the one before it are as far apart: on a slow machine they may be.
    let paused = typed.windows(3).any(|keys| keys[2] - keys[0] >= READING);
    if !paused {
        assert_eq!(answered_after(&person), None);
        assert!(person.was_shown("nobody answered in time"));
        assert_eq!(server.heard().len(), 0);
    }
}

#[test]
fn what_comes_all_at_once_answers_nothing() {
    let server = Server::start(OK);
    let mut person = person(&server, "[ask]\ntimeout = \"4s\"\n");
    person.types(DELETE).sees("bailiwick asks:");
    reads();
    person
        .types("yes")
        .sees("nobody answered in time")
        .sees("refused by policy");
    assert_eq!(server.heard().len(), 0);
}

#[test]
fn a_program_cannot_hide_the_question_or_push_it_off_the_screen() {
    let server = Server::start(OK);
    let mut person = person(&server, "");
    person.types(
        "$B run --policy p.toml -- sh -c \"printf 'Go on? \\033[8m\\033]0;'; curl -sS -X DELETE \
         http://a.test/$(printf %020000d 0)\"\r",
    );
    person
        .sees("\x1b]0;")
        .sees("\x18\x1b\\\x1b[0m")
        .sees("bailiwick asks: DELETE http://a.test:80/000");
    person.sees("characters more)").sees("n  deny it");
    reads();
    person.types("n").sees("denied");
}

#[test]
fn without_a_terminal_the_policys_default_holds() {
    let server = Server::start(OK);
    let run = |more: &str| {
        let sandbox = Sandbox::new().policy(&policy(&server, more));
        sandbox.run("curl -sS -X DELETE http://a.test/thing")
    };
    let outcome = run("");
    outcome.success().refused_by("ask.default");
    outcome
        .stdout_has("refused by policy")
        .stdout_has("run it in a terminal");
    run("[ask]\ndefault = \"allow\"\n")
        .success()
        .stdout_is("ok\n");
    assert_eq!(server.heard().len(), 1);
}
