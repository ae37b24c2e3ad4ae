use super::*;
use crate::model::answer::ToolCall;
use crate::model::usage::Usage;

const SSE: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";
const LINES: &str = "application/x-ndjson";

/// An answer of each API in each form, by its file.
const ANSWERS: [(Api, &str, &str); 14] = [
    (
        Api::Messages,
        SSE,
        include_str!("../../tests-data/model/messages.sse"),
    ),
    (
        Api::Messages,
        JSON,
        include_str!("../../tests-data/model/messages.json"),
    ),
    (
        Api::Messages,
        SSE,
        include_str!("../../tests-data/model/messages-error.sse"),
    ),
    (
        Api::Chat,
        SSE,
        include_str!("../../tests-data/model/chat.sse"),
    ),
    (
        Api::Chat,
        JSON,
        include_str!("../../tests-data/model/chat.json"),
    ),
    (
        Api::Responses,
        SSE,
        include_str!("../../tests-data/model/responses.sse"),
    ),
    (
        Api::Responses,
        JSON,
        include_str!("../../tests-data/model/responses.json"),
    ),
    (
        Api::Responses,
        SSE,
        include_str!("../../tests-data/model/responses-failed.sse"),
    ),
    (
        Api::Gemini,
        SSE,
        include_str!("../../tests-data/model/gemini.sse"),
    ),
    (
        Api::Gemini,
        JSON,
        include_str!("../../tests-data/model/gemini-stream.json"),
    ),
    (
        Api::Gemini,
        JSON,
        include_str!("../../tests-data/model/gemini.json"),
    ),
    (
        Api::Ollama,
        LINES,
        include_str!("../../tests-data/model/ollama.ndjson"),
    ),
    (
        Api::Ollama,
        JSON,
        include_str!("../../tests-data/model/ollama.json"),
    ),
    (
        Api::Ollama,
        LINES,
        include_str!("../../tests-data/model/ollama-generate.ndjson"),
    ),
];

fn read(api: Api, form: &str, text: impl AsRef<[u8]>) -> Answer {
    let mut reader = Reader::new(api, Some(form));
    reader.feed(text.as_ref());
    reader.finish()
}

fn fixture(api: Api, name: &str) -> Answer {
    let form = match name.rsplit('.').next() {
        Some("sse") => SSE,
        Some("ndjson") => LINES,
        _ => JSON,
    };
    let path = format!("{}/tests-data/model/{name}", env!("CARGO_MANIFEST_DIR"));
    read(api, form, std::fs::read(path).unwrap())
}

fn calls(answer: &Answer) -> Vec<(Option<&str>, Option<&str>)> {
    let calls = answer.calls.iter();
    calls
        .map(|ToolCall { id, name }| (id.as_deref(), name.as_deref()))
        .collect()
}

fn usage(input: u64, output: u64, cached: Option<u64>, written: Option<u64>) -> Usage {
    Usage {
        input: Some(input),
        output: Some(output),
        cached,
        written,
        ..Usage::default()
    }
}

#[test]
fn anthropics_answers_are_read_streamed_and_whole() {
    let streamed = fixture(Api::Messages, "messages.sse");
    assert_eq!(
        streamed.model.as_deref(),
        Some("claude-sonnet-4-5-20250929")
    );
    assert_eq!(streamed.stop.as_deref(), Some("tool_use"));
    let expected = Usage {
        written_hour: Some(0),
        ..usage(4 + 22_000 + 310, 89, Some(22_000), Some(310))
    };
    assert_eq!(streamed.usage, expected);
    assert_eq!(
        calls(&streamed),
        [
            (Some("toolu_01A"), Some("Bash")),
            (Some("toolu_01B"), Some("Read"))
        ]
    );
    assert_eq!(streamed.text.as_deref(), Some("I look into it — now."));
    assert_eq!(streamed.error, None);
    assert!(!streamed.truncated && !streamed.malformed);
    assert_eq!(fixture(Api::Messages, "messages.json"), streamed);
}

#[test]
fn an_error_in_the_stream_ends_the_answer() {
    let answer = fixture(Api::Messages, "messages-error.sse");
    assert_eq!(answer.error.as_deref(), Some("overloaded_error"));
    assert_eq!(
        answer.usage.output, None,
        "the count at the start is not all"
    );
    assert_eq!(answer.usage.input, Some(25));
    assert_eq!(answer.text.as_deref(), Some("Hel"));
    assert!(!answer.truncated);
}

