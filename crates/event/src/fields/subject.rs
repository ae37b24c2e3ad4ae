//! One event as a rule sees it: the structs that the boundary filled, by reference.

use super::{
    Common, DnsRequest, DnsResponse, EventType, FileAccess, HttpRequest, HttpResponse, McpRequest,
    McpResponse, ModelRequest, ModelResponse, ModelSession, ProcessExec, SocketUse,
};

/// An event's families. What the event does not have is none, and each of its fields is absent.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "each is the family of that name")]
pub struct Subject<'a> {
    pub event_type: EventType,
    pub common: Option<&'a Common<'a>>,
    pub http_request: Option<&'a HttpRequest<'a>>,
    pub http_response: Option<&'a HttpResponse<'a>>,
    pub dns_request: Option<&'a DnsRequest<'a>>,
    pub dns_response: Option<&'a DnsResponse<'a>>,
    pub mcp_request: Option<&'a McpRequest<'a>>,
    pub mcp_response: Option<&'a McpResponse<'a>>,
    pub model_session: Option<&'a ModelSession<'a>>,
    pub model_request: Option<&'a ModelRequest<'a>>,
    pub model_response: Option<&'a ModelResponse<'a>>,
    pub process_exec: Option<&'a ProcessExec<'a>>,
    pub file: Option<&'a FileAccess<'a>>,
    pub socket: Option<&'a SocketUse<'a>>,
}

impl Subject<'_> {
    /// An event of that type without any family yet.
    #[must_use]
    pub fn new(event_type: EventType) -> Self {
        Self {
            event_type,
            common: None,
            http_request: None,
            http_response: None,
            dns_request: None,
            dns_response: None,
            mcp_request: None,
            mcp_response: None,
            model_session: None,
            model_request: None,
            model_response: None,
            process_exec: None,
            file: None,
            socket: None,
        }
    }
}
