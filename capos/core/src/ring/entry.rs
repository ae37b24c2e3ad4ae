//! The entries of the queues, and what a well-formed submission is.
//!
//! Decision: one table says which fields each operation uses. What is not in the table is zero or
//! the submission is refused, so a new operation cannot forget a field.

use super::{DISCLOSURE, error, flag, op};
use crate::bytes::{put, u16_at, u32_at, u64_at};

/// A submission: what a process asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sqe {
    /// The operation, of [`op`].
    pub opcode: u8,
    /// Flags, of [`flag`].
    pub flags: u8,
    /// The method's ordinal.
    pub method_id: u16,
    /// The capability.
    pub cap_id: u32,
    /// Comes back in the completion.
    pub user_data: u64,
    /// Address of the parameters, or of the word for parking.
    pub addr: u64,
    /// Bytes of the parameters; the expected word of PARK; the most waiters that UNPARK wakes.
    pub len: u32,
    /// Bytes that the result may have.
    pub result_len: u32,
    /// Address for the result.
    pub result_addr: u64,
    /// The RECV that CANCEL means; nanoseconds that PARK waits at most.
    pub pipeline_dep: u64,
    /// Reserved.
    pub pipeline_field: u16,
    /// Transfer descriptors behind the parameters.
    pub xfer_cap_count: u16,
    /// The call that RETURN answers; the thread of a submission that a thread owns.
    pub call_id: u32,
    /// What a CALL lets be told about its session, of [`DISCLOSURE`].
    pub session_disclosure: u64,
}

/// The fields that an operation may use. `opcode` and `user_data` always may be used.
struct Uses {
    flags: u8,
    method: bool,
    cap: bool,
    params: bool,
    result: bool,
    dependency: bool,
    transfers: bool,
    call: bool,
    disclosure: u64,
}

const NOTHING: Uses = Uses {
    flags: 0,
    method: false,
    cap: false,
    params: false,
    result: false,
    dependency: false,
    transfers: false,
    call: false,
    disclosure: 0,
};

impl Sqe {
    /// Reads the 64 bytes of the ring.
    pub fn from_bytes(bytes: &[u8; 64]) -> Self {
        Self {
            opcode: bytes[0],
            flags: bytes[1],
            method_id: u16_at(bytes, 2),
            cap_id: u32_at(bytes, 4),
            user_data: u64_at(bytes, 8),
            addr: u64_at(bytes, 16),
            len: u32_at(bytes, 24),
            result_len: u32_at(bytes, 28),
            result_addr: u64_at(bytes, 32),
            pipeline_dep: u64_at(bytes, 40),
            pipeline_field: u16_at(bytes, 48),
            xfer_cap_count: u16_at(bytes, 50),
            call_id: u32_at(bytes, 52),
            session_disclosure: u64_at(bytes, 56),
        }
    }

