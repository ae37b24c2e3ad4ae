use super::*;
use crate::testing::{connect, dns, effective, host, ips, network, refused, with_host, with_http};
use bailiwick_event::Text;
use bailiwick_ledger::{Filter, NewSession, SessionReader, StateDir};
use std::path::Path;
use std::sync::Mutex;
use tempfile::TempDir;

struct Lab {
    folder: TempDir,
    seen: Arc<Mutex<Vec<Event>>>,
    guard: Arc<Guard>,
}

fn lab() -> Lab {
    let folder = TempDir::new().unwrap();
    let state = StateDir::at(folder.path()).unwrap();
    let new = NewSession {
        name: None,
        workspace: Path::new("/"),
        argv: &[],
    };
    let ledger = Ledger::create(&state, &new).unwrap();
    let rules = with_http(
        network(&["a.example.com"], &[]),
        "api.example.com",
        &["GET"],
        &[],
    );
    let policy = effective(with_host(rules, "pypi.test", "127.0.0.1:8443"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let observer: Observer = Box::new(move |event| told.lock().unwrap().push(event.clone()));
    let guard = Guard::new(Arc::new(policy), ledger, Some(observer));
    Lab {
        folder,
        seen,
        guard,
    }
}

impl Lab {
    fn rows(&self) -> Vec<Event> {
        let state = StateDir::at(self.folder.path()).unwrap();
        let reader = SessionReader::open(&state, self.guard.ledger().id()).unwrap();
        reader.events(&Filter::default()).unwrap()
    }
}

#[test]
fn what_is_submitted_is_answered_recorded_and_told() {
    let lab = lab();
    let asked = [
        dns("a.example.com"),
        dns("b.example.com"),
        connect("b.example.com", 1),
    ];
    let answers = asked.clone().map(|act| lab.guard.submit(act));
    assert!(answers[0].is_allow());
    assert_eq!(refused(&answers[1]), "network.default");
    let rows = lab.rows();
    assert_eq!(rows, *lab.seen.lock().unwrap());
    let kept: Vec<_> = rows
        .into_iter()
        .map(|row| (row.act, row.decision))
        .collect();
    assert_eq!(kept, asked.into_iter().zip(answers).collect::<Vec<_>>());
}

#[test]
fn asking_alone_leaves_no_trace() {
    let lab = lab();
    assert!(lab.guard.decide(&dns("a.example.com")).is_allow());
    assert_eq!(lab.rows(), []);
    assert!(lab.seen.lock().unwrap().is_empty());
}

#[test]
fn what_cannot_be_recorded_is_refused_and_told() {
    let lab = lab();
    lab.guard.ledger().close().unwrap();
    let answer = lab.guard.submit(dns("a.example.com"));
    assert_eq!(refused(&answer), "ledger.unrecorded");
    let seen = lab.seen.lock().unwrap();
    assert_eq!(seen.len(), 1);
    assert_eq!(
        (seen[0].id, &seen[0].act, &seen[0].decision),
        (0, &dns("a.example.com"), &answer)
    );
}

#[test]
fn a_note_is_recorded_as_it_was_decided() {
    let lab = lab();
    let act = Act::ExecStart {
        argv: vec![Text::from("true")],
        cwd: Text::from("/"),
    };
    let decision = lab.guard.decide(&act);
    lab.guard.note(act.clone(), decision.clone());
    let rows = lab.rows();
    assert_eq!((&rows[0].act, &rows[0].decision), (&act, &decision));
    assert_eq!(lab.seen.lock().unwrap().len(), 1);
}

#[test]
fn the_gate_learns_where_to_dial() {
    let lab = lab();
    let mapped = "127.0.0.1:8443".parse().unwrap();
    assert_eq!(lab.guard.mapping(&host("pypi.test")), Some(mapped));
    assert_eq!(lab.guard.mapping(&host("a.example.com")), None);
    assert!(lab.guard.http_only(&host("api.example.com"), 80));
    assert!(!lab.guard.http_only(&host("a.example.com"), 80));
    let addresses = ips(&["10.0.0.1", "93.184.216.34"]);
    let usable = lab
        .guard
        .usable_addresses(&host("a.example.com"), 443, &addresses);
    assert_eq!(usable, ips(&["93.184.216.34"]));
    assert_eq!(lab.guard.policy().network.hosts.len(), 1);
}
