use super::*;

fn post(host: &str, path: &str) -> Option<(Api, &'static str)> {
    recognise(host, "POST", path).map(|call| (call.api, call.provider))
}

#[test]
fn each_api_is_known_by_its_path() {
    use Api::{Chat, Gemini, Messages, Ollama, Responses};
    for (host, path, api, provider) in [
        ("api.anthropic.com", "/v1/messages", Messages, "anthropic"),
        (
            "api.anthropic.com",
            "/v1/messages?beta=true",
            Messages,
            "anthropic",
        ),
        (
            "api.deepseek.com",
            "/anthropic/v1/messages",
            Messages,
            "deepseek",
        ),
        ("openrouter.ai", "/api/v1/messages", Messages, "openrouter"),
        ("api.openai.com", "/v1/responses", Responses, "openai"),
        ("eu.api.openai.com", "/v1/responses", Responses, "openai"),
        (
            "chatgpt.com",
            "/backend-api/codex/responses",
            Responses,
            "openai",
        ),
        (
            "x.openai.azure.com",
            "/openai/responses?api-version=1",
            Responses,
            "azure",
        ),
        (
            "x.openai.azure.com",
            "/openai/v1/responses",
            Responses,
            "azure",
        ),
        ("api.openai.com", "/v1/chat/completions", Chat, "openai"),
        (
            "openrouter.ai",
            "/api/v1/chat/completions",
            Chat,
            "openrouter",
        ),
        ("api.groq.com", "/openai/v1/chat/completions", Chat, "groq"),
        ("api.mistral.ai", "/v1/chat/completions", Chat, "mistral"),
        ("api.deepseek.com", "/chat/completions", Chat, "deepseek"),
        ("api.x.ai", "/v1/chat/completions", Chat, "xai"),
        (
            "models.github.ai",
            "/inference/chat/completions",
            Chat,
            "github",
        ),
        (
            "generativelanguage.googleapis.com",
            "/v1beta/openai/chat/completions",
            Chat,
            "google",
        ),
        (
            "generativelanguage.googleapis.com",
            "/v1beta/models/gemini-2.5-pro:generateContent?key=k",
            Gemini,
            "google",
        ),
        (
            "europe-west1-aiplatform.googleapis.com",
            "/v1/projects/p/locations/europe-west1/publishers/google/models/gemini-2.5-flash:streamGenerateContent",
            Gemini,
            "google",
        ),
        (
            "cloudcode-pa.googleapis.com",
            "/v1internal:streamGenerateContent?alt=sse",
            Gemini,
            "google",
        ),
        ("localhost", "/api/chat", Ollama, "ollama"),
        ("localhost", "/api/generate", Ollama, "ollama"),
        ("127.0.0.1", "/v1/messages", Messages, "anthropic"),
        ("::1", "/v1/chat/completions", Chat, "openai"),
        ("API.OpenAI.com.", "/v1/chat/completions/", Chat, "openai"),
        (
            "api.openai.com",
            "//v1/./%63hat/complet%69ons",
            Chat,
            "openai",
        ),
    ] {
        assert_eq!(post(host, path), Some((api, provider)), "{host}{path}");
    }
}

#[test]
fn a_path_is_read_as_servers_read_it() {
    for path in [
        "/v1/chat/x/../completions",
        "/v1/chat/completions;x=1",
        "/v1;a/chat/completions",
        "/v1/chat/completions/..%2fcompletions",
        "/../v1/./chat//completions/",
    ] {
        assert_eq!(
            post("api.openai.com", path),
            Some((Api::Chat, "openai")),
            "{path}"
        );
    }
    assert_eq!(post("api.openai.com", "/v1/chat/completions/.."), None);
}

#[test]
fn other_requests_are_no_calls() {
    for path in [
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/messages/batches/msgbatch_1/results",
        "/v1/threads/thread_1/messages",
        "/v1/responses/resp_1",
        "/v1/responses/resp_1/cancel",
        "/v1/responses/input_tokens",
        "/v1/chat/completions/chatcmpl_1",
        "/surveys/7/responses",
        "/responses",
        "/v1beta/models/gemini-2.5-pro:countTokens",
        "/v1beta/models/gemini-2.5-pro",
        "/v1beta/models",
        "/v1internal:countTokens",
        "/other:generateContent",
        "/api/tags",
        "/app/api/chat",
        "/v1/embeddings",
        "/",
        "",
        "/%",
        "/%ff%fe/v1/messages",
        "/v1/messages%00",
    ] {
        assert_eq!(post("api.openai.com", path), None, "{path}");
    }
    assert_eq!(recognise("api.openai.com", "GET", "/v1/responses"), None);
    assert_eq!(recognise("api.anthropic.com", "post", "/v1/messages"), None);
}

#[test]
fn a_path_names_the_model_where_the_body_does_not() {
    let call = |path| recognise("mock.test", "POST", path).unwrap();
    let gemini = call("/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse");
    assert_eq!(gemini.model.as_deref(), Some("gemini-2.5-pro"));
    assert_eq!(gemini.streaming, Some(true));
    let gemini = call("/v1/models/gemini-2.5-pro%3AgenerateContent");
    assert_eq!(gemini.model.as_deref(), Some("gemini-2.5-pro"));
    assert_eq!(gemini.streaming, Some(false));
    assert_eq!(call("/v1/models/:generateContent").model, None);
    let azure = call("/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21");
    assert_eq!(azure.model.as_deref(), Some("my-gpt"));
    assert_eq!(azure.streaming, None);
}

#[test]
fn a_name_that_ends_alike_is_another_host() {
    for host in [
        "api.openai.com.evil.test",
        "evil-api.openai.com",
        ".openai.azure.com",
        "aapi.anthropic.com",
        "-aiplatform.googleapis.com",
        "é.test",
        "",
    ] {
        assert_eq!(provider_of(host), None, "{host}");
    }
    assert_eq!(provider_of("my.openai.azure.com"), Some("azure"));
    assert!(has_model("api.anthropic.com") && !has_model("example.com"));
}
