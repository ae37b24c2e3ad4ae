//! What a call cost, by the list of prices in `prices.toml`.
//!
//! Decision: prices are data with a date, and a model that is not in them has no price. A model's
//! id matches a price by its whole name, or by its name and a date or a version behind it: a
//! cheaper or dearer relative (`-mini`, `-pro`, a next generation) never takes another's price.

use super::usage::Usage;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Tokens that a price is for.
const PER: f64 = 1_000_000.0;

/// A file of prices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Prices {
    /// The day of the newest look at the providers' lists.
    date: toml::value::Datetime,
    /// By provider and model.
    prices: BTreeMap<String, BTreeMap<String, Price>>,
}

/// Prices of a model, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Price {
    input: f64,
    output: f64,
    /// Of tokens from a cache.
    cached: Option<f64>,
    /// Of tokens that are written to a cache.
    written: Option<f64>,
    /// Of tokens that are written to a cache for an hour.
    written_hour: Option<f64>,
    /// The largest input that these are the prices for, in tokens.
    up_to: Option<u64>,
    /// What the prices are multiplied with above it; without it they are not known.
    #[serde(default)]
    above: Option<Above>,
}

/// Prices of a long input, as multiples.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Above {
    input: f64,
    output: f64,
}

static PRICES: LazyLock<Option<Prices>> =
    LazyLock::new(|| toml::from_str(include_str!("prices.toml")).ok());

/// The day of the prices.
pub(crate) fn prices_date() -> Option<String> {
    PRICES.as_ref().map(|prices| prices.date.to_string())
}

/// What a call cost, in US dollars; none where a figure or a price is not known.
pub(crate) fn cost(provider: &str, model: &str, usage: &Usage) -> Option<f64> {
    let price = price(PRICES.as_ref()?.prices.get(provider)?, model)?;
    if usage.off_list {
        return None;
    }
    let (input, output) = (usage.input?, usage.output?);
    let cached = usage.cached.unwrap_or(0);
    let written = usage.written.unwrap_or(0);
    let hour = usage.written_hour.unwrap_or(0);
    let plain = input.checked_sub(cached.checked_add(written)?)?;
    let short = written.checked_sub(hour)?;
    let of = |tokens: u64, price: Option<f64>| match tokens {
        0 => Some(0.0),
        _ => price.map(|price| tokens as f64 * price / PER),
    };
    let read = of(plain, Some(price.input))?
        + of(cached, price.cached)?
        + of(short, price.written)?
        + of(hour, price.written_hour)?;
    let wrote = of(output, Some(price.output))?;
    match price.up_to.is_some_and(|most| input > most) {
        false => Some(read + wrote),
        true => {
            let above = price.above?;
            Some(read * above.input + wrote * above.output)
        }
    }
}

/// The price of the longest name that is the model's.
fn price<'a>(prices: &'a BTreeMap<String, Price>, model: &str) -> Option<&'a Price> {
    let model = model.strip_prefix("models/").unwrap_or(model);
    let fits = |name: &str| model.strip_prefix(name).is_some_and(is_version);
    let fitting = prices.iter().filter(|(name, _)| fits(name));
    let longest = fitting.max_by_key(|(name, _)| name.len());
    longest.map(|(_, price)| price)
}

/// Nothing, `-20250929`, `@20250929`, `-2024-08-06`, `-001`, `-latest`, …
fn is_version(rest: &str) -> bool {
    let Some(version) = rest.strip_prefix(['-', '@', ':']) else {
        return rest.is_empty();
    };
    let first = version.split('-').next().unwrap_or_default();
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    matches!(version, "latest" | "default")
        // `-5` is the next generation, and not a date.
        || first.len() >= 3 && version.split('-').all(digits)
}

#[cfg(test)]
#[path = "price_tests.rs"]
mod tests;
