use super::*;

fn facts() -> Facts {
    Facts {
        samples: 50,
        most_runs: None,
        contention: Contention::OfProcesses(0.02),
        load: 0.1,
        quick: false,
    }
}

fn reason(facts: Facts) -> String {
    match Conditions::published().unwrap().judge(&facts) {
        Verdict::Inconclusive(reason) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn fifty_samples_on_a_quiet_machine_pass() {
    assert_eq!(
        Conditions::published().unwrap().judge(&facts()),
        Verdict::Pass
    );
}

#[test]
fn too_few_samples_are_inconclusive_unless_the_run_is_quick() {
    let few = Facts {
        samples: 49,
        ..facts()
    };
    assert!(reason(few).contains("too few"));
    let quick = Facts {
        samples: 3,
        quick: true,
        ..facts()
    };
    assert_eq!(
        Conditions::published().unwrap().judge(&quick),
        Verdict::Pass
    );
}

#[test]
fn no_samples_are_inconclusive_even_when_quick() {
    let none = Facts {
        samples: 0,
        quick: true,
        ..facts()
    };
    assert!(reason(none).contains("no samples"));
}

#[test]
fn a_contended_or_loaded_or_unknown_machine_is_inconclusive() {
    let with = |contention, load| Facts {
        contention,
        load,
        ..facts()
    };
    use Contention::{OfMachine, OfProcesses, Unknown};
    assert!(reason(with(OfProcesses(0.11), 0.1)).contains("waited for a CPU"));
    assert!(reason(with(OfMachine(0.11), 0.1)).contains("the machine was busy"));
    assert!(reason(with(Unknown, 0.1)).contains("schedstat"));
    assert!(reason(with(OfMachine(0.0), 1.5)).contains("load"));
    assert!(reason(with(OfProcesses(0.0), f64::INFINITY)).contains("load"));
    assert_eq!(Contention::of_processes(0, 5), Unknown);
    assert_eq!(Contention::of_processes(100, 5), OfProcesses(0.05));
}

#[test]
fn a_row_of_long_runs_has_fewer_but_not_none() {
    let of = |samples| Facts {
        samples,
        most_runs: Some(5),
        ..facts()
    };
    assert_eq!(
        Conditions::published().unwrap().judge(&of(5)),
        Verdict::Pass
    );
    assert!(reason(of(4)).contains("at least 5"));
}
