//! The gate: the host-side network boundary.
//!
//! Decision: a sandbox has no network of its own. Every name that it looks up and every
//! connection that it opens ends here, on the host's side, becomes an act that the guard decides
//! and records, and only then is dialled by the gate itself. A program cannot leave by not
//! asking: there is no other way out, and no answer leaves before its act was decided.
//!
//! The gate has no opinion of its own about what is allowed; where it refuses without asking, the
//! bytes broke a protocol so that nobody could say what they mean.

mod accept;
mod asking;
mod body;
pub mod ca;
mod callers;
mod charset;
mod client_hello;
mod context;
pub mod datagram;
mod decider;
mod decode;
mod destination;
mod dial;
mod dns;
mod dns_forward;
mod dns_serve;
mod doors;
mod ending;
mod exchange;
mod expected;
mod filter;
mod forward;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod gate;
mod headers;
mod http1;
mod http2;
mod http_asked;
mod http_serve;
mod intercept;
mod keep;
mod looked;
mod model;
mod model_calls;
mod names;
mod opening;
mod outer_proxy;
mod pool;
mod prefixed;
mod proxy;
mod refusal;
mod relay;
mod resolver;
mod rewriting;
mod secret_use;
mod secrets;
mod secure;
mod settings;
mod share;
mod socket_address;
mod sockets;
mod socks;
mod steps;
mod taps;
mod transparent;
mod tunnel;
mod udp;
mod upstream;
mod wire;

#[cfg(test)]
mod testing;

pub use gate::Gate;
pub use names::{NAMESERVER_V4, NAMESERVER_V6};
pub use outer_proxy::OuterProxy;
pub use secrets::Secret;
pub use secure::Inspection;
pub use settings::Settings;
pub use sockets::{Call, Calls, Inside, IpFamily, PROXY_PORT, Sockets, Source};
