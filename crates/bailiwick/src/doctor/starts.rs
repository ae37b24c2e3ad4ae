//! How long machines take to start.

use super::machines::Machines;
use super::report::Checked;
use bailiwick_event::Failure;
use serde_json::Value;
use std::time::{Duration, Instant};

/// What a start may take under KVM.
const KVM: Duration = Duration::from_secs(1);
/// What it may take where every instruction is translated: measured are 0.8 to 1.2 s on two shared
/// cores; beyond this nobody would wait for it.
const TCG: Duration = Duration::from_secs(5);
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
    let limit = limit(&boots);
    Ok([
        checked(
            "boot.total",
            &format!(
                "a machine starts, kernel and all, within {} s",
                limit.as_secs()
            ),
            total(&boots),
        ),
        checked(
            "boot.stages",
            "no stage of a start takes more than 500 ms",
            stages(&boots),
        ),
    ])
}

fn limit(boots: &[Value]) -> Duration {
    match boots.iter().all(|boot| boot["accelerator"] == "kvm") {
        true => KVM,
        false => TCG,
    }
}

fn total(boots: &[Value]) -> Result<String, String> {
    let all = boots.iter().filter_map(|boot| boot["total_ms"].as_f64());
    let least = all.reduce(f64::min).ok_or("no start was timed")?;
    let said = format!("{least:.0} ms, the least of {}", boots.len());
    match Duration::from_secs_f64(least / 1000.0) <= limit(boots) {
        true => Ok(said),
        false => Err(said),
    }
}

/// A stage is slow that is slow in every start.
fn stages(boots: &[Value]) -> Result<String, String> {
    let of = |boot: &Value| -> Vec<(String, f64, bool)> {
        let all = boot["stages"].as_array().cloned().unwrap_or_default();
        let stage = |stage: &Value| {
            let name = format!("{} {}", stage["side"].as_str()?, stage["name"].as_str()?);
            let work = stage["work"].as_bool()?;
            work.then_some((name, stage["ms"].as_f64()?, stage["over"].as_bool()?))
        };
        all.iter().filter_map(stage).collect()
    };
    let slow: Vec<_> = boots.iter().map(of).collect();
    let first = slow
        .first()
        .filter(|stages| !stages.is_empty())
        .ok_or("no stage was timed")?;
    let always = |name: &str| {
        let over = |stages: &Vec<(String, f64, bool)>| {
            stages.iter().any(|(other, _, over)| other == name && *over)
        };
        slow.iter().all(over)
    };
    let found: Vec<_> = first.iter().filter(|(name, ..)| always(name)).collect();
    if let Some((name, ms, _)) = found.first() {
        return Err(format!(
            "{name}: {ms:.0} ms, and over 500 ms in each of {}",
            boots.len()
        ));
    }
    let fastest = slow.iter().flatten().map(|(name, ms, _)| (name, *ms));
    let longest = first.iter().map(|(name, ..)| {
        let least = fastest
            .clone()
            .filter(|(other, _)| *other == name)
            .map(|(_, ms)| ms);
        (name, least.fold(f64::INFINITY, f64::min))
    });
    let longest = longest.max_by(|a, b| a.1.total_cmp(&b.1));
    Ok(longest.map_or_else(String::new, |(name, ms)| {
        format!("the longest is {name}, {ms:.0} ms")
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn boot(accelerator: &str, total: f64, kernel: f64) -> Value {
        json!({"accelerator": accelerator, "total_ms": total, "stages": [
            {"side": "host", "name": "guest", "ms": 9000.0, "work": false, "over": false},
            {"side": "guest", "name": "kernel", "ms": kernel, "work": true, "over": kernel > 500.0},
            {"side": "guest", "name": "base", "ms": 3.0, "work": true, "over": false},
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
        let (slow, fast) = (boot("tcg", 1.0, 501.0), boot("tcg", 1.0, 400.0));
        let failed = stages(&[slow.clone(), slow.clone()]).unwrap_err();
        assert!(failed.contains("guest kernel: 501 ms"), "{failed}");
        assert_eq!(
            stages(&[slow, fast]),
            Ok("the longest is guest kernel, 400 ms".to_owned())
        );
        assert!(stages(&[]).is_err());
        assert!(stages(&[json!({"stages": []})]).is_err());
    }
}