#[test]
fn chat_answers_are_read_streamed_and_whole() {
    let streamed = fixture(Api::Chat, "chat.sse");
    assert_eq!(streamed.model.as_deref(), Some("gpt-4o-mini-2024-07-18"));
    assert_eq!(streamed.stop.as_deref(), Some("tool_calls"));
    assert_eq!(streamed.usage, usage(1200, 47, Some(1024), None));
    assert_eq!(
        calls(&streamed),
        [
            (Some("call_a"), Some("get_weather")),
            (Some("call_b"), Some("get_time"))
        ]
    );
    assert_eq!(streamed.text.as_deref(), Some("One moment."));
    assert!(!streamed.truncated && !streamed.malformed);
    assert_eq!(fixture(Api::Chat, "chat.json"), streamed);
}

#[test]
fn a_chat_stream_without_figures_has_none() {
    let chunks = "data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}],\"usage\":null}\n\n\
                  data: {\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    for stream in [format!("{chunks}data: [DONE]\n\n"), chunks.to_owned()] {
        let answer = read(Api::Chat, SSE, stream);
        assert_eq!(answer.usage, Usage::default());
        assert_eq!(answer.stop.as_deref(), Some("stop"));
        assert!(!answer.truncated);
    }
}

#[test]
fn figures_that_were_told_before_more_was_written_are_not_those_of_all() {
    let chunk = |content: &str, rest: &str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{content}\"}}{rest}\n\n"
        )
    };
    let told = "}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1}}";
    let end = ",\"finish_reason\":\"stop\"}]}";
    let last = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":2}}\n\n";
    let stream = chunk("a", told) + &chunk("b", end);
    let answer = read(Api::Chat, SSE, &stream);
    assert_eq!((answer.usage.input, answer.usage.output), (Some(9), None));
    assert_eq!(
        read(Api::Chat, SSE, stream + last).usage,
        usage(9, 2, None, None)
    );

    let parts = r#"[{"candidates":[{}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":1}},
        {"candidates":[{"finishReason":"STOP"}]}]"#;
    let answer = read(Api::Gemini, JSON, parts);
    assert_eq!((answer.usage.input, answer.usage.output), (Some(9), None));
}

#[test]
fn servers_that_differ_from_openai_are_read() {
    let groq = "data: {\"model\":\"llama\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
                \"x_groq\":{\"id\":\"r\",\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}}\n\n";
    assert_eq!(read(Api::Chat, SSE, groq).usage, usage(5, 2, None, None));
    // Without places the calls have ids, and one piece each.
    let calls_of = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"f\"}}]}}]}\n\n\
                 data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"b\",\"function\":{\"name\":\"g\"}}]}}]}\n\n";
    let answer = read(Api::Chat, SSE, calls_of);
    assert_eq!(
        calls(&answer),
        [(Some("a"), Some("f")), (Some("b"), Some("g"))]
    );
    assert!(answer.truncated);
    let openrouter = ": OPENROUTER PROCESSING\n\n\
        data: {\"model\":\"m\",\"error\":{\"code\":502,\"message\":\"x\"},\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"error\"}]}\n\n";
    assert_eq!(
        read(Api::Chat, SSE, openrouter).error.as_deref(),
        Some("502")
    );
    let legacy = r#"{"choices":[{"message":{"function_call":{"name":"f","arguments":"{}"}},"finish_reason":"function_call"}]}"#;
    assert_eq!(calls(&read(Api::Chat, JSON, legacy)), [(None, Some("f"))]);
    let two = r#"{"choices":[{"index":1,"message":{"content":"b"},"finish_reason":"length"},
        {"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    let answer = read(Api::Chat, JSON, two);
    assert_eq!(
        (answer.text.as_deref(), answer.stop.as_deref()),
        (Some("a"), Some("stop"))
    );
}

#[test]
fn a_call_that_is_named_twice_differently_is_told() {
    let stream = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"read\"}}]}}]}\n\n\
                  data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"name\":\"_all\"}}]}}]}\n\n";
    let answer = read(Api::Chat, SSE, stream);
    assert_eq!(calls(&answer), [(Some("a"), Some("read"))]);
    assert!(answer.malformed);
}

#[test]
fn answers_of_responses_are_read_streamed_and_whole() {
    let streamed = fixture(Api::Responses, "responses.sse");
    assert_eq!(streamed.model.as_deref(), Some("gpt-5-codex"));
    assert_eq!(streamed.stop.as_deref(), Some("completed"));
    assert_eq!(streamed.usage, usage(12_033, 144, Some(11_904), None));
    assert_eq!(
        calls(&streamed),
        [
            (Some("call_1"), Some("shell")),
            (Some("call_2"), Some("apply_patch"))
        ]
    );
    assert_eq!(streamed.text.as_deref(), Some("I list the files."));
    assert!(!streamed.truncated && !streamed.malformed);
    assert_eq!(fixture(Api::Responses, "responses.json"), streamed);

    let failed = fixture(Api::Responses, "responses-failed.sse");
    assert_eq!(failed.error.as_deref(), Some("server_error"));
    assert_eq!(failed.stop.as_deref(), Some("failed"));
    assert!(!failed.truncated);

    let stopped = r#"{"object":"response","status":"incomplete","model":"gpt-5","error":null,
        "incomplete_details":{"reason":"max_output_tokens"},"output":[],"usage":null}"#;
    let answer = read(Api::Responses, JSON, stopped);
    assert_eq!(answer.stop.as_deref(), Some("max_output_tokens"));
    assert_eq!((answer.error, answer.truncated), (None, false));
    let waits = r#"{"object":"response","status":"queued","model":"gpt-5","output":[]}"#;
    assert!(read(Api::Responses, JSON, waits).truncated);
}

