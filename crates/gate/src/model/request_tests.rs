use super::*;
use crate::model::provider::recognise;
use proptest::prelude::*;

const MESSAGES: &str = include_str!("../../tests-data/model/messages-request.json");
const CHAT: &str = include_str!("../../tests-data/model/chat-request.json");
const RESPONSES: &str = include_str!("../../tests-data/model/responses-request.json");
const GEMINI: &str = include_str!("../../tests-data/model/gemini-request.json");
const OLLAMA: &str = include_str!("../../tests-data/model/ollama-request.json");

const PATHS: [(&str, &str); 5] = [
    ("/v1/messages", MESSAGES),
    ("/v1/chat/completions", CHAT),
    ("/v1/responses", RESPONSES),
    (
        "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
        GEMINI,
    ),
    ("/api/chat", OLLAMA),
];

fn ask(path: &str, body: impl AsRef<[u8]>) -> Question {
    let call = recognise("mock.test", "POST", path).unwrap();
    read(&call, body.as_ref())
}

fn result(id: Option<&str>, name: Option<&str>, is_error: Option<bool>) -> ToolResult {
    ToolResult {
        id: id.map(str::to_owned),
        name: name.map(str::to_owned),
        is_error,
    }
}

#[test]
fn anthropics_request_is_read() {
    let asked = ask("/v1/messages?beta=true", MESSAGES);
    assert_eq!(
        asked,
        Question {
            model: Some("claude-sonnet-4-5-20250929".into()),
            streaming: Some(true),
            tools: vec!["Bash".into(), "Read".into(), "web_search".into()],
            most_tokens: Some(32_000),
            text: Some("total 3\nNo such file\nAnd now?".into()),
            results: vec![
                result(Some("toolu_01A"), Some("Bash"), Some(false)),
                result(Some("toolu_01B"), Some("Read"), Some(true)),
            ],
            cut: false,
            malformed: false,
        }
    );
}

#[test]
fn a_chat_request_is_read() {
    let asked = ask("/v1/chat/completions", CHAT);
    assert_eq!(
        asked,
        Question {
            model: Some("gpt-4o-mini".into()),
            streaming: Some(false),
            tools: vec!["get_weather".into(), "get_time".into()],
            most_tokens: Some(500),
            text: Some("18 °C\n14:05\nIs it warm?".into()),
            results: vec![
                result(Some("call_a"), Some("get_weather"), None),
                result(Some("call_b"), Some("get_time"), None),
            ],
            cut: false,
            malformed: false,
        }
    );
}

#[test]
fn a_request_of_responses_is_read() {
    let asked = ask("/v1/responses", RESPONSES);
    assert_eq!(
        asked,
        Question {
            model: Some("gpt-5-codex".into()),
            streaming: Some(true),
            tools: vec!["shell".into(), "apply_patch".into(), "web_search".into()],
            most_tokens: Some(4096),
            text: Some("Cargo.toml\nsrc\ndone".into()),
            results: vec![
                result(Some("call_1"), Some("shell"), None),
                result(Some("call_2"), Some("apply_patch"), None),
            ],
            cut: false,
            malformed: false,
        }
    );
    let asked = ask(
        "/v1/responses",
        r#"{"model":"gpt-5","input":"Hello","prompt":{"id":"p"}}"#,
    );
    assert_eq!(asked.text.as_deref(), Some("Hello"));
    assert!(!asked.malformed);
}

