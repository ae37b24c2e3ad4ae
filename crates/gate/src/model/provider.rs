//! Which requests are calls to a language model.
//!
//! Decision: by the path, whatever the host. A host can be named anything, a proxy or a test
//! server can stand anywhere, and a program that wants to go unseen chooses the host; the path is
//! what a server of the API answers to. The host only says whose model it is. The path is read as
//! servers read it: escapes undone, empty parts left out.

/// An interface of language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Api {
    /// Anthropic's Messages.
    Messages,
    /// OpenAI's Responses.
    Responses,
    /// OpenAI's Chat Completions, and whatever speaks it.
    Chat,
    /// Gemini's `generateContent`.
    Gemini,
    /// Ollama's `chat` and `generate`.
    Ollama,
}

impl Api {
    /// Whose interface it is.
    fn provider(self) -> &'static str {
        match self {
            Self::Messages => "anthropic",
            Self::Responses | Self::Chat => "openai",
            Self::Gemini => "google",
            Self::Ollama => "ollama",
        }
    }
}

/// A request that is a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModelCall {
    pub(crate) api: Api,
    /// Whose model it is, as far as the host says so; else whose interface.
    pub(crate) provider: &'static str,
    /// The model that the path names.
    pub(crate) model: Option<String>,
    /// Whether the path asks for the answer bit by bit.
    pub(crate) streaming: Option<bool>,
}

/// Known hosts and whose models they serve; a star stands for one or more characters.
const KNOWN: [(&str, &str); 37] = [
    ("api.anthropic.com", "anthropic"),
    ("api.openai.com", "openai"),
    ("*.api.openai.com", "openai"),
    ("chatgpt.com", "openai"),
    ("generativelanguage.googleapis.com", "google"),
    ("aiplatform.googleapis.com", "google"),
    ("*-aiplatform.googleapis.com", "google"),
    ("cloudcode-pa.googleapis.com", "google"),
    ("ollama.com", "ollama"),
    ("*.openai.azure.com", "azure"),
    ("*.services.ai.azure.com", "azure"),
    ("*.cognitiveservices.azure.com", "azure"),
    ("openrouter.ai", "openrouter"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral"),
    ("codestral.mistral.ai", "mistral"),
    ("api.deepseek.com", "deepseek"),
    ("api.x.ai", "xai"),
    ("*.api.x.ai", "xai"),
    ("api.together.xyz", "together"),
    ("api.together.ai", "together"),
    ("api.fireworks.ai", "fireworks"),
    ("api.cerebras.ai", "cerebras"),
    ("api.perplexity.ai", "perplexity"),
    ("api.cohere.com", "cohere"),
    ("api.cohere.ai", "cohere"),
    ("api.deepinfra.com", "deepinfra"),
    ("api.sambanova.ai", "sambanova"),
    ("integrate.api.nvidia.com", "nvidia"),
    ("router.huggingface.co", "huggingface"),
    ("models.github.ai", "github"),
    ("api.githubcopilot.com", "github"),
    ("*.githubcopilot.com", "github"),
    ("api.moonshot.ai", "moonshot"),
    ("api.z.ai", "zai"),
    ("api.minimax.io", "minimax"),
    ("dashscope-intl.aliyuncs.com", "alibaba"),
];

/// Whether a host is known to serve models.
pub(crate) fn has_model(host: &str) -> bool {
    provider_of(host).is_some()
}

/// Whose models a host serves.
fn provider_of(host: &str) -> Option<&'static str> {
    let host = host.strip_suffix('.').unwrap_or(host);
    let matches = |pattern: &str| match pattern.strip_prefix('*') {
        Some(end) => host
            .len()
            .checked_sub(end.len())
            .is_some_and(|at| at > 0 && ends_with(host, end)),
        None => host.eq_ignore_ascii_case(pattern),
    };
    let known = KNOWN.iter().find(|(pattern, _)| matches(pattern));
    known.map(|(_, provider)| *provider)
}

fn ends_with(host: &str, end: &str) -> bool {
    let tail = &host.as_bytes()[host.len() - end.len()..];
    tail.eq_ignore_ascii_case(end.as_bytes())
}

/// Reads a request's line; none where it is no call. `path` may have a query.
pub(crate) fn recognise(host: &str, method: &str, path: &str) -> Option<ModelCall> {
    if method != "POST" {
        return None;
    }
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = decode(path)?;
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        // As servers read it that resolve a path and know parameters of its parts.
        match part.split(';').next().unwrap_or_default() {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let (api, model, streaming) = by_path(&parts)?;
    Some(ModelCall {
        api,
        provider: provider_of(host).unwrap_or(api.provider()),
        model,
        streaming,
    })
}

fn by_path(parts: &[&str]) -> Option<(Api, Option<String>, Option<bool>)> {
    match parts {
        ["api", "chat" | "generate"] => Some((Api::Ollama, None, None)),
        [.., "v1", "messages"] => Some((Api::Messages, None, None)),
        [.., "deployments", name, "chat", "completions"] => {
            Some((Api::Chat, Some((*name).to_owned()), None))
        }
        [.., "chat", "completions"] => Some((Api::Chat, None, None)),
        // A survey's `/responses` is none.
        [.., "openai" | "codex", "responses"] => Some((Api::Responses, None, None)),
        [.., version, "responses"] if is_version(version) => Some((Api::Responses, None, None)),
        [.., "models" | "tunedModels" | "endpoints", last] => {
            let (model, streaming) = generates(last)?;
            let model = (!model.is_empty()).then(|| model.to_owned());
            Some((Api::Gemini, model, Some(streaming)))
        }
        // Code Assist's, with the model in the body.
        [last] => match generates(last)? {
            ("v1internal", streaming) => Some((Api::Gemini, None, Some(streaming))),
            _ => None,
        },
        _ => None,
    }
}

/// What stands before the name of one of Gemini's two methods, and whether it is the streaming one.
fn generates(part: &str) -> Option<(&str, bool)> {
    let (before, method) = part.rsplit_once(':')?;
    match method {
        "generateContent" => Some((before, false)),
        "streamGenerateContent" => Some((before, true)),
        _ => None,
    }
}

/// `v1`, `v2`, `v1beta`, …
fn is_version(part: &str) -> bool {
    let rest = part.strip_prefix('v').unwrap_or_default();
    rest.starts_with(|c: char| c.is_ascii_digit())
        && rest.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Undoes a path's escapes; none where they are no text.
fn decode(path: &str) -> Option<String> {
    let digit = |byte: Option<&u8>| byte.and_then(|b| char::from(*b).to_digit(16));
    let bytes = path.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let escaped = match byte {
            b'%' => digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2))),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                decoded.push((high << 4 | low) as u8);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
#[path = "provider_tests.rs"]
mod tests;
