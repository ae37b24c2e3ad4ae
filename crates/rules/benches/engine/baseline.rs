//! The same work by hand, and by the `cel` crate.

use bailiwick_event::fields::Record;
use cel::objects::{Key, Map};
use cel::{Context, Env, Program, Value};
use std::collections::HashMap;
use std::sync::Arc;

pub(crate) fn host(record: &Record<'_>) -> bool {
    let host = record.http_request.host.as_deref();
    host.is_some_and(|host| host.contains("google"))
}

pub(crate) fn header(record: &Record<'_>) -> bool {
    let headers = record.http_request.headers.as_ref();
    headers.is_some_and(|headers| {
        headers
            .0
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("authorization"))
    })
}

pub(crate) fn full(record: &Record<'_>) -> bool {
    let request = &record.http_request;
    host(record)
        && request
            .url
            .as_deref()
            .is_some_and(|url| url.contains("google"))
        && request
            .path
            .as_deref()
            .is_some_and(|path| path.starts_with("/admin"))
        && header(record)
        && request
            .body_text
            .as_deref()
            .is_some_and(|text| text.contains("secret"))
}

fn map(pairs: Vec<(&str, Value)>) -> Value {
    let pair = |(name, value): (&str, Value)| (Key::from(name.to_owned()), value);
    Value::Map(Map {
        map: Arc::new(pairs.into_iter().map(pair).collect::<HashMap<_, _>>()),
    })
}

fn text(text: &str) -> Value {
    Value::String(Arc::new(text.to_owned()))
}

/// The full policy as the `cel` crate can say it: a header is a key of a map.
pub(crate) const FULL_FOR_CEL: &str = r#"http.request.host.contains("google") && http.request.url.contains("google") && http.request.path.startsWith("/admin") && "authorization" in http.request.headers && http.request.body.text.contains("secret")"#;
pub(crate) const HEADER_FOR_CEL: &str = r#""authorization" in http.request.headers"#;

/// A condition of the `cel` crate and the event as its context, both made beforehand.
pub(crate) struct Cel {
    program: Program,
    context: Context<'static, 'static>,
}

impl Cel {
    pub(crate) fn new(condition: &str) -> Self {
        let env = Arc::new(Env::stdlib());
        let program = env
            .compile(condition)
            .expect("the condition is one of the language");
        let mut context = Context::with_env(env);
        let request = map(vec![
            ("method", text("POST")),
            ("host", text("googleapis.com")),
            ("path", text("/admin/upload")),
            (
                "url",
                text("https://googleapis.com/admin/upload?kind=report"),
            ),
            (
                "headers",
                map(vec![
                    ("authorization", text("Bearer abc")),
                    ("content-type", text("text/plain")),
                ]),
            ),
            ("body", map(vec![("text", text("token=secret"))])),
        ]);
        context.add_variable_from_value("http", map(vec![("request", request)]));
        Self { program, context }
    }

    pub(crate) fn run(&self) -> bool {
        matches!(self.program.execute(&self.context), Ok(Value::Bool(true)))
    }
}
