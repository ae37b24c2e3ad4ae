//! What a rule can ask of an event.
//!
//! Decision: every field is declared once, in [`table`]; the struct that a boundary fills, the
//! typed slot that a rule reads, the reader of recorded events, the JSON Schema, the completion
//! data and the reference in `docs/rules.md` all come from that line. A field that one of them
//! knows and another does not cannot exist.
//!
//! A rule reads the boundary's own struct in place ([`Subject::get`]): nothing is copied into a
//! context first.

mod headers;
mod keys;
mod message;
mod projection;
mod record;
mod schema;
mod slot;
mod subject;
mod table;

pub use headers::Headers;
pub use message::{BodyState, Completed, Exchange, Message, SeenBody};
pub use projection::{Projection, entropy};
pub use record::{Record, RecordError, RecordReader};
pub use schema::record_schema;
pub use slot::{FieldType, Slot};
pub use subject::Subject;
pub use table::{
    Common, DnsRequest, DnsResponse, EventType, Family, Field, FieldInfo, FileAccess, HttpRequest,
    HttpResponse, McpRequest, McpResponse, ModelRequest, ModelResponse, ModelSession, ProcessExec,
    SocketUse, Time,
};

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