#[test]
fn geminis_request_is_read_in_both_spellings() {
    let path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";
    let asked = ask(path, GEMINI);
    assert_eq!(
        asked,
        Question {
            model: Some("gemini-2.5-pro".into()),
            streaming: Some(true),
            tools: vec!["find".into(), "open".into(), "google_search".into()],
            most_tokens: Some(2048),
            text: Some("not found\nTry again.".into()),
            results: vec![
                result(Some("f1"), Some("find"), Some(true)),
                result(None, Some("open"), None),
            ],
            cut: false,
            malformed: false,
        }
    );
    let snake = GEMINI
        .replace("functionDeclarations", "function_declarations")
        .replace("functionResponse", "function_response")
        .replace("functionCall", "function_call")
        .replace("generationConfig", "generation_config")
        .replace("maxOutputTokens", "max_output_tokens")
        .replace("googleSearch", "google_search");
    assert_eq!(ask(path, snake), asked);
    let named = ask(path, r#"{"model":"models/other","contents":[]}"#);
    assert_eq!(
        named.model.as_deref(),
        Some("gemini-2.5-pro"),
        "the path counts"
    );
}

#[test]
fn code_assist_wraps_geminis_request() {
    let wrapped = format!(r#"{{"model":"gemini-2.5-pro","project":"p","request":{GEMINI}}}"#);
    let asked = ask("/v1internal:streamGenerateContent?alt=sse", wrapped);
    assert_eq!(asked, ask(PATHS[3].0, GEMINI));
    let twice = r#"{"model":"a","request":{"contents":[]},"request":{"contents":[]}}"#;
    assert!(ask("/v1internal:generateContent", twice).malformed);
    let nested = r#"{"request":{"request":"#.repeat(1000);
    assert!(ask("/v1internal:generateContent", nested).malformed);
}

#[test]
fn ollamas_requests_are_read_and_stream_unless_they_say_otherwise() {
    let asked = ask("/api/chat", OLLAMA);
    assert_eq!(
        asked,
        Question {
            model: Some("qwen3:8b".into()),
            streaming: Some(true),
            tools: vec!["get_temperature".into()],
            most_tokens: Some(128),
            text: Some("22".into()),
            results: vec![result(None, Some("get_temperature"), None)],
            cut: false,
            malformed: false,
        }
    );
    let asked = ask(
        "/api/generate",
        r#"{"model":"llama3.2","prompt":"Why?","stream":false}"#,
    );
    assert_eq!(asked.streaming, Some(false));
    assert_eq!(asked.text.as_deref(), Some("Why?"));
}

#[test]
fn an_azure_request_has_its_model_in_the_path() {
    let path = "/openai/deployments/mine/chat/completions?api-version=1";
    assert_eq!(
        ask(path, r#"{"messages":[]}"#).model.as_deref(),
        Some("mine")
    );
    assert_eq!(
        ask(path, r#"{"model":"gpt-4o"}"#).model.as_deref(),
        Some("gpt-4o")
    );
    assert_eq!(ask(path, r#"{"model":"a","model":"b"}"#).model, None);
}

#[test]
fn the_last_turn_is_what_came_after_the_models_last_answer() {
    let text = |messages: &str| {
        let body = format!(r#"{{"messages":[{messages}]}}"#);
        ask("/v1/messages", body).text
    };
    let user = |text: &str| format!(r#"{{"role":"user","content":"{text}"}}"#);
    let model = r#"{"role":"assistant","content":"m"}"#;
    let system = r#"{"role":"system","content":"s"}"#;
    let [a, b, c] = ["a", "b", "c"].map(user);
    assert_eq!(text(&format!("{system},{a},{b}")).as_deref(), Some("a\nb"));
    assert_eq!(
        text(&format!("{a},{model},{b},{c}")).as_deref(),
        Some("b\nc")
    );
    assert_eq!(
        text(&format!("{a},{model},{system},{b}")).as_deref(),
        Some("b")
    );
    let begun = format!("{a},{model},{b},{model}");
    assert_eq!(
        text(&begun).as_deref(),
        Some("b"),
        "an answer that is begun is no turn"
    );
    assert_eq!(text(""), None);
    assert_eq!(text(model), None);
}

#[test]
fn a_result_is_named_by_the_one_call_with_its_id() {
    let body = r#"{"messages":[
        {"role":"assistant","tool_calls":[{"id":"x","function":{"name":"old"}}]},
        {"role":"tool","tool_call_id":"x","content":"1"},
        {"role":"assistant","tool_calls":[{"id":"x","function":{"name":"a"}},
            {"id":"x","function":{"name":"b"}},{"id":"y","function":{"name":"c"}}]},
        {"role":"tool","tool_call_id":"x","content":"2"},
        {"role":"tool","tool_call_id":"y","content":"3"},
        {"role":"tool","tool_call_id":"z","content":"4"},
        {"role":"tool","content":"5"}]}"#;
    let asked = ask("/v1/chat/completions", body);
    assert_eq!(
        asked.results,
        [
            result(Some("x"), None, None),
            result(Some("y"), Some("c"), None),
            result(Some("z"), None, None),
            result(None, None, None),
        ]
    );
}

#[test]
fn a_cut_request_says_so_and_nothing_that_is_not_so() {
    for (path, body) in PATHS {
        let whole = ask(path, body);
        assert!(!whole.cut && !whole.malformed);
        let body = body.trim_end().as_bytes();
        for at in 0..body.len() {
            let part = ask(path, &body[..at]);
            let place = String::from_utf8_lossy(&body[..at]);
            assert!(part.cut && !part.malformed, "{place}");
            assert!(part.model.is_none() || part.model == whole.model, "{place}");
            assert!(
                part.streaming.is_none() || part.streaming == whole.streaming,
                "{place}"
            );
            let most = part.most_tokens;
            assert!(most.is_none() || most == whole.most_tokens, "{place}");
            assert!(whole.tools.starts_with(&part.tools), "{place}");
            assert!(part.text.is_none() || part.text == whole.text, "{place}");
            assert!(
                part.results.is_empty() || part.results == whole.results,
                "{place}"
            );
        }
    }
}

#[test]
fn what_is_said_twice_or_wrongly_is_not_known() {
    let asked = |body: &str| ask("/v1/messages", body);
    let twice = asked(r#"{"model":"a","stream":true,"model":"b","stream":true,"max_tokens":1}"#);
    assert_eq!((twice.model, twice.streaming), (None, None));
    assert_eq!(twice.most_tokens, Some(1));
    assert!(twice.malformed && !twice.cut);

    let twice = asked(r#"{"messages":[{"role":"user","content":"a"}],"messages":[]}"#);
    assert_eq!(twice.text, None);
    assert!(twice.malformed);

    let twice = asked(r#"{"messages":[{"role":"user","content":"a","content":"b"}]}"#);
    assert_eq!(twice.text, None);
    assert!(twice.malformed);

    for number in [
        "-1",
        "1.5",
        "1e3",
        "\"5\"",
        "true",
        "null",
        "99999999999999999999",
        "[]",
    ] {
        let wrong = asked(&format!(r#"{{"max_tokens":{number},"model":{number}}}"#));
        assert_eq!(wrong.most_tokens, None, "{number}");
        assert!(wrong.model.is_none() || number == "\"5\"");
    }
    assert_eq!(asked(r#"{"stream":"yes"}"#).streaming, None);
    assert_eq!(asked(r#"{"stream":null}"#).streaming, Some(false));
    assert_eq!(asked("{}").streaming, Some(false));
    for body in ["[]", "1", "{]", "{} {}", "{\"a\" 1}", "\u{feff}{}"] {
        assert!(asked(body).malformed, "{body}");
    }
    assert!(ask("/v1/messages", b"{\"model\":\"\xff\xfe\"}").malformed);
    for body in [
        "",
        " ",
        "{",
        "{\"a\":1.",
        "{\"a\":\n-",
        "{\"a\":1e+",
        "{\"a\":nul",
    ] {
        assert!(asked(body).cut && !asked(body).malformed, "{body}");
    }
    for body in ["{\"a\":1..", "{\"a\":01.", "{-"] {
        assert!(asked(body).malformed, "{body}");
    }
}

#[test]
fn deep_nesting_is_refused_where_it_would_be_read() {
    let deep = "[".repeat(100_000);
    let asked = ask(
        "/v1/messages",
        format!(r#"{{"model":"m","messages":[{deep}"#),
    );
    assert_eq!(asked.model.as_deref(), Some("m"));
    assert!(asked.malformed);
    let shut = "]".repeat(100_000);
    let asked = ask(
        "/v1/messages",
        format!(r#"{{"metadata":{deep}{shut},"model":"m"}}"#),
    );
    assert_eq!(asked.model.as_deref(), Some("m"));
    assert!(!asked.malformed);
}

#[test]
fn what_is_kept_is_bounded() {
    let many = |one: &str, times: usize| vec![one; times].join(",");
    let tools = many(r#"{"name":"t"}"#, 2 * MAX_TOOLS);
    let asked = ask("/v1/messages", format!(r#"{{"tools":[{tools}]}}"#));
    assert_eq!(asked.tools.len(), MAX_TOOLS);
    assert!(asked.cut);

    let results = many(
        r#"{"role":"tool","tool_call_id":"x","content":"yyyyyyyyyy"}"#,
        2000,
    );
    let asked = ask(
        "/v1/chat/completions",
        format!(r#"{{"messages":[{results}]}}"#),
    );
    assert_eq!(asked.results.len(), 1024);
    assert!(asked.cut);
    assert_eq!(
        asked.text.map(|text| text.len()),
        Some(crate::model::text::MAX_TEXT)
    );

    let long = "x".repeat(MAX_NAME + 1);
    let body = format!(r#"{{"model":"{long}","tools":[{{"name":"{long}"}}]}}"#);
    let asked = ask("/v1/messages", body);
    assert_eq!((asked.model, asked.tools.len()), (None, 0));

    let padded = format!(
        r#"{{"messages":[{{"role":"user","content":[{},{{"type":"tool_result"}}]}}]}}"#,
        many("{}", 100_000)
    );
    let asked = ask("/v1/messages", padded);
    assert!(asked.cut, "what was not kept is told");
}

proptest! {
    #[test]
    fn no_bytes_are_too_much(path in 0usize..5, body in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = ask(PATHS[path].0, body);
    }

    #[test]
    fn a_changed_byte_says_nothing_that_is_not_there(
        (path, body) in proptest::sample::select(PATHS.to_vec()),
        at: prop::sample::Index,
        byte: u8,
    ) {
        let mut body = body.as_bytes().to_vec();
        let at = at.index(body.len());
        body[at] = byte;
        let asked = ask(path, &body);
        let text = String::from_utf8_lossy(&body);
        if let Some(most) = asked.most_tokens {
            prop_assert!(text.contains(&most.to_string()));
        }
        if !text.contains('\\') && path != PATHS[3].0 {
            for name in asked.tools.iter().chain(&asked.model) {
                prop_assert!(text.contains(name.as_str()), "{}", name);
            }
        }
    }
}
