//! What the figures are worth. A figure counts only if its verifier passed, its kernel had nothing to do in
//! the timed part, and the host left it alone.

use crate::arguments::{Arguments, Workload};
use crate::evidence::Run;
use crate::host::Host;
use crate::machine::{Case, System};
use crate::statistics::{interval, median};
use std::fmt;

/// How much faster two processors have to be than one.
const LEAST: f64 = 1.6;
/// The same for what we ask of ourselves.
const OWN: f64 = 1.90;
/// How much more than its processors a machine may seem to have.
const NOISE: f64 = 1.03;
/// How far below Linux's a speedup may be, at the upper end of the interval.
const BELOW_LINUX: f64 = -0.05;
/// Runs that a comparison with Linux needs.
const COMPARED: usize = 15;
/// How much more four processors on two cores may cost here than on Linux.
const OVERSUBSCRIBED: f64 = 1.05;

/// A verdict. The worst of several is the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    Fail,
    Inconclusive,
    Pass,
}

impl fmt::Display for Verdict {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Inconclusive => "inconclusive",
        })
    }
}

/// What a line is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// The gate: without it there is no evidence.
    Gate(Verdict),
    /// What we ask of ourselves.
    Own(Verdict),
    /// Only told.
    Told,
}

/// What was judged, one line each, and what was found without being judged.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    lines: Vec<(Line, String)>,
}

impl Judged {
    /// Whether there is evidence that it scales.
    pub(crate) fn verdict(&self) -> Verdict {
        self.worst(|line| match line {
            Line::Gate(verdict) => Some(verdict),
            _ => None,
        })
    }

    /// Whether what we ask of ourselves is reached.
    pub(crate) fn own(&self) -> Verdict {
        self.worst(|line| match line {
            Line::Own(verdict) => Some(verdict),
            _ => None,
        })
    }

    fn worst(&self, of: impl Fn(Line) -> Option<Verdict>) -> Verdict {
        let worst = self.lines.iter().filter_map(|(line, _)| of(*line)).min();
        worst.unwrap_or(Verdict::Inconclusive)
    }

    fn judge(&mut self, verdict: Verdict, text: String) {
        self.lines.push((Line::Gate(verdict), text));
    }

    fn compare(&mut self, verdict: Verdict, text: String) {
        self.lines.push((Line::Own(verdict), text));
    }

    fn tell(&mut self, text: String) {
        self.lines.push((Line::Told, text));
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (line, text) in &self.lines {
            match line {
                Line::Gate(verdict) => writeln!(to, "{verdict}: {text}")?,
                Line::Own(verdict) => writeln!(to, "own limit, {verdict}: {text}")?,
                Line::Told => writeln!(to, "  {text}")?,
            }
        }
        writeln!(
            to,
            "verdict: {}; own limits: {}",
            self.verdict(),
            self.own()
        )
    }
}

/// The times of a case that count.
fn times(runs: &[Run], case: Case) -> Vec<f64> {
    let good = runs
        .iter()
        .filter(|run| run.case == case && !run.is_contended);
    good.filter_map(|run| Some(run.told.as_ref().ok()?.elapsed as f64))
        .collect()
}

/// Whether a figure reaches a limit. One that does not, and whose interval does, shows neither.
fn reaches(found: f64, (low, high): (f64, f64), limit: f64) -> Verdict {
    match () {
        () if found >= limit => Verdict::Pass,
        () if low < limit && high >= limit => Verdict::Inconclusive,
        () => Verdict::Fail,
    }
}

/// Judges the boots.
pub(crate) fn judge(arguments: &Arguments, host: &Host, runs: &[Run]) -> Judged {
    let mut judged = Judged::default();
    verified(&mut judged, runs);
    undisturbed(&mut judged, arguments.workload, runs);
    for system in arguments.systems() {
        cases(&mut judged, arguments, host, runs, system);
        speedup(&mut judged, arguments, runs, system);
    }
    if arguments.beside_linux {
        beside_linux(&mut judged, arguments, host, runs);
    }
    judged
}

