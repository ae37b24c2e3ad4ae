use super::*;

fn prices() -> &'static Prices {
    PRICES.as_ref().expect("the file is read")
}

fn usage(input: u64, output: u64) -> Usage {
    Usage {
        input: Some(input),
        output: Some(output),
        ..Usage::default()
    }
}

/// A cost in millionths of a dollar.
fn micros(provider: &str, model: &str, usage: &Usage) -> Option<u64> {
    cost(provider, model, usage).map(|cost| (cost * 1e6).round() as u64)
}

#[test]
fn the_file_has_a_day_and_sensible_prices() {
    assert_eq!(prices_date().as_deref(), Some("2026-11-05"));
    assert_eq!(prices().prices.len(), 3);
    for (name, price) in prices().prices.values().flatten() {
        assert!(price.input > 0.0 && price.output > price.input, "{name}");
        assert!(
            price.cached.is_none_or(|cached| cached < price.input),
            "{name}"
        );
        assert!(
            price.written.is_none_or(|written| written > price.input),
            "{name}"
        );
        assert_eq!(
            price.written.is_some(),
            price.written_hour.is_some(),
            "{name}"
        );
        assert!(price.above.is_none() || price.up_to.is_some(), "{name}");
    }
}

#[test]
fn each_kind_of_token_has_its_price() {
    let all = Usage {
        cached: Some(700_000),
        written: Some(200_000),
        written_hour: Some(50_000),
        ..usage(1_000_000, 1_000_000)
    };
    // 0.1 × 1 + 0.7 × 0.1 + 0.15 × 1.25 + 0.05 × 2 + 1 × 5
    assert_eq!(
        micros("anthropic", "claude-haiku-4-5", &all),
        Some(5_457_500)
    );
    let cached = Usage {
        cached: Some(1920),
        ..usage(2006, 300)
    };
    assert_eq!(micros("openai", "gpt-4o-2024-08-06", &cached), Some(5615));
}

#[test]
fn an_id_takes_the_price_of_its_family_and_no_relatives() {
    let name = |provider: &str, model: &str| {
        let prices = &prices().prices[provider];
        price(prices, model).map(|price| (price.input, price.output))
    };
    for (provider, model, found) in [
        ("anthropic", "claude-sonnet-4-5-20250929", Some((3.0, 15.0))),
        ("anthropic", "claude-sonnet-4-5@20250929", Some((3.0, 15.0))),
        ("anthropic", "claude-opus-4-5-20251101", Some((5.0, 25.0))),
        ("anthropic", "claude-opus-4-20250514", Some((15.0, 75.0))),
        ("anthropic", "claude-opus-4-9", None),
        ("anthropic", "claude-opus-6", None),
        ("anthropic", "claude-3-5-haiku-latest", Some((0.8, 4.0))),
        ("openai", "gpt-4o-mini", Some((0.15, 0.6))),
        ("openai", "gpt-4o-mini-2024-07-18", Some((0.15, 0.6))),
        ("openai", "gpt-4o", Some((2.5, 10.0))),
        ("openai", "gpt-4o-2024-11-20", Some((2.5, 10.0))),
        ("openai", "gpt-4o-2024-05-13", Some((5.0, 15.0))),
        ("openai", "gpt-4o-audio-preview", None),
        ("openai", "gpt-4o-mini-tts", None),
        ("openai", "gpt-4", Some((30.0, 60.0))),
        ("openai", "gpt-4-0613", Some((30.0, 60.0))),
        ("openai", "gpt-4-turbo", None),
        ("openai", "gpt-4.5-preview", None),
        ("openai", "gpt-5-pro", None),
        ("openai", "gpt-5.9", None),
        ("openai", "o3-pro", None),
        ("openai", "gpt-4o:free", None),
        ("openai", "gpt-4ofoo", None),
        ("openai", "gpt-4o-", None),
        ("openai", "", None),
        ("google", "gemini-2.5-flash-001", Some((0.3, 2.5))),
        ("google", "models/gemini-2.5-flash", Some((0.3, 2.5))),
        ("google", "gemini-2.5-flash-image", None),
    ] {
        assert_eq!(name(provider, model), found, "{model}");
    }
}

#[test]
fn a_long_input_has_prices_of_its_own() {
    let model = "gemini-2.5-pro";
    assert_eq!(
        micros("google", model, &usage(200_000, 1000)),
        Some(260_000)
    );
    assert_eq!(
        micros("google", model, &usage(200_001, 1000)),
        Some(515_003)
    );
    let model = "claude-sonnet-4-5";
    assert_eq!(
        micros("anthropic", model, &usage(200_000, 1000)),
        Some(615_000)
    );
    assert_eq!(
        micros("anthropic", model, &usage(200_001, 1000)),
        None,
        "not known"
    );
}

#[test]
fn what_is_not_known_costs_no_known_sum() {
    let model = "claude-haiku-4-5";
    let known = usage(1, 1);
    assert!(cost("anthropic", model, &known).is_some());
    for usage in [
        Usage {
            input: None,
            ..known
        },
        Usage {
            output: None,
            ..known
        },
        Usage {
            off_list: true,
            ..known
        },
        Usage {
            cached: Some(2),
            ..known
        },
        Usage {
            written: Some(1),
            cached: Some(1),
            ..known
        },
        Usage {
            written_hour: Some(1),
            ..known
        },
        Usage {
            cached: Some(u64::MAX),
            written: Some(u64::MAX),
            ..known
        },
    ] {
        assert_eq!(cost("anthropic", model, &usage), None, "{usage:?}");
    }
    let cached = Usage {
        cached: Some(1),
        ..known
    };
    assert_eq!(cost("openai", "gpt-4", &cached), None, "no price for it");
    assert_eq!(cost("anthropic", "llama3", &known), None);
    assert_eq!(cost("ollama", model, &known), None);
    assert_eq!(cost("", "", &known), None);
    assert_eq!(cost("openai", "gpt-4o", &usage(0, 0)), Some(0.0));
}
