//! An act at a boundary as rules see it: what the boundary recorded, and nothing that it did not
//! see. Text that is no UTF-8 is read with replacement characters, so that no rule has to know of
//! it.

use super::{
    Common, DnsRequest, DnsResponse, EventType, Field, FileAccess, HttpRequest, HttpResponse,
    ModelRequest, ModelResponse, ModelSession, ProcessExec, SocketUse, Subject, Time,
};
use crate::{Act, Event, ModelTotals, Scheme, Text, Transport};
use std::borrow::Cow;

/// An act's fields.
#[derive(Clone, Debug)]
pub struct Projection<'a> {
    /// What every event has; whoever knows more than the act adds it.
    pub common: Common<'a>,
    family: Seen<'a>,
}

#[derive(Clone, Debug)]
enum Seen<'a> {
    Http(HttpRequest<'a>),
    Answer(HttpRequest<'a>, HttpResponse<'a>),
    Call(ModelSession<'a>, ModelRequest<'a>),
    Said(ModelSession<'a>, ModelRequest<'a>, ModelResponse<'a>),
    Dns(DnsRequest<'a>),
    DnsAnswer(DnsRequest<'a>, DnsResponse<'a>),
    Exec(ProcessExec<'a>),
    File(FileAccess<'a>),
    Socket(SocketUse<'a>),
}

fn text(text: &Text) -> Cow<'_, str> {
    String::from_utf8_lossy(text.as_bytes())
}

fn lower(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.bytes().any(|b| b.is_ascii_uppercase()) {
        true => Cow::Owned(text.to_ascii_lowercase()),
        false => text,
    }
}

fn transport(transport: Transport) -> Cow<'static, str> {
    Cow::Borrowed(match transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
    })
}

/// A host name as rules compare it: in lower case, without the dot at its end.
fn host(name: &Text) -> Cow<'_, str> {
    let name = lower(text(name));
    match name {
        Cow::Borrowed(name) => Cow::Borrowed(name.strip_suffix('.').unwrap_or(name)),
        Cow::Owned(name) => Cow::Owned(name.strip_suffix('.').unwrap_or(&name).to_owned()),
    }
}

impl<'a> Projection<'a> {
    /// The type of event that an act is, without a look at its fields; none where no rule is about
    /// such acts.
    #[must_use]
    pub fn event_type(act: &Act) -> Option<EventType> {
        match act {
            Act::Http { .. } => Some(EventType::HttpRequest),
            Act::HttpResponse { .. } => Some(EventType::HttpResponse),
            Act::ModelRequest(_) => Some(EventType::ModelRequest),
            Act::ModelResponse(_) => Some(EventType::ModelResponse),
            Act::Dns { .. } => Some(EventType::DnsRequest),
            Act::DnsResponse { .. } => Some(EventType::DnsResponse),
            Act::Connect { .. } => Some(EventType::Socket),
            Act::ExecStart { .. } | Act::Enter { .. } | Act::Executed { .. } => {
                Some(EventType::ProcessExec)
            }
            Act::Write { .. } => Some(EventType::File),
            Act::SessionStart { .. }
            | Act::SessionEnd { .. }
            | Act::Overflow { .. }
            | Act::ExecExit { .. }
            | Act::Caller { .. }
            | Act::Leave { .. }
            | Act::Left { .. }
            | Act::Saved { .. }
            | Act::GoesOn { .. }
            | Act::SecretUsed { .. }
            | Act::Answered { .. }
            | Act::Resolved { .. }
            | Act::Tls { .. }
            | Act::Finding { .. }
            | Act::Rules { .. }
            | Act::Limit { .. } => None,
        }
    }

    /// The fields of an act; none where no rule is about such acts.
    #[must_use]
    pub fn of(act: &'a Act) -> Option<Self> {
        let event_type = Self::event_type(act)?;
        let family = match act {
            Act::Http {
                method,
                host,
                port,
                path,
                scheme,
                ..
            } => Seen::Http(http(method, host, *port, path, *scheme)),
            Act::HttpResponse {
                method,
                host,
                port,
                path,
                scheme,
                status,
                content_type,
                ..
            } => {
                let answer = HttpResponse {
                    status: Some(i64::from(*status)),
                    body_type: content_type.as_ref().map(media_type),
                    body_state: Some(Cow::Borrowed("unseen")),
                    ..HttpResponse::EMPTY
                };
                Seen::Answer(http(method, host, *port, path, *scheme), answer)
            }
            Act::ModelRequest(call) => {
                let request = ModelRequest {
                    provider: Some(Cow::Borrowed(&call.provider)),
                    model: call.model.as_ref().map(text),
                    tools: Some(call.tools.iter().map(text).collect()),
                    tokens: number(call.most_tokens),
                    text: None,
                };
                Seen::Call(session(&call.session), request)
            }
            Act::ModelResponse(answer) => {
                let request = ModelRequest {
                    provider: Some(Cow::Borrowed(&answer.provider)),
                    model: answer.model.as_ref().map(text),
                    ..ModelRequest::EMPTY
                };
                let names = answer.tools.iter().filter_map(|tool| tool.name.as_ref());
                let response = ModelResponse {
                    model: answer.model.as_ref().map(text),
                    tools: Some(names.map(text).collect()),
                    input_tokens: number(answer.input),
                    output_tokens: number(answer.output),
                    cached_tokens: number(answer.cached),
                    cost: answer.cost_nanousd.map(dollars),
                    stop_reason: answer.stop.as_ref().map(text),
                    text: None,
                };
                Seen::Said(session(&answer.session), request, response)
            }
            Act::Dns {
                qname,
                qtype,
                transport,
            } => Seen::Dns(dns(qname, qtype, *transport)),
            Act::DnsResponse {
                qname,
                qtype,
                transport,
                code,
                answers,
                ttl,
            } => {
                let response = DnsResponse {
                    code: Some(Cow::Borrowed(code)),
                    answers: Some(answers.iter().map(text).collect()),
                    ttl: ttl.map(i64::from),
                };
                Seen::DnsAnswer(dns(qname, qtype, *transport), response)
            }
            Act::Connect {
                host,
                address,
                port,
                transport,
                ..
            } => {
                let address = address.map(|ip| ip.to_string());
                Seen::Socket(socket(host, address, *port, *transport))
            }
            Act::ExecStart { argv, cwd } => Seen::Exec(exec(argv, cwd, "command")),
            Act::Enter { argv, cwd, .. } => Seen::Exec(exec(argv, cwd, "enter")),
            Act::Executed { argv, cwd, .. } => Seen::Exec(exec(argv, cwd, "child")),
            Act::Write { operation, path } => Seen::File(file(operation, path)),
            _ => return None,
        };
        let common = Common {
            event_type: Some(Cow::Borrowed(event_type.name())),
            ..Common::EMPTY
        };
        Some(Self { common, family })
    }

    /// Whether no boundary of this version tells a field, though it tells events that could have it:
    /// what asks for it is for recorded events of others and for boundaries to come.
    #[must_use]
    pub fn never_tells(on: EventType, field: Field) -> bool {
        let told = matches!(
            on,
            EventType::HttpRequest
                | EventType::HttpResponse
                | EventType::ModelRequest
                | EventType::ModelResponse
                | EventType::DnsRequest
                | EventType::DnsResponse
                | EventType::Socket
                | EventType::ProcessExec
                | EventType::File
        );
        told && matches!(
            field,
            Field::CommonPid
                | Field::CommonPpid
                | Field::CommonExecutable
                | Field::CommonArgv
                | Field::CommonCwd
                | Field::CommonLabels
                | Field::ExecParent
                | Field::FileSize
        )
    }

    /// The fields of an event that a session recorded; none where no rule is about such acts.
    #[must_use]
    pub fn of_event(event: &'a Event, session: &'a str) -> Option<Self> {
        let mut projection = Self::of(&event.act)?;
        projection.common.id = i64::try_from(event.id).ok();
        projection.common.session = Some(Cow::Borrowed(session));
        projection.common.time = i64::try_from(event.time_ns).ok().map(Time);
        Some(projection)
    }

    /// The event as a rule sees it.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        let of = |event_type| Subject {
            common: Some(&self.common),
            ..Subject::new(event_type)
        };
        match &self.family {
            Seen::Http(http) => Subject {
                http_request: Some(http),
                ..of(EventType::HttpRequest)
            },
            Seen::Answer(request, response) => Subject {
                http_request: Some(request),
                http_response: Some(response),
                ..of(EventType::HttpResponse)
            },
            Seen::Call(session, request) => Subject {
                model_session: Some(session),
                model_request: Some(request),
                ..of(EventType::ModelRequest)
            },
            Seen::Said(session, request, response) => Subject {
                model_session: Some(session),
                model_request: Some(request),
                model_response: Some(response),
                ..of(EventType::ModelResponse)
            },
            Seen::Dns(dns) => Subject {
                dns_request: Some(dns),
                ..of(EventType::DnsRequest)
            },
            Seen::DnsAnswer(dns, response) => Subject {
                dns_request: Some(dns),
                dns_response: Some(response),
                ..of(EventType::DnsResponse)
            },
            Seen::Exec(exec) => Subject {
                process_exec: Some(exec),
                ..of(EventType::ProcessExec)
            },
            Seen::File(file) => Subject {
                file: Some(file),
                ..of(EventType::File)
            },
            Seen::Socket(socket) => Subject {
                socket: Some(socket),
                ..of(EventType::Socket)
            },
        }
    }

    /// The event as a line of a corpus, which [`super::Record::read`] reads.
    #[must_use]
    pub fn to_line(&self) -> String {
        crate::json::of(&super::record::to_json(&self.subject()))
    }
}