/// Every boot has done its work, whatever the host did.
fn verified(judged: &mut Judged, runs: &[Run]) {
    let failed: Vec<_> = runs.iter().filter(|run| run.told.is_err()).collect();
    match failed.first() {
        None => judged.judge(Verdict::Pass, format!("{} boots, all verified", runs.len())),
        Some(first) => {
            let why = first.told.as_ref().err().map_or("", String::as_str);
            let (failed, all) = (failed.len(), runs.len());
            judged.judge(
                Verdict::Fail,
                format!("{failed} of {all} boots were not verified: {why}"),
            );
        }
    }
}

/// No kernel of ours had anything to do in the timed part of work that only computes.
fn undisturbed(judged: &mut Judged, workload: Workload, runs: &[Run]) {
    let told = runs.iter().filter(|run| run.case.system == System::Capos);
    let told: Vec<_> = told.filter_map(|run| run.told.as_ref().ok()).collect();
    if !workload.is_computing() || told.is_empty() {
        return;
    }
    let disturbed = told
        .iter()
        .find(|told| !told.activity.is_some_and(crate::line::Activity::is_none));
    match disturbed {
        None => judged.judge(
            Verdict::Pass,
            "no lock, interrupt, switch or system call in any timed part".into(),
        ),
        Some(told) => {
            let text = format!(
                "the kernel had to do with a timed part: {:?}",
                told.activity
            );
            judged.judge(Verdict::Fail, text);
        }
    }
}

fn cases(judged: &mut Judged, arguments: &Arguments, host: &Host, runs: &[Run], system: System) {
    for processors in arguments.processors(host) {
        let case = Case { system, processors };
        let times = times(runs, case);
        let all = runs.iter().filter(|run| run.case == case).count();
        let kind = match processors {
            8 => ", informational",
            _ if !host.has_cores(processors) => ", functional only: the host has fewer cores",
            _ => "",
        };
        let middle = median(&times).map_or("none".into(), |middle| format!("{middle:.0}"));
        judged.tell(format!(
            "{} {}: median {middle} {} (cycles >> 20: {}), {} of {all} boots count{kind}",
            system.name(),
            case.name(),
            system.unit(),
            median(&times).map_or(0, |middle| middle as u64 >> 20),
            times.len(),
        ));
    }
}

/// What a second processor has to bring, by what is done.
fn limits(workload: Workload) -> (f64, f64) {
    match workload {
        Workload::Primes | Workload::Hash => (LEAST, OWN),
        Workload::Nops => (LEAST, 1.8),
        Workload::Pairs => (LEAST, 1.7),
    }
}

/// Work for one is divided by the workers; NOPs and pairs each worker has for itself.
fn ratio(workload: Workload, one: &[f64], more: &[f64], processors: u32) -> Option<f64> {
    let ratio = median(one)? / median(more)?;
    Some(match workload.is_computing() {
        true => ratio,
        false => ratio * f64::from(processors),
    })
}

/// Whether two processors can be so many times as fast as one. More was not measured: the host took time from the one,
/// or its clock is wrong.
fn can_be(found: f64) -> bool {
    found <= 2.0 * NOISE
}

