//! What a program holds: an object, the interface by which it may use it, and how it may pass it on. There
//! is no list of rights beside it: less authority is another interface or another facet.

use crate::call::Call;
use crate::objects::endpoint::Endpoint;
use crate::objects::memory_object::Memory;
use crate::process::Process;
use alloc::sync::Arc;

/// How a capability may be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passing {
    /// Not at all.
    Never,
    /// Copied, and moved.
    Copy,
}

/// Which side of an endpoint is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Facet {
    /// The only one, or the side that serves.
    Whole,
    /// The side that calls.
    Client,
    /// The side that calls, of who had the endpoint made for a process: it says who else calls, by badges.
    Maker,
}

/// An object of the kernel's.
pub(crate) trait Object: Send + Sync {
    /// The interface that it has.
    fn interface(&self) -> u64;

    /// What people call it.
    fn label(&self) -> &'static str;

    /// Answers a call, now or later.
    fn call(&self, call: Call);

    /// It as an endpoint, if it is one.
    fn as_endpoint(&self) -> Option<&Endpoint> {
        None
    }

    /// The key of a word that is parked on by it, if it allows that.
    fn park_key(&self, _process: &Process, _address: u64) -> Option<crate::park::Key> {
        None
    }

    /// Whether a method gives back what somebody has; such calls are made also where the kernel has no room
    /// for others.
    fn takes_back(&self, _method: u16) -> bool {
        false
    }

    /// Somebody holds it from now on. The holder's table is locked meanwhile.
    fn held(&self, _facet: Facet) {}

    /// A process ends that waits for answers of it, whether it still holds it or not.
    fn forget(&self, _process: &Arc<Process>) {}

    /// Somebody holds it no longer.
    fn released(&self, _facet: Facet, _by: &Arc<Process>) {}

    /// It was taken away from somebody, who is to have nothing of it any more.
    fn revoked(&self, _from: &Arc<Process>) {}

    /// The frames that it stands for, if it does.
    fn as_memory(&self) -> Option<&Arc<Memory>> {
        None
    }
}

/// A capability in a program's table.
#[derive(Clone)]
pub(crate) struct Hold {
    pub(crate) object: Arc<dyn Object>,
    pub(crate) badge: u64,
    pub(crate) passing: Passing,
    pub(crate) facet: Facet,
}

impl Hold {
    /// One that is not passed on.
    pub(crate) fn own(object: Arc<dyn Object>) -> Self {
        Self {
            object,
            badge: 0,
            passing: Passing::Never,
            facet: Facet::Whole,
        }
    }

    /// One that may be copied.
    pub(crate) fn open(object: Arc<dyn Object>) -> Self {
        Self {
            passing: Passing::Copy,
            ..Self::own(object)
        }
    }

    /// The interface by which it is held.
    pub(crate) fn interface(&self) -> u64 {
        self.object.interface()
    }

    /// Whether calls are received by it.
    pub(crate) fn serves(&self) -> bool {
        self.facet == Facet::Whole
    }
}