#[test]
fn geminis_answers_are_read_in_all_three_forms() {
    let streamed = fixture(Api::Gemini, "gemini.sse");
    assert_eq!(streamed.model.as_deref(), Some("gemini-2.5-pro"));
    assert_eq!(streamed.stop.as_deref(), Some("STOP"));
    assert_eq!(streamed.usage, usage(340, 18 + 120, Some(256), None));
    assert_eq!(
        calls(&streamed),
        [(None, Some("find")), (Some("f2"), Some("open"))]
    );
    assert_eq!(streamed.text.as_deref(), Some("I look, then open."));
    assert!(!streamed.truncated && !streamed.malformed);
    assert_eq!(fixture(Api::Gemini, "gemini-stream.json"), streamed);
    assert_eq!(fixture(Api::Gemini, "gemini.json"), streamed);

    let wrapped = format!(r#"{{"response":{},"traceId":"t"}}"#, ANSWERS[10].2);
    assert_eq!(read(Api::Gemini, JSON, wrapped), streamed);

    let blocked = r#"{"promptFeedback":{"blockReason":"SAFETY"},
        "usageMetadata":{"promptTokenCount":8,"totalTokenCount":8}}"#;
    let answer = read(Api::Gemini, JSON, blocked);
    assert_eq!(answer.stop.as_deref(), Some("SAFETY"));
    assert_eq!(answer.usage, usage(8, 0, None, None));
}

#[test]
fn ollamas_answers_are_read() {
    let streamed = fixture(Api::Ollama, "ollama.ndjson");
    assert_eq!(streamed.model.as_deref(), Some("qwen3:8b"));
    assert_eq!(streamed.stop.as_deref(), Some("stop"));
    assert_eq!(streamed.usage, usage(169, 15, None, None));
    assert_eq!(calls(&streamed), [(None, Some("get_temperature"))]);
    assert_eq!(streamed.text.as_deref(), Some("It is 22 °C."));
    assert_eq!(fixture(Api::Ollama, "ollama.json"), streamed);
    let generated = fixture(Api::Ollama, "ollama-generate.ndjson");
    assert_eq!(generated.text.as_deref(), Some("The sky is blue."));
    assert_eq!(
        generated.usage.input, None,
        "a cached prompt is not counted"
    );
}