fn speedup(judged: &mut Judged, arguments: &Arguments, runs: &[Run], system: System) {
    let of = |processors| times(runs, Case { system, processors });
    let (one, two) = (of(1), of(2));
    let name = system.name();
    let needed = arguments.runs as usize;
    let is_control = arguments.control.is_some();
    let Some(found) = ratio(arguments.workload, &one, &two, 2) else {
        let text = format!("{name}: no figure for one and two processors that counts");
        return judged.judge(Verdict::Inconclusive, text);
    };
    let within = interval(&[&one, &two], |drawn| {
        ratio(arguments.workload, &drawn[0], &drawn[1], 2)
    });
    let (low, high) = within.unwrap_or((found, found));
    let text = format!("{name}: two processors are {found:.3}x one [{low:.2}, {high:.2}]");
    if system == System::Linux {
        return judged.tell(text);
    }
    let (least, own) = limits(arguments.workload);
    let is_enough = is_control || (one.len() >= needed && two.len() >= needed);
    let is_possible = can_be(found);
    let is_enough = is_enough && is_possible;
    let text = match is_possible {
        true => text,
        false => format!("{text}, more than they can be"),
    };
    let verdict = match found {
        _ if !is_enough => Verdict::Inconclusive,
        found if found < least => Verdict::Fail,
        _ => Verdict::Pass,
    };
    judged.judge(verdict, format!("{text}; at least {least}"));
    let verdict = match is_enough {
        true => reaches(found, (low, high), own),
        false => Verdict::Inconclusive,
    };
    judged.compare(verdict, format!("{name}: two processors are {own}x one"));
}

/// How ours compares with Linux's, and what more processors than cores cost.
fn beside_linux(judged: &mut Judged, arguments: &Arguments, host: &Host, runs: &[Run]) {
    let of = |system, processors| times(runs, Case { system, processors });
    let all = [
        of(System::Capos, 1),
        of(System::Capos, 2),
        of(System::Linux, 1),
        of(System::Linux, 2),
    ];
    let series: Vec<&[f64]> = all.iter().map(Vec::as_slice).collect();
    let difference = |drawn: &[Vec<f64>]| {
        let speedup = |one: &[f64], two: &[f64]| Some(median(one)? / median(two)?);
        Some(speedup(&drawn[0], &drawn[1])? - speedup(&drawn[2], &drawn[3])?)
    };
    match interval(&series, difference) {
        Some((low, high)) => {
            let text = format!(
                "ours less Linux's speedup is within [{low:+.3}, {high:+.3}]; it has to reach above \
                 {BELOW_LINUX}"
            );
            let is_possible = |one, two| ratio(arguments.workload, one, two, 2).is_some_and(can_be);
            let are_possible = is_possible(&all[0], &all[1]) && is_possible(&all[2], &all[3]);
            let verdict = match () {
                () if !are_possible => Verdict::Inconclusive,
                () if all.iter().any(|times| times.len() < COMPARED) => Verdict::Inconclusive,
                () if high > BELOW_LINUX => Verdict::Pass,
                () => Verdict::Fail,
            };
            judged.compare(verdict, format!("{text}, of {COMPARED} boots each or more"));
        }
        None => judged.compare(
            Verdict::Inconclusive,
            "nothing to compare with Linux".into(),
        ),
    }
    if host.has_cores(4) {
        return;
    }
    oversubscribed(
        judged,
        [
            &all[1],
            &of(System::Capos, 4),
            &all[3],
            &of(System::Linux, 4),
        ],
    );
}

/// What four processors on two cores cost more than two, beside the same of Linux's: the times of ours with
/// two and four, and Linux's.
fn oversubscribed(judged: &mut Judged, times: [&[f64]; 4]) {
    let [our_two, our_four, their_two, their_four] = times;
    let cost = |two: &[f64], four: &[f64]| Some(median(four)? / median(two)?);
    let (Some(ours), Some(theirs)) = (cost(our_two, our_four), cost(their_two, their_four)) else {
        return;
    };
    let ratio = ours / theirs;
    let within = interval(&times, |drawn| {
        Some(cost(&drawn[0], &drawn[1])? / cost(&drawn[2], &drawn[3])?)
    });
    let (low, high) = within.unwrap_or((ratio, ratio));
    // The other way round: no more than the limit.
    let verdict = reaches(-ratio, (-high, -low), -OVERSUBSCRIBED);
    let text = format!(
        "four processors on fewer cores take {ours:.2}x two here and {theirs:.2}x on Linux: \
         {ratio:.2} [{low:.2}, {high:.2}], at most {OVERSUBSCRIBED}"
    );
    judged.compare(verdict, text);
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
