//! Calls to language models, as the ledger has them.

use crate::Text;
use serde::{Deserialize, Serialize};

/// A use of a tool: the model's call of it, or the program's result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// What the call and its result have in common.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Text>,
    /// The tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Text>,
    /// Of a result: whether the tool failed, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// Of a result: the number of the row of the answer that made the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<u64>,
}

/// What a session has used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTotals {
    /// The model that answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// Answers.
    pub calls: u64,
    /// Tokens that were read and written, as far as they were told.
    pub tokens: u64,
    /// Billionths of a US dollar, as far as prices are known.
    pub cost_nanousd: u64,
}

/// A call to a language model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelCall {
    /// The number of the row of the HTTP request; 0 where it has none.
    pub request: u64,
    /// Whose model it is: `anthropic`, `openai`, …
    pub provider: String,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// Whether the answer is to come bit by bit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streaming: Option<bool>,
    /// The names of the tools that are offered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Text>,
    /// The most tokens that are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_tokens: Option<u64>,
    /// The results of tools that it brings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ToolUse>,
    /// Whether only a part of it was read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What the session had used before.
    pub session: ModelTotals,
}

/// A language model's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelAnswer {
    /// The number of the row of the HTTP request; 0 where it has none.
    pub request: u64,
    /// Whose model it is.
    pub provider: String,
    /// The model that answered; that which was asked where the answer names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Text>,
    /// The tools that it calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolUse>,
    /// Tokens that were read, those from a cache included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<u64>,
    /// Tokens that were written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// Tokens that were read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached: Option<u64>,
    /// Billionths of a US dollar; none where the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanousd: Option<u64>,
    /// The date of the prices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// Why it ended, in the interface's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Text>,
    /// The kind of error that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Text>,
    /// Wall-clock nanoseconds from the decision about the call to the first word of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ns: Option<u64>,
    /// Wall-clock nanoseconds from the decision about the call to the end of the answer.
    pub duration_ns: u64,
    /// Whether the answer did not come whole, or could not be read whole.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What the session has used with it.
    pub session: ModelTotals,
}

impl ModelAnswer {
    /// What it says, in one line.
    pub(crate) fn shown(&self) -> String {
        let model = self
            .model
            .as_ref()
            .map_or("a model".into(), Text::to_string);
        let number = |n: Option<u64>| n.map_or("?".to_owned(), |n| n.to_string());
        let mut line = format!(
            "{} {model}: {} tokens read, {} written",
            self.provider,
            number(self.input),
            number(self.output)
        );
        if let Some(cost) = self.cost_nanousd {
            line += &format!(
                ", ${}.{:06}",
                cost / 1_000_000_000,
                cost % 1_000_000_000 / 1000
            );
        }
        let names = self.tools.iter().filter_map(|tool| tool.name.as_ref());
        let names: Vec<_> = names.map(Text::to_string).collect();
        if !names.is_empty() {
            line += &format!(", calls {}", names.join(", "));
        }
        if let Some(error) = &self.error {
            line += &format!(", error {error}");
        }
        line
    }
}
