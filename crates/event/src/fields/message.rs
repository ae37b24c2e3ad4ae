//! What a boundary sees of an HTTP message beside what it records. Headers and bodies hold
//! credentials: rules are asked about them, and no row keeps them.

use super::{Headers, HttpRequest, HttpResponse, ModelRequest, ModelResponse, Subject};
use std::borrow::Cow;

/// How much of a body was looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyState {
    /// There is none.
    None,
    /// All of it.
    Captured,
    /// The part that the policy lets the gate hold.
    Truncated,
    /// Nothing of it.
    #[default]
    Unseen,
}

impl BodyState {
    /// Its name in a rule.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Captured => "captured",
            Self::Truncated => "truncated",
            Self::Unseen => "unseen",
        }
    }
}

/// A message's body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenBody<'a> {
    /// How much of it was looked at.
    pub state: BodyState,
    /// What was looked at, as text; codings such as gzip are undone.
    pub text: Cow<'a, str>,
    /// The media type, in lower case, without parameters.
    pub content_type: Option<Cow<'a, str>>,
    /// Bytes as they were sent, where all of them came.
    pub size: Option<i64>,
}

/// A request or an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message<'a> {
    /// None where the boundary does not see them.
    pub headers: Option<Headers<'a>>,
    /// The body.
    pub body: SeenBody<'a>,
}

/// What is seen of an exchange.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange<'a> {
    /// The request.
    pub request: Message<'a>,
    /// The answer; empty where there is none yet.
    pub response: Message<'a>,
    /// The text of a call to a language model, or of its answer.
    pub model_text: Option<Cow<'a, str>>,
}

/// The families of an exchange with what was seen of it.
#[derive(Clone, Debug)]
pub struct Completed<'a> {
    request: Option<HttpRequest<'a>>,
    response: Option<HttpResponse<'a>>,
    call: Option<ModelRequest<'a>>,
    answer: Option<ModelResponse<'a>>,
}

impl<'a> Exchange<'a> {
    /// The event's families with what was seen.
    #[must_use]
    pub fn complete(self, subject: &Subject<'a>) -> Completed<'a> {
        let request = subject.http_request.map(|request| {
            let body = body(self.request.body);
            HttpRequest {
                headers: self.request.headers,
                body_state: body.state,
                body_text: body.text,
                body_type: body.content_type,
                body_size: body.size,
                body_truncated: body.truncated,
                ..request.clone()
            }
        });
        let response = subject.http_response.map(|response| {
            let body = body(self.response.body);
            HttpResponse {
                headers: self.response.headers,
                body_state: body.state,
                body_text: body.text,
                body_type: body.content_type.or_else(|| response.body_type.clone()),
                body_size: body.size,
                body_truncated: body.truncated,
                ..response.clone()
            }
        });
        let (of_call, of_answer) = match subject.model_response {
            Some(_) => (None, self.model_text),
            None => (self.model_text, None),
        };
        let call = subject.model_request.map(|call| ModelRequest {
            text: of_call,
            ..call.clone()
        });
        let answer = subject.model_response.map(|answer| ModelResponse {
            text: of_answer,
            ..answer.clone()
        });
        Completed {
            request,
            response,
            call,
            answer,
        }
    }
}

impl Completed<'_> {
    /// The event with them.
    #[must_use]
    pub fn subject<'s>(&'s self, subject: &Subject<'s>) -> Subject<'s> {
        Subject {
            http_request: self.request.as_ref().or(subject.http_request),
            http_response: self.response.as_ref().or(subject.http_response),
            model_request: self.call.as_ref().or(subject.model_request),
            model_response: self.answer.as_ref().or(subject.model_response),
            ..*subject
        }
    }
}

struct Fields<'a> {
    state: Option<Cow<'a, str>>,
    text: Option<Cow<'a, str>>,
    content_type: Option<Cow<'a, str>>,
    size: Option<i64>,
    truncated: Option<bool>,
}

fn body(body: SeenBody<'_>) -> Fields<'_> {
    let seen = matches!(body.state, BodyState::Captured | BodyState::Truncated);
    Fields {
        state: Some(Cow::Borrowed(body.state.name())),
        text: seen.then_some(body.text),
        content_type: body.content_type,
        size: match body.state {
            BodyState::None => Some(0),
            _ => body.size,
        },
        truncated: match body.state {
            BodyState::None | BodyState::Captured => Some(false),
            BodyState::Truncated => Some(true),
            BodyState::Unseen => None,
        },
    }
}
