use super::*;
use crate::rule::{Action, Compiled, Rule, Severity};
use crate::{Outcome, Program};
use bailiwick_event::fields::{EventType, Headers, Record};
use bailiwick_event::{Act, Decision, Event, Transport};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A file that goes away with it.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: impl AsRef<[u8]>) -> Self {
        let name = format!("backtest-{}-{name}.jsonl", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn rule(when: &str, action: Action) -> Arc<Compiled> {
    let id = format!("{}-{}", action.name(), when.len());
    let rule = Rule::enforcement(&id, EventType::HttpRequest, when, action);
    Arc::new(Compiled::new(rule).unwrap())
}

fn detection(id: &str, when: &str) -> Arc<Compiled> {
    let rule = Rule::detection(id, EventType::HttpRequest, when, Severity::High);
    Arc::new(Compiled::new(rule).unwrap())
}

fn line(host: &str) -> String {
    let mut record = Record::new(EventType::HttpRequest);
    record.http_request.host = Some(host.into());
    record.to_line() + "\n"
}

fn run(file: &File, rules: &[Arc<Compiled>], options: Options) -> Result<Report, CorpusError> {
    let mut backtest = Backtest::rules(rules, options);
    backtest.corpus(&Corpus::open([&file.0])?, &|_| {})?;
    Ok(backtest.report())
}

fn at(row: &Row) -> u64 {
    match row.event {
        Place::Line { line, .. } => line,
        Place::Event { id, .. } => id,
    }
}

#[test]
fn rows_are_one_for_each_signature_with_the_first_event() {
    let text = [line("a.test"), line("b.test"), "\n".into(), line("a.test")].concat();
    let file = File::new("rows", text);
    let rules = [
        detection("any", r#"http.request.host.endsWith(".test")"#),
        rule(r#"http.request.host == "b.test""#, Action::Deny),
        rule(r#"http.request.host != "b.test" "#, Action::Observe),
        rule("http.request.port > 80", Action::Deny),
    ];
    let report = run(&file, &rules[..3], Options::default()).unwrap();
    let told: Vec<_> = report
        .rows
        .iter()
        .map(|row| (at(row), row.verdict.to_string(), row.count))
        .collect();
    let expected = [
        (1, "observe", 2),
        (1, "high", 2),
        (2, "deny", 1),
        (2, "high", 1),
    ];
    assert_eq!(told, expected.map(|(n, v, c)| (n, v.to_owned(), c)));
    assert_eq!((report.events, report.matched, report.truncated), (3, 3, 0));
    let counts: Vec<_> = report.rules.iter().map(|r| r.matched).collect();
    assert_eq!(counts, [3, 1, 2]);
    // A condition without a value stops the event, and that is said.
    let report = run(&file, &rules[3..], Options::default()).unwrap();
    assert_eq!(report.rows[0].verdict, Verdict::Failed);
    assert_eq!((report.rules[0].matched, report.rules[0].failed), (0, 3));
}

#[test]
fn what_is_found_does_not_depend_on_the_threads() {
    let mut text = String::new();
    for n in 0..60_000_u64 {
        text += &line(&format!("h{}.test", n * n % 991));
    }
    assert!(text.len() > 3 << 20, "several pieces");
    let file = File::new("threads", &text);
    let rules = [detection("any", r#"http.request.host.contains("7")"#)];
    let reports: Vec<_> = [1, 2, 7]
        .into_iter()
        .map(|threads| {
            let options = Options {
                threads,
                limit: 50,
                ..Options::default()
            };
            run(&file, &rules, options).unwrap()
        })
        .collect();
    assert_eq!(reports[0], reports[1]);
    assert_eq!(reports[0], reports[2]);
    let report = &reports[0];
    let shown: u64 = report.rows.iter().map(|row| row.count).sum();
    assert_eq!(report.rows.len(), 50);
    assert_eq!(shown + report.truncated, report.rules[0].matched);
    let expected = (0..60_000_u64).filter(|n| (n * n % 991).to_string().contains('7'));
    assert_eq!(report.matched, expected.count() as u64);
}

#[test]
fn a_line_that_is_no_event_ends_it_or_is_counted() {
    let bad = "{\"common\": {\"type\": \"file\"}, \"file\": {\"é\": 1}}\n";
    let filler = line("filler.test").repeat(20_000);
    let file = File::new("bad", [&filler, bad, &filler, "{\n", "\u{feff}\n"].concat());
    let error = run(&file, &[], Options::default()).unwrap_err().to_string();
    let name = file.0.display();
    assert!(error.starts_with(&format!("{name}:20001:")), "{error}");
    assert!(error.contains("no field is called \"é\""), "{error}");
    let options = Options {
        keep_going: true,
        ..Options::default()
    };
    let report = run(&file, &[], options).unwrap();
    assert_eq!((report.events, report.skipped), (40_000, 3));
    let lines: Vec<_> = report.mistakes.iter().map(|m| m.line).collect();
    assert_eq!(lines, [20_001, 40_002, 40_003]);
}

#[test]
fn bytes_that_are_no_text_and_lines_without_end_are_mistakes() {
    let mut text = line("a.test").into_bytes();
    text.extend(b"{\"\xff\"}\n");
    text.extend(vec![b' '; MAX_LINE - 1]);
    text.extend(b"\n");
    text.extend(vec![b'x'; MAX_LINE + 1]);
    text.extend(b"\n");
    text.extend(vec![b'x'; 3 * MAX_LINE]);
    text.extend(b"\n");
    text.extend(line("b.test").trim_end().as_bytes());
    let file = File::new("bytes", text);
    let options = Options {
        keep_going: true,
        ..Options::default()
    };
    let rules = [detection("any", r#"http.request.host == "b.test""#)];
    let report = run(&file, &rules, options).unwrap();
    assert_eq!((report.events, report.skipped), (2, 3));
    assert_eq!(at(&report.rows[0]), 6);
    let told: Vec<_> = report.mistakes.iter().map(|m| (m.line, m.column)).collect();
    assert_eq!(told, [(2, 3), (4, 1), (5, 1)]);
}

#[test]
fn files_follow_one_another_each_with_its_own_lines() {
    let a = File::new("first", line("a.test").repeat(3));
    let b = File::new("second", line("b.test"));
    let mut backtest =
        Backtest::hunt(r#"http.request.host == "b.test""#, Options::default()).unwrap();
    let corpus = Corpus::open([&a.0, &b.0]).unwrap();
    let told = Mutex::new(Vec::new());
    backtest
        .corpus(&corpus, &|progress| told.lock().unwrap().push(progress))
        .unwrap();
    let report = backtest.report();
    assert_eq!(
        report.rows[0].event.to_string(),
        format!("{}:1", b.0.display())
    );
    let last = told.into_inner().unwrap().pop().unwrap();
    assert_eq!(
        (last.events, last.bytes, last.of),
        (4, corpus.bytes(), corpus.bytes())
    );
    let gone = Corpus::open(["/no/such/file"]).unwrap_err().to_string();
    assert!(gone.contains("/no/such/file cannot be read"), "{gone}");
    let folder = Corpus::open([std::env::temp_dir()])
        .unwrap_err()
        .to_string();
    assert!(folder.contains("folder"), "{folder}");
}

#[test]
fn a_hunt_asks_events_of_every_type_and_of_sessions() {
    let condition = r#"dns.request.qname.domain("evil.com") || has(http.request.host)"#;
    let mut hunt = Backtest::hunt(condition, Options::default()).unwrap();
    let act = |qname: &str| Act::Dns {
        qname: qname.into(),
        qtype: "A".into(),
        transport: Transport::Udp,
    };
    for (id, act) in [
        (1, Act::Overflow { lost: 1 }),
        (2, act("x.evil.com")),
        (3, act("good.com")),
        (4, act("x.evil.com")),
    ] {
        hunt.event(&"s1".into(), &event(id, act));
    }
    let report = hunt.report();
    assert_eq!((report.events, report.matched), (3, 2));
    let told: Vec<_> = report.rows.iter().map(|r| r.event.to_string()).collect();
    assert_eq!(told, ["s1/2", "s1/4"]);
    assert!(Backtest::hunt("1 +", Options::default()).is_err());
}

fn event(id: u64, act: Act) -> Event {
    Event {
        id,
        time_ns: 5,
        act,
        decision: Decision::allow(bailiwick_event::RuleRef {
            id: "test".into(),
            origin: bailiwick_event::Origin::built_in(),
        }),
    }
}

#[test]
fn rows_of_one_signature_become_one() {
    let row = |line: u64, signature| Row {
        event: Place::Line {
            file: "f".into(),
            line,
        },
        rule: "r".into(),
        pack: None,
        signature,
        fields: Vec::new(),
        verdict: Verdict::Found,
        count: 1,
    };
    let rows = [3, 1, 3, 2, 1, 3];
    let rows = dedupe((1..).zip(rows).map(|(n, s)| row(n, s)).collect());
    let told: Vec<_> = rows.iter().map(|r| (r.signature, at(r), r.count)).collect();
    assert_eq!(told, [(3, 1, 3), (1, 2, 2), (2, 4, 1)]);
    assert!(dedupe(Vec::new()).is_empty());
}

#[test]
fn a_condition_is_explained_part_by_part_and_keeps_credentials_to_itself() {
    let mut record = Record::new(EventType::HttpRequest);
    record.http_request.host = Some("A.test".into());
    record.http_request.headers = Some(Headers(vec![
        ("Authorization".into(), "Bearer tell-nobody".into()),
        ("x".into(), "y".into()),
    ]));
    let condition = r#"http.request.host.lowerAscii() == "a.test" && http.request.port > 1
        || ["a"].exists(n, n == http.request.header("authorization").lowerAscii())"#;
    let program = Program::compile(condition, Some(EventType::HttpRequest)).unwrap();
    assert_eq!(program.run(&record.subject()), Outcome::Failed);
    let steps = explain(&program, &record.subject());
    let told: Vec<_> = steps
        .iter()
        .map(|step| {
            let value = step.value.as_deref().map_err(|e| &**e);
            (step.depth, &*step.text, value)
        })
        .collect();
    assert_eq!(told[0].0, 0);
    let has = |text: &str, value| {
        assert!(
            told.iter().any(|s| (s.1, s.2) == (text, value)),
            "{text}: {told:#?}"
        )
    };
    has(r#"http.request.host.lowerAscii() == "a.test""#, Ok("true"));
    has("http.request.host", Ok(r#""A.test""#));
    has(
        "http.request.port",
        Err("the event has no `http.request.port`"),
    );
    has(r#"http.request.header("authorization")"#, Ok("(18 bytes)"));
    let all = format!("{steps:?}").to_lowercase();
    assert!(
        !all.contains("nobody") && !told.iter().any(|s| s.1 == "n"),
        "{all}"
    );
}

#[test]
fn a_report_for_programs_has_everything() {
    let file = File::new("json", line("a.test"));
    let rules = [rule(r#"http.request.host == "a.test""#, Action::Ask)];
    let json = run(&file, &rules, Options::default()).unwrap().to_json();
    assert_eq!(json["rows"][0]["action"], "ask");
    assert_eq!(json["rows"][0]["fields"]["http.request.host"], "a.test");
    assert_eq!(json["rows"][0]["signature"].as_str().unwrap().len(), 32);
    assert_eq!(json["rules"][0]["matched"], 1);
    let mut sink = std::io::sink();
    writeln!(sink, "{json}").unwrap();
}