#[test]
fn errors_in_place_of_answers_have_their_type() {
    for (api, body, error) in [
        (
            Api::Messages,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"m"},"request_id":"r"}"#,
            "rate_limit_error",
        ),
        (
            Api::Messages,
            r#"{"error":{"type":"proxy","message":"m"}}"#,
            "proxy",
        ),
        (Api::Messages, r#"{"type":"error"}"#, "error"),
        (
            Api::Chat,
            r#"{"error":{"message":"m","type":"invalid_request_error","param":null,"code":"x"}}"#,
            "invalid_request_error",
        ),
        (
            Api::Chat,
            r#"{"error":{"message":"m","type":null,"code":429}}"#,
            "429",
        ),
        (Api::Chat, r#"{"error":"no"}"#, "error"),
        (
            Api::Responses,
            r#"{"error":{"message":"m","type":"invalid_request_error","code":"model_not_found"}}"#,
            "model_not_found",
        ),
        (
            Api::Gemini,
            r#"{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}"#,
            "INVALID_ARGUMENT",
        ),
        (
            Api::Gemini,
            r#"[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]"#,
            "RESOURCE_EXHAUSTED",
        ),
        (Api::Ollama, r#"{"error":"model 'x' not found"}"#, "error"),
    ] {
        let answer = read(api, JSON, body);
        assert_eq!(answer.error.as_deref(), Some(error), "{body}");
        assert!(!answer.truncated && !answer.malformed, "{body}");
        assert_eq!(answer.usage, Usage::default());
    }
    let event = "event: error\ndata: {\"type\":\"error\",\"code\":\"rate_limit_exceeded\",\"message\":\"m\",\"param\":null}\n\n";
    let answer = read(Api::Responses, SSE, event);
    assert_eq!(answer.error.as_deref(), Some("rate_limit_exceeded"));
}

#[test]
fn the_first_token_is_seen_when_it_comes() {
    for (api, form, before, first) in [
        (
            Api::Messages,
            SSE,
            "data: {\"type\":\"message_start\",\"message\":{\"model\":\"m\"}}\n\n\
             data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n\
             data: {\"type\":\"ping\"}\n\n",
            "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"h\"}}\n\n",
        ),
        (
            Api::Chat,
            SSE,
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"h\"}}]}\n\n",
        ),
        (
            Api::Responses,
            SSE,
            "data: {\"type\":\"response.created\",\"response\":{\"model\":\"m\"}}\n\n",
            "data: {\"type\":\"response.reasoning_summary_text.delta\",\"delta\":\"h\"}\n\n",
        ),
        (
            Api::Gemini,
            SSE,
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}]}}]}\n\n",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"h\",\"thought\":true}]}}]}\n\n",
        ),
        (
            Api::Ollama,
            LINES,
            "{\"message\":{\"content\":\"\"},\"done\":false}\n",
            "{\"message\":{\"content\":\"\",\"thinking\":\"h\"},\"done\":false}\n",
        ),
    ] {
        let mut reader = Reader::new(api, Some(form));
        reader.feed(before.as_bytes());
        assert!(!reader.has_begun(), "{api:?}");
        let (last, most) = first.as_bytes().split_last().unwrap();
        reader.feed(most);
        reader.feed(&[*last]);
        assert!(reader.has_begun(), "{api:?}");
        assert_eq!(reader.finish().text, None, "thoughts are no text");
    }
}

#[test]
fn the_form_is_known_by_the_first_byte_where_no_header_says_it() {
    for (api, form, text) in ANSWERS {
        for other in [None, Some("text/plain"), Some("")] {
            let mut reader = Reader::new(api, other);
            reader.feed(b" \r\n");
            reader.feed(text.as_bytes());
            assert_eq!(reader.finish(), read(api, form, text));
        }
    }
}

#[test]
fn any_pieces_give_the_same_answer() {
    for (api, form, text) in ANSWERS {
        let whole = read(api, form, text);
        for at in 0..=text.len() {
            let (head, tail) = text.as_bytes().split_at(at);
            let mut reader = Reader::new(api, Some(form));
            reader.feed(head);
            reader.feed(tail);
            assert_eq!(reader.finish(), whole, "cut at {at}");
        }
        for ending in ["\r\n", "\r"] {
            if form == SSE {
                assert_eq!(read(api, form, text.replace('\n', ending)), whole);
            }
        }
    }
}

