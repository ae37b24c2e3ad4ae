//! From a detection's intermediate form to what is enforced.

use crate::work::ON;
use bailiwick_rules::sigma::Detection;
use bailiwick_rules::{Compiled, Rule, RuleSet, Severity};
use criterion::Criterion;
use std::hint::black_box;
use std::sync::Arc;

const YAML: &str = r"
title: Upload of a secret
id: 5f0a6f0e-0b5e-4ac7-8f4c-0f2b8d3d7c11
status: test
level: high
logsource:
  category: proxy
detection:
  host:
    cs-host|contains: google
  path:
    cs-uri-stem|startswith: /admin
  words:
    c-uri|contains|all:
      - google
      - upload
  condition: host and path and words
";

fn detection() -> Detection {
    let mut read = bailiwick_rules::sigma::read(YAML);
    read.remove(0).expect("the rule can be carried over")
}

pub(crate) fn sigma(criterion: &mut Criterion) {
    let detection = detection();
    let json = serde_json::to_string(&detection).expect("it is JSON");
    let mut group = criterion.benchmark_group("sigma");
    group.bench_function("parse and validate", |b| {
        b.iter(|| Detection::parse(black_box(&json)).expect("it is one"));
    });
    group.bench_function("lower 1", |b| b.iter(|| black_box(&detection).to_cel()));
    let hundred: Vec<_> = (0..100).map(|_| detection.clone()).collect();
    group.bench_function("lower 100", |b| {
        b.iter(|| hundred.iter().map(Detection::to_cel).collect::<Vec<_>>());
    });
    group.bench_function("lower and compile 100", |b| {
        b.iter(|| {
            let rule = |(n, detection): (usize, &Detection)| {
                let when = detection.to_cel();
                let rule = Rule::detection(&format!("s{n}"), ON, &when, Severity::High);
                Arc::new(Compiled::new(rule).expect("it compiles"))
            };
            RuleSet::new(hundred.iter().enumerate().map(rule).collect())
        });
    });
    group.bench_function("from YAML", |b| {
        b.iter(|| bailiwick_rules::sigma::read(black_box(YAML)))
    });
}
