//! Servers of language models, as far as an SDK can tell: Anthropic's Messages, OpenAI's Chat
//! Completions and Responses, whole or as a stream of events.

use super::answer::{Answer, full, streamed};
use super::pieces::Pieces;
use super::{EVENTS, Served};
use hyper::body::Bytes;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn answer(served: Arc<Served>, path: &str, body: &Bytes) -> Answer {
    let asked: Value = serde_json::from_slice(body).unwrap();
    let api = match path {
        "/v1/messages" => &MESSAGES,
        "/v1/chat/completions" => &CHAT,
        "/v1/responses" => &RESPONSES,
        _ => return full(404, "no such model call\n"),
    };
    if asked["stream"] != true {
        let mut answer = full(200, (api.whole)(&EVENTS.join(" ")).to_string());
        answer
            .headers_mut()
            .insert("content-type", "application/json".parse().unwrap());
        return answer;
    }
    let (sender, pieces) = Pieces::new();
    tokio::spawn(async move {
        let send = async |events: Vec<Value>| {
            for event in events {
                let name = match event["type"].as_str() {
                    Some(name) => format!("event: {name}\n"),
                    None => String::new(),
                };
                sender.data(format!("{name}data: {event}\n\n")).await;
            }
        };
        send((api.begin)()).await;
        send(vec![(api.delta)(EVENTS[0])]).await;
        let last = format!(" {}", served.last().await);
        send(vec![(api.delta)(&last)]).await;
        send((api.end)(&format!("{}{last}", EVENTS[0]))).await;
        if api.done {
            sender.data("data: [DONE]\n\n").await;
        }
    });
    streamed("text/event-stream", pieces)
}

/// How an interface says it; texts are what the model said so far.
struct Api {
    whole: fn(&str) -> Value,
    begin: fn() -> Vec<Value>,
    delta: fn(&str) -> Value,
    end: fn(&str) -> Vec<Value>,
    /// Whether the stream has a last line that is no event.
    done: bool,
}

const MESSAGES: Api = Api {
    whole: |text| message(json!([{"type": "text", "text": text}]), json!("end_turn")),
    begin: || {
        vec![
            json!({"type": "message_start", "message": message(json!([]), Value::Null)}),
            json!({"type": "content_block_start", "index": 0,
                "content_block": {"type": "text", "text": ""}}),
        ]
    },
    delta: |text| {
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": text}})
    },
    end: |_| {
        vec![
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "message_delta", "usage": {"output_tokens": 2},
                "delta": {"stop_reason": "end_turn", "stop_sequence": null}}),
            json!({"type": "message_stop"}),
        ]
    },
    done: false,
};

const CHAT: Api = Api {
    whole: |text| chat("chat.completion", "message", text, json!("stop")),
    begin: || vec![chat("chat.completion.chunk", "delta", "", Value::Null)],
    delta: |text| chat("chat.completion.chunk", "delta", text, Value::Null),
    end: |_| vec![chat("chat.completion.chunk", "delta", "", json!("stop"))],
    done: true,
};

const RESPONSES: Api = Api {
    whole: |text| response("completed", json!([output(text)])),
    begin: || {
        vec![
            json!({"type": "response.created", "sequence_number": 0,
                "response": response("in_progress", json!([]))}),
            json!({"type": "response.output_item.added", "sequence_number": 1,
                "output_index": 0, "item": output("")}),
        ]
    },
    delta: |text| {
        json!({"type": "response.output_text.delta", "sequence_number": 2, "item_id": "msg_1",
            "output_index": 0, "content_index": 0, "delta": text, "logprobs": []})
    },
    end: |text| {
        vec![json!({"type": "response.completed", "sequence_number": 3,
            "response": response("completed", json!([output(text)]))})]
    },
    done: false,
};

fn message(content: Value, stop: Value) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock",
        "content": content, "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": 1, "output_tokens": 1}})
}

fn chat(object: &str, what: &str, text: &str, finish: Value) -> Value {
    json!({"id": "chatcmpl-1", "object": object, "created": 0, "model": "mock",
        "choices": [{"index": 0, "finish_reason": finish, "logprobs": null,
            what: {"role": "assistant", "content": text}}]})
}

fn response(status: &str, output: Value) -> Value {
    json!({"id": "resp_1", "object": "response", "created_at": 0, "model": "mock",
        "status": status, "output": output, "parallel_tool_calls": true, "tool_choice": "auto",
        "tools": [], "error": null, "incomplete_details": null, "instructions": null,
        "metadata": {}, "temperature": 1.0, "top_p": 1.0})
}

fn output(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}
