use super::super::tree::Budget;
use super::*;

fn told(take: impl Fn(&mut Told, &Tree), usages: &[&str]) -> Usage {
    let mut told = Told::default();
    for usage in usages {
        let tree = Tree::read(usage.as_bytes(), &mut Budget::default()).unwrap();
        take(&mut told, &tree);
    }
    told.into_usage(true)
}

fn figures(usage: Usage) -> [Option<u64>; 4] {
    [usage.input, usage.output, usage.cached, usage.written]
}

#[test]
fn anthropics_input_is_all_that_was_read() {
    let messages = |told: &mut Told, usage: &Tree| told.anthropic(usage, true);
    let usage = told(
        messages,
        &[
            r#"{"input_tokens":3,"cache_creation_input_tokens":1000,"cache_read_input_tokens":20000,
            "cache_creation":{"ephemeral_5m_input_tokens":600,"ephemeral_1h_input_tokens":400},
            "output_tokens":50,"service_tier":"standard"}"#,
        ],
    );
    assert_eq!(
        figures(usage),
        [Some(21_003), Some(50), Some(20_000), Some(1000)]
    );
    assert_eq!(usage.written_hour, Some(400));
    assert!(!usage.off_list);

    let usage = told(messages, &[r#"{"input_tokens":3,"output_tokens":5}"#]);
    assert_eq!(figures(usage), [Some(3), Some(5), None, None]);

    let usage = told(
        messages,
        &[
            r#"{"input_tokens":0,"cache_read_input_tokens":7}"#,
            r#"{"input_tokens":9,"output_tokens":5,"cache_creation_input_tokens":null}"#,
        ],
    );
    assert_eq!(
        figures(usage),
        [Some(16), Some(5), Some(7), None],
        "the last word counts"
    );
}

#[test]
fn a_sum_with_an_unclear_part_is_not_known() {
    let messages = |told: &mut Told, usage: &Tree| told.anthropic(usage, true);
    for part in [
        "-1",
        "1.5",
        "\"7\"",
        "1e3",
        "{}",
        "1099511627777",
        "18446744073709551616",
    ] {
        let usage =
            format!(r#"{{"input_tokens":3,"cache_read_input_tokens":{part},"output_tokens":5}}"#);
        let usage = told(messages, &[&usage]);
        assert_eq!(figures(usage), [None, Some(5), None, None], "{part}");
        assert!(usage.off_list);
    }
    let usage = told(
        messages,
        &[r#"{"cache_read_input_tokens":3,"output_tokens":5}"#],
    );
    assert_eq!(usage.input, None);
}

#[test]
fn what_has_a_price_of_its_own_is_off_the_list() {
    let messages = |told: &mut Told, usage: &Tree| told.anthropic(usage, true);
    for usage in [
        r#"{"input_tokens":3,"service_tier":"priority"}"#,
        r#"{"input_tokens":3,"service_tier":"batch"}"#,
        r#"{"input_tokens":3,"speed":"fast"}"#,
        r#"{"input_tokens":3,"inference_geo":"us"}"#,
        r#"{"input_tokens":3,"server_tool_use":{"web_search_requests":2}}"#,
    ] {
        assert!(told(messages, &[usage]).off_list, "{usage}");
    }
    for usage in [
        r#"{"input_tokens":3,"service_tier":null,"inference_geo":"global"}"#,
        r#"{"input_tokens":3,"server_tool_use":{"web_search_requests":0}}"#,
    ] {
        assert!(!told(messages, &[usage]).off_list, "{usage}");
    }
    let sound =
        r#"{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"audio_tokens":4}}"#;
    assert!(told(Told::chat, &[sound]).off_list);
    let none =
        r#"{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"audio_tokens":0}}"#;
    assert!(!told(Told::chat, &[none]).off_list);
    let sound =
        r#"{"promptTokenCount":9,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":4}]}"#;
    assert!(told(Told::gemini, &[sound]).off_list);
}

#[test]
fn openais_input_holds_what_was_cached() {
    let chat = r#"{"prompt_tokens":2006,"completion_tokens":300,"total_tokens":2306,
        "prompt_tokens_details":{"cached_tokens":1920,"audio_tokens":0},
        "completion_tokens_details":{"reasoning_tokens":128}}"#;
    assert_eq!(
        figures(told(Told::chat, &[chat])),
        [Some(2006), Some(300), Some(1920), None]
    );
    let responses = r#"{"input_tokens":12033,"output_tokens":44,"total_tokens":12077,
        "input_tokens_details":{"cached_tokens":11904,"cache_write_tokens":100},
        "output_tokens_details":{"reasoning_tokens":0}}"#;
    assert_eq!(
        figures(told(Told::responses, &[responses])),
        [Some(12_033), Some(44), Some(11_904), Some(100)]
    );
    let deepseek = r#"{"prompt_tokens":20,"completion_tokens":3,"prompt_cache_hit_tokens":16,
        "prompt_cache_miss_tokens":4}"#;
    assert_eq!(figures(told(Told::chat, &[deepseek]))[2], Some(16));
    let contradiction = r#"{"prompt_tokens":5,"completion_tokens":1,
        "prompt_tokens_details":{"cached_tokens":6}}"#;
    let usage = told(Told::chat, &[contradiction]);
    assert_eq!(figures(usage), [Some(5), Some(1), None, None]);
    assert!(usage.off_list);
}

#[test]
fn thoughts_that_are_counted_apart_are_output() {
    let apart = r#"{"prompt_tokens":32,"completion_tokens":9,"total_tokens":135,
        "completion_tokens_details":{"reasoning_tokens":94}}"#;
    assert_eq!(told(Told::chat, &[apart]).output, Some(103));
    let within = r#"{"prompt_tokens":32,"completion_tokens":103,"total_tokens":135,
        "completion_tokens_details":{"reasoning_tokens":94}}"#;
    assert_eq!(told(Told::chat, &[within]).output, Some(103));
    let gemini = r#"{"promptTokenCount":10,"candidatesTokenCount":20,"thoughtsTokenCount":300,
        "toolUsePromptTokenCount":5,"cachedContentTokenCount":4,"totalTokenCount":335}"#;
    assert_eq!(
        figures(told(Told::gemini, &[gemini])),
        [Some(15), Some(320), Some(4), None]
    );
}

#[test]
fn geminis_figures_are_those_of_all_so_far() {
    let usage = told(
        Told::gemini,
        &[
            r#"{"promptTokenCount":10,"totalTokenCount":10}"#,
            r#"{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}"#,
            r#"{"promptTokenCount":10,"candidatesTokenCount":8,"totalTokenCount":18}"#,
        ],
    );
    assert_eq!(figures(usage), [Some(10), Some(8), None, None]);
    let blocked = told(
        Told::gemini,
        &[r#"{"promptTokenCount":10,"totalTokenCount":10}"#],
    );
    assert_eq!(blocked.output, Some(0));
    let unclear = told(
        Told::gemini,
        &[r#"{"promptTokenCount":-1,"totalTokenCount":-1}"#],
    );
    assert_eq!(figures(unclear), [None; 4]);
    assert_eq!(told(Told::gemini, &["{}"]).output, None);
}

#[test]
fn before_the_end_it_is_not_known_what_was_written() {
    let tree = r#"{"prompt_tokens":5,"completion_tokens":1}"#;
    let tree = Tree::read(tree.as_bytes(), &mut Budget::default()).unwrap();
    let mut told = Told::default();
    told.chat(&tree);
    assert_eq!(figures(told.into_usage(false)), [Some(5), None, None, None]);
}
