//! The few statistics that a claim needs, without a distribution assumed: run times are skewed
//! and their mean says how often the machine was disturbed, not how fast a program is.

use serde::{Deserialize, Serialize};

/// Below this probability a difference is not taken for chance.
pub(crate) const SIGNIFICANT: f64 = 0.05;
const RESAMPLES: usize = 2000;

/// A value with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// How many samples it is of, in the smallest set; 0 for what is no statistic: a count, a peak.
    #[serde(default)]
    pub samples: usize,
}

impl Estimate {
    /// Whether it is within a limit; none of a single sample, which is too few to say so.
    pub(crate) fn meets(&self, limit: f64) -> Option<bool> {
        (self.samples != 1).then_some(self.value <= limit)
    }
}

/// The median with a rank-based interval. None of nothing.
pub(crate) fn median(samples: &[f64]) -> Option<Estimate> {
    let sorted = sorted(samples);
    let value = middle(&sorted)?;
    let n = sorted.len();
    // The number of samples below the true median is binomial(n, 1/2); the normal approximation
    // of its 2.5 % point, rounded outwards. With five samples or fewer it is the whole range.
    let half = n as f64 / 2.0;
    let spread = 0.98 * (n as f64).sqrt();
    let low = (half - spread).floor().max(0.0) as usize;
    let high = ((half + spread).ceil() as usize).min(n - 1);
    Some(Estimate {
        value,
        low: sorted[low],
        high: sorted[high],
        samples: n,
    })
}

/// The ratio of two medians, `a` over `b`, with a bootstrap interval. None where either is empty
/// or the denominator can be zero.
pub(crate) fn ratio(a: &[f64], b: &[f64]) -> Option<Estimate> {
    bootstrap(&[a, b], |medians| medians[0] / medians[1])
}

/// A function of the medians of several independent sample sets, with a percentile bootstrap
/// interval. The generator has a fixed seed: the same file always gives the same interval.
pub(crate) fn bootstrap(sets: &[&[f64]], function: impl Fn(&[f64]) -> f64) -> Option<Estimate> {
    let medians = sets
        .iter()
        .map(|s| middle(&sorted(s)))
        .collect::<Option<Vec<_>>>()?;
    let value = function(&medians);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut values = Vec::with_capacity(RESAMPLES);
    let mut drawn = Vec::new();
    for _ in 0..RESAMPLES {
        let mut resampled = Vec::with_capacity(sets.len());
        for set in sets {
            drawn.clear();
            drawn.extend((0..set.len()).map(|_| set[random.below(set.len())]));
            drawn.sort_by(f64::total_cmp);
            resampled.push(middle(&drawn)?);
        }
        values.push(function(&resampled));
    }
    if !value.is_finite() || values.iter().any(|v| !v.is_finite()) {
        return None;
    }
    values.sort_by(f64::total_cmp);
    Some(Estimate {
        value,
        low: values[RESAMPLES / 40].min(value),
        high: values[RESAMPLES - 1 - RESAMPLES / 40].max(value),
        samples: sets.iter().map(|set| set.len()).min().unwrap_or_default(),
    })
}

/// The two-sided probability that two sample sets this different come from one distribution
/// (Mann–Whitney U, normal approximation with ties and continuity corrected). 1 where either is
/// empty.
pub(crate) fn mann_whitney(a: &[f64], b: &[f64]) -> f64 {
    let (n, m) = (a.len() as f64, b.len() as f64);
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let mut all: Vec<(f64, bool)> = a.iter().map(|v| (*v, true)).collect();
    all.extend(b.iter().map(|v| (*v, false)));
    all.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (mut rank_sum, mut ties, mut start) = (0.0, 0.0, 0);
    while start < all.len() {
        let end = start
            + all[start..]
                .iter()
                .take_while(|v| v.0 == all[start].0)
                .count();
        let rank = (start + 1 + end) as f64 / 2.0;
        rank_sum += rank * all[start..end].iter().filter(|v| v.1).count() as f64;
        let tied = (end - start) as f64;
        ties += tied.powi(3) - tied;
        start = end;
    }
    let u = rank_sum - n * (n + 1.0) / 2.0;
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    (2.0 * upper_tail(z)).min(1.0)
}

/// The probability that a standard normal variable is above `z` ≥ 0 (Abramowitz and Stegun
/// 26.2.17, absolute error below 7.5e-8).
fn upper_tail(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let polynomial = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * polynomial
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    match n {
        0 => None,
        _ if n % 2 == 1 => Some(sorted[n / 2]),
        _ => Some(f64::midpoint(sorted[n / 2 - 1], sorted[n / 2])),
    }
}

/// xorshift64*: good enough to draw indices, and the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let word = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        (word as usize * n) >> 32
    }
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
