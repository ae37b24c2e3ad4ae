//! Medians, and how sure they are.

/// The middle of some figures; of an even number the mean of the two in the middle.
pub(crate) fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2)?;
    match sorted.len() % 2 {
        1 => Some(*upper),
        _ => Some(f64::midpoint(*upper, *sorted.get(sorted.len() / 2 - 1)?)),
    }
}

/// Resamples of a bootstrap.
const RESAMPLES: usize = 4000;

/// Numbers that are the same in each run (xorshift64, Marsaglia 2003): an interval must not depend on luck.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// The 95 % interval of a figure of several series, by the percentile bootstrap: each series is drawn from
/// anew, with replacement. None where a series is empty.
pub(crate) fn interval(
    series: &[&[f64]],
    figure: impl Fn(&[Vec<f64>]) -> Option<f64>,
) -> Option<(f64, f64)> {
    if series.iter().any(|one| one.is_empty()) {
        return None;
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut all: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let mut draw = |one: &&[f64]| -> Vec<f64> {
                one.iter()
                    .filter_map(|_| one.get(random.below(one.len())).copied())
                    .collect()
            };
            let drawn: Vec<Vec<f64>> = series.iter().map(&mut draw).collect();
            figure(&drawn)
        })
        .collect();
    all.sort_by(f64::total_cmp);
    let at = |part: f64| all.get((all.len() as f64 * part) as usize).copied();
    Some((at(0.025)?, at(0.975)?))
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
