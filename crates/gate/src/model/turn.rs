//! The last turn of a conversation: what was said since the model's last answer.
//!
//! Decision: only that is kept while a conversation is read, so that a long one takes no more
//! memory than a short one. The calls of the answer before it are remembered, to name the tools
//! whose results come.

use super::text::Text;
use super::tree::Tree;

/// The most results, and the most calls, of one turn.
const MAX_RESULTS: usize = 1024;

/// The result of a tool's call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolResult {
    /// The call's id, as the model gave it.
    pub(crate) id: Option<String>,
    /// The tool's name.
    pub(crate) name: Option<String>,
    /// Whether the tool failed.
    pub(crate) is_error: Option<bool>,
}

/// The last turn so far.
#[derive(Debug, Default)]
pub(super) struct Turn {
    text: Text,
    results: Vec<ToolResult>,
    /// Id and name of the calls in the model's last answer.
    calls: Vec<(String, String)>,
    /// The model spoke last.
    answered: bool,
    /// There was more than is kept.
    pub(super) over: bool,
}

impl Turn {
    /// Takes the next message of the conversation.
    pub(super) fn take(&mut self, message: &Tree) {
        let role = message.name("role");
        let kind = message.name("type").unwrap_or_default();
        if matches!(role, Some("system" | "developer")) {
            return;
        }
        let by_model = matches!(role, Some("assistant" | "model"))
            || kind == "reasoning"
            || kind.ends_with("_call");
        if by_model {
            if !std::mem::replace(&mut self.answered, true) {
                self.calls.clear();
            }
            self.remember_calls(message);
            return;
        }
        if std::mem::replace(&mut self.answered, false) {
            self.text.clear();
            self.results.clear();
            self.over = false;
        }
        self.text.end_part();
        match message {
            Tree::Text { text, .. } => self.text.push(text),
            _ => self.said(message, role, kind),
        }
    }

    /// What was said, and what came back from tools.
    pub(super) fn into_parts(self) -> (Option<String>, Vec<ToolResult>) {
        (self.text.into_string(), self.results)
    }

    fn remember_calls(&mut self, message: &Tree) {
        // An item of Responses is a call itself.
        self.remember(message.name("call_id"), message.name("name"));
        for call in message.list("tool_calls") {
            let function = call.get("function").or(call.get("custom"));
            self.remember(call.name("id"), function.and_then(|f| f.name("name")));
        }
        for block in message.list("content") {
            if block.name("type") == Some("tool_use") {
                self.remember(block.name("id"), block.name("name"));
            }
        }
        for part in message.list("parts") {
            if let Some(call) = part.get("function_call") {
                self.remember(call.name("id"), call.name("name"));
            }
        }
    }

    fn remember(&mut self, id: Option<&str>, name: Option<&str>) {
        let (Some(id), Some(name)) = (id, name) else {
            return;
        };
        match self.calls.len() < MAX_RESULTS {
            true => self.calls.push((id.to_owned(), name.to_owned())),
            false => self.over = true,
        }
    }

    /// A message that is not the model's.
    fn said(&mut self, message: &Tree, role: Option<&str>, kind: &str) {
        if kind.ends_with("_call_output") {
            self.result(message.name("call_id"), None, None);
        } else if matches!(role, Some("tool" | "function")) {
            let name = message.name("tool_name").or(message.name("name"));
            self.result(message.name("tool_call_id"), name, None);
        }
        self.texts(message.get("content").or(message.get("output")));
        for part in message.list("parts") {
            self.text.end_part();
            if let Some(text) = part.text("text") {
                self.text.push(text);
            }
            if let Some(result) = part.get("function_response") {
                self.gemini_result(result);
            }
        }
    }

    /// A text, or a list of blocks, some of which are results that hold blocks of their own.
    fn texts(&mut self, content: Option<&Tree>) {
        match content {
            Some(Tree::Text { text, .. }) => self.text.push(text),
            Some(Tree::List(blocks)) => {
                for block in blocks {
                    self.text.end_part();
                    if let Some(text) = block.text("text") {
                        self.text.push(text);
                    }
                    if block.name("type") == Some("tool_result") {
                        let is_error = match block.get("is_error") {
                            None => Some(false),
                            Some(_) => block.flag("is_error"),
                        };
                        self.result(block.name("tool_use_id"), None, is_error);
                        self.texts(block.get("content"));
                    }
                }
            }
            _ => {}
        }
    }

    /// The API has one key for what a function gave and one for its failure.
    fn gemini_result(&mut self, result: &Tree) {
        let response = result.get("response");
        let said = |key| response.and_then(|response| response.get(key));
        let is_error = match (said("output"), said("error")) {
            (None, Some(_)) => Some(true),
            (Some(_), None) => Some(false),
            _ => None,
        };
        self.result(result.name("id"), result.name("name"), is_error);
        self.texts(said("output"));
        self.texts(said("error"));
    }

    fn result(&mut self, id: Option<&str>, name: Option<&str>, is_error: Option<bool>) {
        if self.results.len() == MAX_RESULTS {
            self.over = true;
            return;
        }
        let mut called = self
            .calls
            .iter()
            .filter(|(call, _)| Some(call.as_str()) == id);
        let called = match (called.next(), called.next()) {
            (Some((_, name)), None) => Some(name.as_str()),
            _ => None,
        };
        self.results.push(ToolResult {
            id: id.map(str::to_owned),
            name: name.or(called).map(str::to_owned),
            is_error,
        });
    }
}
