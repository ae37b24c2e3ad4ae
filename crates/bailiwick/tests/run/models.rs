//! Calls to language models are events: what they ask for, what they use, which tools they call; and
//! a rule sets a budget.

use crate::bodies::Server;
use crate::support::{Backend, Outcome, Sandbox};
use bailiwick_event::{Act, ModelAnswer, ModelCall};

on_every_backend! {
    a_call_and_its_answer_are_rows_with_what_they_used,
    a_budget_refuses_the_call_after_it_is_spent,
    an_answer_whose_cost_nobody_tells_can_end_the_session,
    a_budget_ends_the_session,
    a_call_is_decided_by_its_model_and_tools_and_an_answer_by_what_it_calls,
    what_is_no_call_is_none,
}

/// An answer of the Messages interface, bit by bit, that calls a tool.
pub(crate) const STREAMED: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
event: message_start\n\
data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"model\":\"claude-sonnet-4-5-20250929\",\"usage\":{\"input_tokens\":1000,\"cache_read_input_tokens\":200,\"cache_creation_input_tokens\":0,\"output_tokens\":1}}}\n\n\
event: content_block_start\n\
data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"read_file\",\"input\":{}}}\n\n\
event: message_delta\n\
data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":500}}\n\n\
event: message_stop\n\
data: {\"type\":\"message_stop\"}\n\n";

pub(crate) const ASK: &str = r#"curl -sS -d '{"model":"claude-sonnet-4-5","max_tokens":99,"stream":true,"tools":[{"name":"read_file"},{"name":"bash"}],"messages":[{"role":"user","content":"hello"}]}' http://a.test/v1/messages"#;
const RESULT: &str = r#"curl -sS -d '{"model":"claude-sonnet-4-5","max_tokens":99,"messages":[{"role":"user","content":"hello"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"text"}]}]}' http://a.test/v1/messages"#;

fn rule(on: &str, action: &str, when: &str) -> String {
    format!("[[rules]]\nid = \"budget\"\non = \"{on}\"\naction = \"{action}\"\nwhen = '{when}'\n")
}

/// A run of which requests are read, since a detection asks about models.
fn watched(on: Backend, server: &Server, rules: &str) -> Sandbox {
    let all = "[[detections]]\nid = \"calls\"\non = \"model.request\"\nseverity = \"informational\"\nwhen = 'true'\n";
    server.sandbox(on, "", &format!("{all}{rules}"))
}

fn calls(outcome: &Outcome) -> Vec<(u64, ModelCall)> {
    let of = |event: bailiwick_event::Event| match event.act {
        Act::ModelRequest(call) => Some((event.id, call)),
        _ => None,
    };
    outcome.events().into_iter().filter_map(of).collect()
}

fn answers(outcome: &Outcome) -> Vec<(u64, ModelAnswer)> {
    let of = |event: bailiwick_event::Event| match event.act {
        Act::ModelResponse(answer) => Some((event.id, answer)),
        _ => None,
    };
    outcome.events().into_iter().filter_map(of).collect()
}

fn text(of: &Option<bailiwick_event::Text>) -> String {
    of.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn a_call_and_its_answer_are_rows_with_what_they_used(on: Backend) {
    let server = Server::start(STREAMED);
    let outcome = watched(on, &server, "").run(&format!("{ASK}; {RESULT}"));
    outcome.success().nothing_refused();
    outcome.stdout_has("message_stop");
    let asked = calls(&outcome);
    let [(_, first), (_, second)] = &asked[..] else {
        panic!("{asked:?}");
    };
    assert_eq!(
        (&*first.provider, &*text(&first.model)),
        ("anthropic", "claude-sonnet-4-5")
    );
    assert_eq!((first.streaming, first.most_tokens), (Some(true), Some(99)));
    let tools: Vec<_> = first.tools.iter().map(ToString::to_string).collect();
    assert_eq!(tools, ["read_file", "bash"]);
    let told = answers(&outcome);
    let [(row, answer), (_, other)] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(text(&answer.model), "claude-sonnet-4-5-20250929");
    assert_eq!(
        (answer.input, answer.output, answer.cached),
        (Some(1200), Some(500), Some(200))
    );
    assert_eq!(text(&answer.stop), "tool_use");
    assert_eq!(text(&answer.tools[0].name), "read_file");
    assert!(answer.first_ns.is_some() && !answer.cut);
    let cost = answer.cost_nanousd.unwrap();
    // 1000 at 3 dollars a million, 200 at a tenth of that, 500 at 15.
    assert_eq!(cost, 3_000_000 + 60_000 + 7_500_000);
    assert!(answer.prices.is_some());
    assert_eq!(
        (answer.session.calls, answer.session.cost_nanousd),
        (1, cost)
    );
    assert_eq!(
        (other.session.calls, other.session.cost_nanousd),
        (2, 2 * cost)
    );
    // The result of a tool knows the answer that called it.
    assert_eq!(second.results[0].call, Some(*row));
    assert_eq!(second.session.cost_nanousd, cost);
    let findings = outcome.events();
    assert_eq!(
        findings
            .iter()
            .filter(|e| e.decision.rule.id == "calls")
            .count(),
        2
    );
}

fn a_budget_refuses_the_call_after_it_is_spent(on: Backend) {
    let server = Server::start(STREAMED);
    let rules = rule("model.request", "deny", "model.session.cost > 0.015");
    let outcome = watched(on, &server, &rules).run(&format!("{ASK}; {ASK}; {ASK}"));
    outcome.success().refused_by("budget");
    assert_eq!(server.heard().len(), 2);
    outcome.stdout_has("refused by policy: anthropic claude-sonnet-4-5");
}

fn an_answer_whose_cost_nobody_tells_can_end_the_session(on: Backend) {
    let server = Server::start(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n\
         data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"gpt-4o\",\
         \"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n\
         data: [DONE]\n\n",
    );
    let call = "curl -sS -d '{\"model\":\"gpt-4o\",\"stream\":true,\"messages\":[]}' \
        http://a.test/v1/chat/completions";
    let rules = rule("model.response", "stop", "!has(model.response.cost)");
    let outcome = watched(on, &server, &rules).run(&format!("{call}; sleep 600; echo late"));
    outcome.code(137).refused_by("budget").stdout_lacks("late");
}

fn a_budget_ends_the_session(on: Backend) {
    let server = Server::start(STREAMED);
    let rules = rule("model.response", "stop", "model.session.cost > 0.015");
    let outcome = watched(on, &server, &rules).run(&format!("{ASK}; {ASK}; sleep 600; echo late"));
    outcome.code(137).refused_by("budget");
    outcome
        .stderr_has("bailiwick: budget (")
        .stderr_has(") ended the session; ");
    outcome.stdout_lacks("late");
    assert_eq!(answers(&outcome).len(), 2);
}

fn a_call_is_decided_by_its_model_and_tools_and_an_answer_by_what_it_calls(on: Backend) {
    let server = Server::start(STREAMED);
    for (event, when, heard) in [
        (
            "model.request",
            r#"model.request.model.startsWith("claude-sonnet")"#,
            0,
        ),
        ("model.request", r#""bash" in model.request.tools"#, 0),
        (
            "model.request",
            r#"model.request.text.contains("hello")"#,
            0,
        ),
        (
            "model.response",
            r#""read_file" in model.response.tools"#,
            1,
        ),
    ] {
        let before = server.heard().len();
        let outcome = watched(on, &server, &rule(event, "deny", when)).run(ASK);
        outcome.success().refused_by("budget");
        outcome
            .stdout_has("refused by policy")
            .stdout_lacks("message_stop");
        assert_eq!(server.heard().len() - before, heard, "{when}");
    }
    let other = rule(
        "model.request",
        "deny",
        r#"model.request.provider == "openai""#,
    );
    watched(on, &server, &other)
        .run(ASK)
        .success()
        .nothing_refused();
}

fn what_is_no_call_is_none(on: Backend) {
    let server =
        Server::start("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
    let outcome = watched(on, &server, "").run(
        "curl -sS -d '{\"x\":1}' http://a.test/v1/messages; curl -sS http://a.test/v1/messages",
    );
    outcome.success();
    assert_eq!((calls(&outcome).len(), answers(&outcome).len()), (0, 0));
}
