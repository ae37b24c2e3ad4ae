use super::*;
use crate::outcome::limit_line;

fn record(verdict: Verdict, samples: &[f64]) -> LimitRecord {
    LimitRecord {
        name: "x".to_owned(),
        includes: String::new(),
        argv: Vec::new(),
        unit: "ms".to_owned(),
        limit: 5.0,
        samples: samples.to_vec(),
        verdict,
        value: None,
        met: None,
    }
    .decided()
}

#[test]
fn a_figure_is_compared_with_its_limit() {
    assert_eq!(record(Verdict::Pass, &[4.0, 5.0, 6.0]).met, Some(true));
    assert_eq!(record(Verdict::Pass, &[5.1, 5.1]).met, Some(false));
}

#[test]
fn one_sample_neither_meets_a_limit_nor_exceeds_it() {
    for sample in [4.0, 6.0] {
        let limit = record(Verdict::Pass, &[sample]);
        assert_eq!(limit.met, None);
        assert!(matches!(limit.outcome(), Verdict::Absent(_)));
        assert!(limit_line(&limit).ends_with("ms: not decided by one sample"));
    }
}

#[test]
fn what_did_not_pass_has_neither_figure_nor_limit_met() {
    let failed = record(Verdict::Fail("x".to_owned()), &[1.0]);
    assert_eq!((failed.value, failed.met), (None, None));
}

#[test]
fn peak_memory_is_read_from_the_kernel_s_text() {
    assert_eq!(high_water("Name:\tx\nVmHWM:\t    1234 kB\n"), Some(1234));
    assert_eq!(high_water("Name:\tx\nVmRSS:\t1 kB\n"), None);
    assert_eq!(high_water("VmHWM:\tmuch\n"), None);
}
