//! Many rules on one event.

use crate::baseline;
use crate::work::{as_the_reference, compiled, detection, enforcement, event, realistic};
use bailiwick_rules::RuleSet;
use criterion::Criterion;
use std::hint::black_box;

pub(crate) fn last_match(criterion: &mut Criterion) {
    let record = event();
    let subject = record.subject();
    let mut group = criterion.benchmark_group("last match");
    let mut decide = |name: String, set: &RuleSet| {
        let last = set
            .decide(&subject, 0, |_, _| {})
            .expect("the last rule is true");
        assert!(!last.failed);
        group.bench_function(name, |b| {
            b.iter(|| black_box(set).decide(black_box(&subject), 0, |_, _| {}));
        });
    };
    let set = RuleSet::new(compiled(as_the_reference(100, enforcement)));
    decide("100 as the reference builds them".into(), &set);
    for count in [10, 100, 1_000, 10_000] {
        let set = RuleSet::new(compiled(realistic(count, enforcement)));
        decide(format!("{count} of two clauses"), &set);
    }
    group.bench_function("native check of one rule", |b| {
        b.iter(|| baseline::full(black_box(&record)))
    });
    // What one index saves: the same rules, each asked.
    for count in [100, 1_000] {
        let rules = compiled(realistic(count, enforcement));
        group.bench_function(
            format!("{count} of two clauses, one after the other"),
            |b| {
                b.iter(|| {
                    rules
                        .iter()
                        .filter(|rule| {
                            rule.program().run(black_box(&subject))
                                == bailiwick_rules::Outcome::True
                        })
                        .count()
                });
            },
        );
    }
}

pub(crate) fn findings(criterion: &mut Criterion) {
    let record = event();
    let subject = record.subject();
    let mut group = criterion.benchmark_group("finding");
    for (name, count) in [("1", 1), ("last of 100", 100)] {
        let set = RuleSet::new(compiled(as_the_reference(count, detection)));
        assert_eq!(set.findings(&subject, 0).len(), 1);
        group.bench_function(name, |b| {
            b.iter(|| black_box(&set).findings(black_box(&subject), 0));
        });
    }
    let set = RuleSet::new(compiled(realistic(100, detection)));
    group.bench_function("last of 100 of two clauses", |b| {
        b.iter(|| black_box(&set).findings(black_box(&subject), 0));
    });
    let found = set.findings(&subject, 0);
    group.bench_function("made fit for the record", |b| {
        b.iter(|| black_box(&found[0]).finding())
    });
}
