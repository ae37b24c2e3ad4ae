//! What a call used.
//!
//! Decision: one meaning for all APIs. Anthropic counts what was read from a cache and what was
//! written to it apart from the input, the others count it in; here the input is all that was
//! read. A figure that contradicts another is not known.

use super::figure::Figure;
use super::tree::Tree;

/// What a call used, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// All tokens that were read, those from a cache and those that went to one included.
    pub(crate) input: Option<u64>,
    /// All tokens that were written, those of its thoughts included.
    pub(crate) output: Option<u64>,
    /// Those of the input that came from a cache.
    pub(crate) cached: Option<u64>,
    /// Those of the input that were written to a cache.
    pub(crate) written: Option<u64>,
    /// Those of the written that are kept for an hour.
    pub(crate) written_hour: Option<u64>,
    /// A figure was unclear, or something was told that has a price of its own: a tier of
    /// service, a place, tokens of sound, a search. The list of prices does not tell the cost.
    pub(crate) off_list: bool,
}

/// What was told of it so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    pub(super) input: Figure,
    pub(super) output: Figure,
    pub(super) cached: Figure,
    pub(super) written: Figure,
    pub(super) written_hour: Figure,
    /// The input leaves out what was cached and written.
    pub(super) apart: bool,
    pub(super) off_list: bool,
}

impl Told {
    /// What it comes to; `ended`: what was told last is the end of it.
    pub(super) fn into_usage(self, ended: bool) -> Usage {
        let input = match (self.apart, self.input) {
            (true, Figure::Told(_)) => self.input.plus(self.cached).plus(self.written),
            _ => self.input,
        };
        let contradicts = match (input, self.cached.plus(self.written)) {
            (Figure::Told(all), Figure::Told(part)) => part > all,
            _ => false,
        };
        let hour_contradicts = match (self.written, self.written_hour) {
            (Figure::Told(all), Figure::Told(part)) => part > all,
            _ => false,
        };
        let part = |figure: Figure, wrong: bool| figure.known().filter(|_| !wrong);
        let figures = [
            self.input,
            self.output,
            self.cached,
            self.written,
            self.written_hour,
        ];
        Usage {
            input: input.known(),
            output: part(self.output, !ended),
            cached: part(self.cached, contradicts),
            written: part(self.written, contradicts),
            written_hour: part(self.written_hour, contradicts || hour_contradicts),
            off_list: self.off_list
                || contradicts
                || hour_contradicts
                || figures.contains(&Figure::Unclear),
        }
    }

    /// Anthropic's; a later one says again what has changed.
    pub(super) fn anthropic(&mut self, usage: &Tree, with_output: bool) {
        let take = |figure: &mut Figure, key| *figure = Figure::read(usage, key).or(*figure);
        self.apart = true;
        take(&mut self.input, "input_tokens");
        take(&mut self.cached, "cache_read_input_tokens");
        take(&mut self.written, "cache_creation_input_tokens");
        if with_output {
            take(&mut self.output, "output_tokens");
        }
        if let Some(written) = usage.get("cache_creation") {
            let hour = Figure::read(written, "ephemeral_1h_input_tokens");
            self.written_hour = hour.or(self.written_hour);
        }
        let searches = usage.get("server_tool_use");
        let place = usage.text("inference_geo").unwrap_or("global");
        self.off_list |= is_off_list_tier(usage)
            || !matches!(usage.text("speed"), None | Some("standard"))
            || !matches!(place, "global" | "not_available")
            || searches.is_some_and(|s| !matches!(s.number("web_search_requests"), None | Some(0)));
    }

    /// That of Chat Completions.
    pub(super) fn chat(&mut self, usage: &Tree) {
        let mut told = Self {
            input: Figure::read(usage, "prompt_tokens"),
            output: Figure::read(usage, "completion_tokens"),
            cached: Figure::read(usage, "prompt_cache_hit_tokens"),
            off_list: self.off_list,
            ..Self::default()
        };
        if let Some(read) = usage.get("prompt_tokens_details") {
            told.details(read);
        }
        if let Some(written) = usage.get("completion_tokens_details") {
            told.off_list |= has_sound(written);
            told.thoughts_apart(
                Figure::read(written, "reasoning_tokens"),
                Figure::read(usage, "total_tokens"),
            );
        }
        *self = told;
    }

    /// Some servers count thoughts apart from the rest of the output; the total tells.
    fn thoughts_apart(&mut self, thoughts: Figure, total: Figure) {
        let parts = self.input.plus(self.output).plus(thoughts);
        let adds_up = matches!(total, Figure::Told(_)) && parts == total;
        if adds_up && matches!(thoughts, Figure::Told(1..)) {
            self.output = self.output.plus(thoughts);
        }
    }

    /// That of Responses.
    pub(super) fn responses(&mut self, usage: &Tree) {
        let mut told = Self {
            input: Figure::read(usage, "input_tokens"),
            output: Figure::read(usage, "output_tokens"),
            off_list: self.off_list,
            ..Self::default()
        };
        if let Some(read) = usage.get("input_tokens_details") {
            told.details(read);
        }
        *self = told;
    }

    /// What OpenAI's APIs say of the input.
    fn details(&mut self, read: &Tree) {
        self.cached = Figure::read(read, "cached_tokens").or(self.cached);
        self.written = Figure::read(read, "cache_write_tokens");
        self.off_list |= has_sound(read);
    }

    /// More was written after the figures were told.
    pub(super) fn more_written(&mut self) {
        self.output = Figure::Untold;
    }

    /// OpenAI's answers say beside the usage how they were served.
    pub(super) fn served(&mut self, answer: &Tree) {
        self.off_list |= is_off_list_tier(answer);
    }

    /// Gemini's; each says all there is so far, and leaves out what is zero.
    pub(super) fn gemini(&mut self, usage: &Tree) {
        let prompt = Figure::read(usage, "prompt_token_count");
        let tools = Figure::read(usage, "tool_use_prompt_token_count");
        let written = Figure::read(usage, "candidates_token_count");
        let thoughts = Figure::read(usage, "thoughts_token_count");
        let total = Figure::read(usage, "total_token_count");
        let input = match prompt {
            Figure::Untold => Figure::Untold,
            _ => prompt.plus(tools),
        };
        let output = match (written.plus(thoughts), input, total) {
            (Figure::Untold, Figure::Told(input), Figure::Told(total)) if input == total => {
                Figure::Told(0)
            }
            (output, ..) => output,
        };
        let details = usage.list("prompt_tokens_details");
        let sound = details.iter().any(|d| d.text("modality") == Some("AUDIO"));
        *self = Self {
            input,
            output,
            cached: Figure::read(usage, "cached_content_token_count"),
            off_list: self.off_list || sound,
            ..Self::default()
        };
    }

    /// Ollama's.
    pub(super) fn ollama(&mut self, answer: &Tree) {
        self.input = Figure::read(answer, "prompt_eval_count");
        self.output = Figure::read(answer, "eval_count");
    }
}

fn is_off_list_tier(tree: &Tree) -> bool {
    let tier = tree.text("service_tier").unwrap_or("default");
    !matches!(tier, "default" | "standard" | "auto")
}

fn has_sound(details: &Tree) -> bool {
    !matches!(
        Figure::read(details, "audio_tokens"),
        Figure::Untold | Figure::Told(0)
    )
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
