//! How fast a corpus is asked, and in how much memory:
//! `cargo run --release -p bailiwick-rules --example backtest -- [MEGABYTES] [THREADS]`.
#![allow(clippy::unwrap_used, reason = "an example that cannot go on ends")]

use bailiwick_event::MatchedField;
use bailiwick_event::fields::{EventType, Headers, Record, Time};
use bailiwick_rules::backtest::{Backtest, Corpus, Options, Place, Row, Verdict, dedupe};
use bailiwick_rules::{Action, Compiled, Rule, Severity};
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

fn line(n: u64) -> String {
    let mut record = Record::new(EventType::HttpRequest);
    record.common.id = Some(n as i64);
    record.common.time = Some(Time(1_795_174_367_000_000_001 + n as i64));
    let http = &mut record.http_request;
    let host = format!("h{}.example{}.com", n % 97, n % 1009);
    http.method = Some(if n.is_multiple_of(3) { "POST" } else { "GET" }.into());
    http.scheme = Some("https".into());
    http.url = Some(format!("https://{host}/api/v{}/items/{n}", n % 5).into());
    http.path = Some(format!("/api/v{}/items/{n}", n % 5).into());
    http.host = Some(host.into());
    http.port = Some(443);
    http.headers = Some(Headers(vec![
        ("user-agent".into(), "curl/8.5.0".into()),
        ("accept".into(), "*/*".into()),
    ]));
    record.to_line()
}

/// 100 rules: hosts, parts of paths, headers, and both together.
fn rules() -> Vec<Arc<Compiled>> {
    let rule = |n: u64| {
        let when = match n % 5 {
            0 => format!(r#"http.request.host == "h{n}.example{n}.com""#),
            1 => format!(
                r#"http.request.host.domain("example{n}.com") && http.request.method == "POST""#
            ),
            2 => format!(
                r#"http.request.path.contains("/admin{n}/") || http.request.path.endsWith("items/{n}")"#
            ),
            3 => format!(r#"http.request.header("user-agent").startsWith("agent-{n}")"#),
            _ => format!(
                r#"http.request.host.lowerAscii().contains("pool{n}.") && http.request.port != 443"#
            ),
        };
        let id = format!("rule-{n}");
        let on = EventType::HttpRequest;
        let rule = match n % 2 {
            0 => Rule::enforcement(&id, on, &when, Action::Deny),
            _ => Rule::detection(&id, on, &when, Severity::Medium),
        };
        Arc::new(Compiled::new(rule).unwrap())
    };
    (0..100).map(rule).collect()
}

fn row(n: u64, signatures: u64, (file, rule): (&Arc<str>, &Arc<str>)) -> Row {
    let field = |name: &'static str| MatchedField {
        field: name.into(),
        value: format!("value {}", n % signatures),
    };
    Row {
        event: Place::Line {
            file: Arc::clone(file),
            line: n,
        },
        rule: Arc::clone(rule),
        pack: None,
        signature: u128::from(n % signatures)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835),
        fields: vec![field("http.request.host"), field("http.request.path")],
        verdict: Verdict::Detect(Severity::High),
        count: 1,
    }
}

fn main() {
    let mut words = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse::<usize>().ok());
    let (megabytes, threads) = (words.next().unwrap_or(200), words.next().unwrap_or(2));
    let names = (&"a.jsonl".into(), &"a-rule".into());
    for (rows, signatures) in [(100, 100), (1000, 100)] {
        let all: Vec<_> = (0..rows).map(|n| row(n, signatures, names)).collect();
        let mut times: Vec<_> = (0..2000)
            .map(|_| {
                let all = all.clone();
                let start = Instant::now();
                black_box(dedupe(black_box(all)));
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        println!(
            "dedupe {rows} rows of {signatures} signatures: median {:?}",
            times[1000]
        );
    }
    let path = std::env::temp_dir().join(format!("backtest-{}.jsonl", std::process::id()));
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let (mut bytes, mut events) = (0, 0);
    while bytes < megabytes << 20 {
        let line = line(events);
        bytes += line.len() + 1;
        events += 1;
        writeln!(file, "{line}").unwrap();
    }
    file.flush().unwrap();
    println!("{events} events, {} bytes each", bytes as u64 / events);
    let rules = rules();
    for _ in 0..5 {
        let options = Options {
            threads,
            ..Options::default()
        };
        let mut backtest = Backtest::rules(&rules, options);
        let start = Instant::now();
        let corpus = Corpus::open([&path]).unwrap();
        backtest.corpus(&corpus, &|_| {}).unwrap();
        let report = backtest.report();
        println!(
            "{:.0} events/s; {} matched, {} rows, {} not shown",
            report.events as f64 / start.elapsed().as_secs_f64(),
            report.matched,
            report.rows.len(),
            report.truncated,
        );
    }
    std::fs::remove_file(&path).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or("no peak known"));
}