fn http<'a>(
    method: &'a Text,
    name: &'a Text,
    port: u16,
    path: &'a Text,
    scheme: Scheme,
) -> HttpRequest<'a> {
    let host = host(name);
    let (path, query) = match text(path) {
        Cow::Borrowed(whole) => match whole.split_once('?') {
            Some((path, query)) => (Cow::Borrowed(path), Some(Cow::Borrowed(query))),
            None => (Cow::Borrowed(whole), None),
        },
        Cow::Owned(whole) => match whole.split_once('?') {
            Some((path, query)) => (
                Cow::Owned(path.to_owned()),
                Some(Cow::Owned(query.to_owned())),
            ),
            None => (Cow::Owned(whole), None),
        },
    };
    let shown = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_string(),
    };
    let port_text = if port == scheme.port() {
        String::new()
    } else {
        format!(":{port}")
    };
    let after = query
        .as_ref()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    HttpRequest {
        method: Some(text(method)),
        scheme: Some(Cow::Borrowed(scheme.name())),
        url: Some(Cow::Owned(format!(
            "{}://{shown}{port_text}{path}{after}",
            scheme.name()
        ))),
        host: Some(host),
        port: Some(i64::from(port)),
        path: Some(path),
        query,
        body_state: Some(Cow::Borrowed("unseen")),
        ..HttpRequest::EMPTY
    }
}