#[test]
fn a_cut_answer_says_so_and_nothing_that_is_not_so() {
    for (api, form, text) in ANSWERS {
        let whole = read(api, form, text);
        for at in 0..text.len() {
            let part = read(api, form, &text.as_bytes()[..at]);
            let place = String::from_utf8_lossy(&text.as_bytes()[..at]).into_owned();
            let so = |told: Option<u64>, whole: Option<u64>| told.is_none() || told == whole;
            assert!(part.model.is_none() || part.model == whole.model, "{place}");
            assert!(part.stop.is_none() || part.stop == whole.stop, "{place}");
            assert!(so(part.usage.input, whole.usage.input), "{place}");
            assert!(so(part.usage.output, whole.usage.output), "{place}");
            assert!(so(part.usage.cached, whole.usage.cached), "{place}");
            assert!(so(part.usage.written, whole.usage.written), "{place}");
            assert!(whole.calls.starts_with(&part.calls), "{place}");
            let text_so_far = part.text.unwrap_or_default();
            assert!(
                whole
                    .text
                    .as_deref()
                    .unwrap_or_default()
                    .starts_with(&text_so_far)
            );
            assert!(
                part.truncated || part.stop.is_some() || part.error.is_some(),
                "{place}"
            );
            assert!(!part.malformed, "{place}");
        }
    }
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_read() {
    let good =
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n";
    for bad in [
        "data: {\n\n".to_owned(),
        "data: nothing\n\n".to_owned(),
        "data: {\"model\":\"a\",\"model\":\"b\"}\n\n".to_owned(),
        format!("data: {}\n\n", "[".repeat(200)),
        format!("data: {}\n\n", "x".repeat(5 << 20)),
    ] {
        let answer = read(Api::Chat, SSE, format!("{bad}{good}"));
        assert_eq!(answer.text.as_deref(), Some("a"));
        assert_eq!(answer.model, None);
        assert!(answer.malformed && !answer.truncated);
    }
    let answer = read(
        Api::Ollama,
        LINES,
        "oops\n{\"model\":\"m\",\"done\":true}\n",
    );
    assert_eq!(answer.model.as_deref(), Some("m"));
    assert!(answer.malformed && !answer.truncated);
    let answer = read(Api::Chat, JSON, b"{\"model\":\"\xff\"}");
    assert!(answer.malformed && answer.truncated);
    assert!(read(Api::Chat, JSON, "").truncated);
}

#[test]
fn figures_that_are_none_are_not_known() {
    for figure in [
        "-1",
        "1.5",
        "1e9",
        "\"5\"",
        "99999999999999999999",
        "1099511627777",
        "{}",
    ] {
        let body = format!(
            r#"{{"choices":[{{"message":{{"content":"a"}},"finish_reason":"stop"}}],
                "usage":{{"prompt_tokens":{figure},"completion_tokens":{figure}}}}}"#
        );
        let answer = read(Api::Chat, JSON, body);
        assert_eq!(
            (answer.usage.input, answer.usage.output),
            (None, None),
            "{figure}"
        );
        assert!(answer.usage.off_list && !answer.malformed);
    }
    let twice =
        r#"{"usage":{"prompt_tokens":1,"prompt_tokens":1},"choices":[{"finish_reason":"stop"}]}"#;
    let answer = read(Api::Chat, JSON, twice);
    assert_eq!(answer.usage.input, None);
    assert!(answer.malformed);
}

#[test]
fn what_is_kept_is_bounded() {
    let mut reader = Reader::new(Api::Chat, Some(SSE));
    for index in 0..3000 {
        let chunk = format!(
            "data: {{\"choices\":[{{\"delta\":{{\"content\":\"0123456789\",\
             \"tool_calls\":[{{\"index\":{index},\"id\":\"i\",\"function\":{{\"name\":\"f\"}}}}]}}}}]}}\n\n"
        );
        reader.feed(chunk.as_bytes());
    }
    reader.feed(b"data: [DONE]\n\n");
    let answer = reader.finish();
    assert_eq!(answer.calls.len(), 1024);
    assert_eq!(
        answer.text.map(|text| text.len()),
        Some(crate::model::text::MAX_TEXT)
    );
    assert!(answer.truncated, "not all is there");
}

#[path = "response_properties.rs"]
mod properties;
