//! What a sandbox's gate is told beside its guard.

use crate::outer_proxy::OuterProxy;
use crate::secrets::Secret;
use crate::secure::Inspection;

/// What a gate needs for one session.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// By what it looks into TLS; none where programs trust nobody for that.
    pub inspection: Option<Inspection>,
    /// Secrets that programs use without having them.
    pub secrets: Vec<Secret>,
    /// The proxy through which the host reaches others; none where it needs none.
    pub outer_proxy: Option<OuterProxy>,
}
