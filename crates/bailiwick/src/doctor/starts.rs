//! How long machines take to start.

use super::machines::Machines;
use super::report::Checked;
use bailiwick_event::Failure;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Instant;

/// What a start and each of its stages may take, in milliseconds.
struct Limits {
    total: f64,
    stage: f64,
}

/// On a processor that runs the machine itself.
const KVM: Limits = Limits {
    total: 1000.0,
    stage: 500.0,
};
/// Where every instruction is translated. Measured on two shared cores: 0.8 to 1.2 s, of which the
/// kernel 0.4 to 0.6 s, and twice that where both are busy.
const TCG: Limits = Limits {
    total: 5000.0,
    stage: 2500.0,
};
/// A start that was slow is tried again so often: a busy machine is not a slow image.
const TRIES: usize = 4;

/// Starts kernels until one start is in time, at most a few.
pub(super) fn examine(machines: &Machines) -> Result<[Checked; 2], Failure> {
    let began = Instant::now();
    let mut boots = Vec::new();
    for _ in 0..TRIES {
        boots.push(machines.boot(true)?);
        if total(&boots).is_ok() && stages(&boots).is_ok() {
            break;
        }
    }
    let checked = |name, expected: &str, outcome| {
        let remedy = "`bailiwick boot --cold --trace` shows where the time goes; a busy host is the \
                      usual reason";
        Checked::new(name, expected, remedy, outcome, began.elapsed())
    };
    let Limits {
        total: of_all,
        stage,
    } = limits(&boots);
    let accelerator = boots.first().and_then(|boot| boot["accelerator"].as_str());
    let accelerator = accelerator.unwrap_or("an unknown accelerator");
    Ok([
        checked(
            "boot.total",
            &format!("a machine starts, kernel and all, within {of_all} ms ({accelerator})"),
            total(&boots),
        ),
        checked(
            "boot.stages",
            &format!("no stage of a start takes more than {stage} ms ({accelerator})"),
            stages(&boots),
        ),
    ])
}

fn limits(boots: &[Value]) -> &'static Limits {
    match boots.iter().all(|boot| boot["accelerator"] == "kvm") {
        true => &KVM,
        false => &TCG,
    }
}

fn total(boots: &[Value]) -> Result<String, String> {
    let all = boots.iter().filter_map(|boot| boot["total_ms"].as_f64());
    let least = all.reduce(f64::min).ok_or("no start was timed")?;
    let said = format!("{least:.0} ms, the least of {}", boots.len());
    match least <= limits(boots).total {
        true => Ok(said),
        false => Err(said),
    }
}

/// Of each stage the least counts.
fn stages(boots: &[Value]) -> Result<String, String> {
    let mut least: BTreeMap<String, f64> = BTreeMap::new();
    for stage in boots
        .iter()
        .filter_map(|boot| boot["stages"].as_array())
        .flatten()
    {
        let name = (stage["side"].as_str(), stage["name"].as_str());
        if let ((Some(side), Some(name)), Some(ms)) = (name, stage["ms"].as_f64())
            && stage["work"] == true
        {
            let known = least.entry(format!("{side} {name}")).or_insert(ms);
            *known = known.min(ms);
        }
    }
    let longest = least.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (name, ms) = longest.ok_or("no stage was timed")?;
    let said = format!(
        "the longest is {name}, {ms:.0} ms, the least of {}",
        boots.len()
    );
    match ms <= limits(boots).stage {
        true => Ok(said),
        false => Err(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn boot(accelerator: &str, total: f64, kernel: f64) -> Value {
        json!({"accelerator": accelerator, "total_ms": total, "stages": [
            {"side": "host", "name": "guest", "ms": 9000.0, "work": false},
            {"side": "guest", "name": "kernel", "ms": kernel, "work": true},
            {"side": "guest", "name": "base", "ms": 3.0, "work": true},
        ]})
    }

    #[test]
    fn a_start_that_takes_too_long_fails_and_how_long_that_is_depends_on_the_accelerator() {
        assert!(total(&[boot("kvm", 999.0, 1.0)]).is_ok());
        assert!(total(&[boot("kvm", 1001.0, 1.0)]).is_err());
        assert!(total(&[boot("tcg", 4999.0, 1.0)]).is_ok());
        assert!(total(&[boot("tcg", 5001.0, 1.0)]).is_err());
        // One that was in time is enough, and none at all is not.
        assert!(total(&[boot("tcg", 9000.0, 1.0), boot("tcg", 900.0, 1.0)]).is_ok());
        assert!(total(&[]).is_err());
    }

    #[test]
    fn a_stage_that_is_slow_in_every_start_fails_and_is_named() {
        let (slow, fast) = (boot("kvm", 1.0, 501.0), boot("kvm", 1.0, 499.0));
        let failed = stages(&[slow.clone(), slow.clone()]).unwrap_err();
        assert!(failed.contains("guest kernel, 501 ms"), "{failed}");
        assert!(stages(&[slow, fast]).is_ok());
        assert!(stages(&[boot("tcg", 1.0, 2499.0)]).is_ok());
        assert!(stages(&[boot("tcg", 1.0, 2501.0)]).is_err());
        assert!(stages(&[]).is_err());
        assert!(stages(&[json!({"stages": []})]).is_err());
    }
}