    /// The 64 bytes for the ring.
    pub fn to_bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[0] = self.opcode;
        bytes[1] = self.flags;
        put(&mut bytes, 2, &self.method_id.to_le_bytes());
        put(&mut bytes, 4, &self.cap_id.to_le_bytes());
        put(&mut bytes, 8, &self.user_data.to_le_bytes());
        put(&mut bytes, 16, &self.addr.to_le_bytes());
        put(&mut bytes, 24, &self.len.to_le_bytes());
        put(&mut bytes, 28, &self.result_len.to_le_bytes());
        put(&mut bytes, 32, &self.result_addr.to_le_bytes());
        put(&mut bytes, 40, &self.pipeline_dep.to_le_bytes());
        put(&mut bytes, 48, &self.pipeline_field.to_le_bytes());
        put(&mut bytes, 50, &self.xfer_cap_count.to_le_bytes());
        put(&mut bytes, 52, &self.call_id.to_le_bytes());
        put(&mut bytes, 56, &self.session_disclosure.to_le_bytes());
        bytes
    }

    /// Whether the submission is well-formed; if not, what its completion says.
    ///
    /// This looks at the submission alone: capabilities and addresses are the kernel's to check.
    /// [`op::PARK_BENCH`] is refused; a kernel for measuring asks [`Sqe::check_measuring`].
    pub fn check(&self) -> Result<(), i32> {
        let uses = match self.opcode {
            op::CALL => Uses {
                flags: flag::THREAD_OWNED,
                method: true,
                cap: true,
                params: true,
                result: true,
                transfers: true,
                call: true,
                disclosure: DISCLOSURE,
                ..NOTHING
            },
            op::RETURN => Uses {
                flags: flag::EXCEPTION,
                cap: true,
                params: true,
                transfers: true,
                call: true,
                ..NOTHING
            },
            op::RECV => Uses {
                cap: true,
                result: true,
                ..NOTHING
            },
            op::RELEASE => Uses {
                cap: true,
                ..NOTHING
            },
            op::NOP => NOTHING,
            op::CANCEL => Uses {
                cap: true,
                dependency: true,
                ..NOTHING
            },
            op::PARK => Uses {
                flags: flag::THREAD_OWNED,
                cap: true,
                params: true,
                dependency: true,
                call: true,
                ..NOTHING
            },
            op::UNPARK => Uses {
                cap: true,
                params: true,
                ..NOTHING
            },
            op::FINISH => return Err(error::UNSUPPORTED),
            _ => return Err(error::INVALID),
        };
        let owned = self.flags & flag::THREAD_OWNED != 0;
        let consistent = match self.opcode {
            op::CALL => owned == (self.call_id != 0),
            op::RETURN => self.flags & flag::EXCEPTION == 0 || self.xfer_cap_count == 0,
            op::CANCEL => self.pipeline_dep != 0,
            op::PARK => owned && self.call_id != 0,
            _ => true,
        };
        if consistent && self.only(&uses) {
            Ok(())
        } else {
            Err(error::INVALID)
        }
    }

    /// The same in a kernel for measuring, where [`op::PARK_BENCH`] is an operation.
    pub fn check_measuring(&self) -> Result<(), i32> {
        if self.opcode != op::PARK_BENCH {
            return self.check();
        }
        let uses = Uses {
            cap: true,
            method: true,
            params: true,
            ..NOTHING
        };
        let known = self.method_id <= 1 && self.addr != 0;
        if known && self.only(&uses) {
            Ok(())
        } else {
            Err(error::INVALID)
        }
    }

    fn only(&self, uses: &Uses) -> bool {
        self.flags & !uses.flags == 0
            && (uses.method || self.method_id == 0)
            && (uses.cap || self.cap_id == 0)
            && (uses.params || (self.addr == 0 && self.len == 0))
            && (uses.result || (self.result_addr == 0 && self.result_len == 0))
            && (uses.dependency || self.pipeline_dep == 0)
            && self.pipeline_field == 0
            && (uses.transfers || self.xfer_cap_count == 0)
            && (uses.call || self.call_id == 0)
            && self.session_disclosure & !uses.disclosure == 0
    }
}

/// A completion: what the kernel answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cqe {
    /// The submission's.
    pub user_data: u64,
    /// Bytes of the result or what the operation counts; below zero one of [`error`].
    pub result: i32,
    /// Flags, of [`cqe_flag`](super::cqe_flag).
    pub flags: u16,
    /// Records of capabilities behind the result.
    pub cap_count: u16,
    /// The badge of the capability that a call came through.
    pub badge: u64,
    /// The call that a RECV received.
    pub call_id: u32,
}

impl Cqe {
    /// Reads the 32 bytes of the ring. The last four are reserved and not looked at.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self {
            user_data: u64_at(bytes, 0),
            result: u32_at(bytes, 8).cast_signed(),
            flags: u16_at(bytes, 12),
            cap_count: u16_at(bytes, 14),
            badge: u64_at(bytes, 16),
            call_id: u32_at(bytes, 24),
        }
    }

    /// The 32 bytes for the ring.
    pub fn to_bytes(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        put(&mut bytes, 0, &self.user_data.to_le_bytes());
        put(&mut bytes, 8, &self.result.to_le_bytes());
        put(&mut bytes, 12, &self.flags.to_le_bytes());
        put(&mut bytes, 14, &self.cap_count.to_le_bytes());
        put(&mut bytes, 16, &self.badge.to_le_bytes());
        put(&mut bytes, 24, &self.call_id.to_le_bytes());
        bytes
    }
}

/// What stands before the parameters in the buffer of a RECV. Nothing is told about the caller's
/// session, which this kernel does not have: those 40 bytes are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageHeader {
    /// The interface that was called.
    pub interface_id: u64,
    /// The method's ordinal.
    pub method_id: u16,
    /// Reserved.
    pub flags: u16,
    /// Bytes of the parameters that follow.
    pub params_len: u32,
}

impl MessageHeader {
    /// Bytes of a header.
    pub const SIZE: usize = 56;

    /// Reads a header; the session is not looked at.
    pub fn from_bytes(bytes: &[u8; 56]) -> Self {
        Self {
            interface_id: u64_at(bytes, 0),
            method_id: u16_at(bytes, 8),
            flags: u16_at(bytes, 10),
            params_len: u32_at(bytes, 12),
        }
    }

    /// The bytes of the header.
    pub fn to_bytes(&self) -> [u8; 56] {
        let mut bytes = [0; 56];
        put(&mut bytes, 0, &self.interface_id.to_le_bytes());
        put(&mut bytes, 8, &self.method_id.to_le_bytes());
        put(&mut bytes, 10, &self.flags.to_le_bytes());
        put(&mut bytes, 12, &self.params_len.to_le_bytes());
        bytes
    }
}