fn number(of: Option<u64>) -> Option<i64> {
    of.map(|n| i64::try_from(n).unwrap_or(i64::MAX))
}

#[allow(
    clippy::cast_precision_loss,
    reason = "nobody pays so much that a billionth of a dollar of it counts"
)]
fn dollars(nanousd: u64) -> f64 {
    nanousd as f64 / 1e9
}

fn session(totals: &ModelTotals) -> ModelSession<'_> {
    ModelSession {
        cost: Some(dollars(totals.cost_nanousd)),
        calls: number(Some(totals.calls)),
        tokens: number(Some(totals.tokens)),
        model: totals.model.as_ref().map(text),
    }
}

/// A media type without its parameters, in lower case (RFC 9110 §8.3.1).
fn media_type(value: &Text) -> Cow<'_, str> {
    match lower(text(value)) {
        Cow::Borrowed(value) => Cow::Borrowed(essence(value)),
        Cow::Owned(value) => Cow::Owned(essence(&value).to_owned()),
    }
}

fn essence(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

fn dns<'a>(qname: &'a Text, qtype: &'a str, by: Transport) -> DnsRequest<'a> {
    let name = host(qname);
    let entropy = name.split('.').map(entropy).fold(0.0, f64::max);
    let length = name.split('.').map(|label| label.chars().count()).max();
    DnsRequest {
        label_entropy: Some(entropy),
        label_length: length.and_then(|n| i64::try_from(n).ok()),
        qname: Some(name),
        qtype: Some(Cow::Borrowed(qtype)),
        transport: Some(transport(by)),
    }
}

fn socket<'a>(name: &'a Text, address: Option<String>, port: u16, by: Transport) -> SocketUse<'a> {
    let host = host(name);
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    SocketUse {
        address: match is_address {
            true => Some(host.clone()),
            false => address.map(Cow::Owned),
        },
        host: (!is_address).then_some(host),
        port: Some(i64::from(port)),
        transport: Some(transport(by)),
    }
}

fn exec<'a>(argv: &'a [Text], cwd: &'a Text, class: &'static str) -> ProcessExec<'a> {
    let words: Vec<_> = argv.iter().map(text).collect();
    ProcessExec {
        executable: Some(words.first().cloned().unwrap_or_default()),
        command: Some(Cow::Owned(words.join(" "))),
        argv: Some(words),
        cwd: Some(text(cwd)),
        class: Some(Cow::Borrowed(class)),
        parent: None,
    }
}

fn file<'a>(operation: &'a str, path: &'a Text) -> FileAccess<'a> {
    let path = text(path);
    let last = |path: &str| {
        path.trim_end_matches('/')
            .rsplit('/')
            .next()
            .map(str::to_owned)
    };
    let name = match &path {
        Cow::Borrowed(path) => path
            .trim_end_matches('/')
            .rsplit('/')
            .next()
            .map(Cow::Borrowed),
        Cow::Owned(path) => last(path).map(Cow::Owned),
    };
    let ext = name.as_ref().and_then(|name| {
        let (stem, ext) = name.rsplit_once('.')?;
        (!stem.is_empty() && !ext.is_empty()).then(|| Cow::Owned(ext.to_ascii_lowercase()))
    });
    FileAccess {
        operation: Some(Cow::Borrowed(operation)),
        name,
        ext,
        path: Some(path),
        size: None,
    }
}

/// The Shannon entropy of a text in bits per character.
#[must_use]
#[allow(
    clippy::cast_precision_loss,
    reason = "a text has fewer than 2^52 characters"
)]
pub fn entropy(text: &str) -> f64 {
    let mut low = [0u32; 128];
    let mut high = std::collections::BTreeMap::<char, u32>::new();
    let mut total = 0u32;
    for c in text.chars() {
        total = total.saturating_add(1);
        match low.get_mut(c as usize) {
            Some(count) => *count += 1,
            None => *high.entry(c).or_default() += 1,
        }
    }
    if total == 0 {
        return 0.0;
    }
    let total = f64::from(total);
    let counts = low.iter().chain(high.values()).filter(|count| **count > 0);
    let bits: f64 = counts
        .map(|count| f64::from(*count) / total)
        .map(|p| -p * p.log2())
        .sum();
    bits.abs()
}
