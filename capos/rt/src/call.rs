//! Calls.

use crate::ring;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use bailiwick_capos_core::message::{Builder, Message};
use bailiwick_capos_core::ring::{
    Cqe, MessageHeader, Sqe, Transfer, TransferResult, cqe_flag, error, flag, op,
};
use bailiwick_capos_core::table::CapId;

/// Bytes that a result has room for.
const ROOM: usize = 8192;

/// What went wrong, by the code of the ABI; with the kind of the exception where there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// One of `core_::ring::error`.
    pub code: i32,
    /// The exception's kind.
    pub exception: Option<u16>,
}

/// A capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cap(pub CapId);

/// What a call gave.
#[derive(Debug)]
pub struct Answer {
    /// The message, which may be none at all.
    pub bytes: Vec<u8>,
    /// The capabilities.
    pub caps: Vec<Cap>,
}

impl Answer {
    /// A number of 64 bits in the message's root.
    pub fn u64(&self, at: usize) -> u64 {
        let message = Message::parse(&self.bytes);
        message
            .ok()
            .and_then(|m| Some(m.root().ok()?.u64(at)))
            .unwrap_or_default()
    }

    /// Bytes, by their pointer in the root.
    pub fn data(&self, at: usize) -> Vec<u8> {
        let message = Message::parse(&self.bytes);
        let data = message
            .ok()
            .and_then(|m| Some(m.root().ok()?.data(at).ok()?.to_vec()));
        data.unwrap_or_default()
    }

    /// A text, by its pointer in the root.
    pub fn text(&self, at: usize) -> alloc::string::String {
        let message = Message::parse(&self.bytes);
        let text = message
            .ok()
            .and_then(|m| Some(m.root().ok()?.text(at).ok()?.into()));
        text.unwrap_or_default()
    }
}

/// A call under way. The kernel reads and writes its buffers until it is complete: those of one that nobody
/// waits for any more are never given back.
#[must_use]
pub struct Call {
    number: u64,
    params: Box<[u8]>,
    result: Box<[u8]>,
    is_complete: bool,
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_complete && ring::find(self.number).is_none() {
            core::mem::forget(core::mem::take(&mut self.params));
            core::mem::forget(core::mem::take(&mut self.result));
        }
    }
}

fn answer(cqe: &Cqe, result: &[u8]) -> Result<Answer, Failed> {
    let Ok(length) = usize::try_from(cqe.result) else {
        let message = Message::parse(result).ok();
        let kind = message.and_then(|message| Some(message.root().ok()?.u16(0)));
        return Err(Failed {
            code: cqe.result,
            exception: kind.filter(|_| cqe.result == error::EXCEPTION),
        });
    };
    let (bytes, rest) = result.split_at_checked(length).unwrap_or((result, &[]));
    let count = match cqe.flags & cqe_flag::CAPS {
        0 => 0,
        _ => usize::from(cqe.cap_count),
    };
    let (records, _) = rest.as_chunks::<{ TransferResult::SIZE }>();
    let caps = records
        .iter()
        .take(count)
        .map(|record| Cap(TransferResult::from_bytes(record).cap_id));
    Ok(Answer {
        bytes: bytes.to_vec(),
        caps: caps.collect(),
    })
}

impl Call {
    /// Waits for its answer.
    pub fn wait(mut self) -> Result<Answer, Failed> {
        answer(&self.completed(), &self.result)
    }

    /// Its answer, if it is there.
    pub fn poll(mut self) -> Result<Result<Answer, Failed>, Self> {
        match ring::find(self.number) {
            Some(cqe) => {
                self.is_complete = true;
                Ok(answer(&cqe, &self.result))
            }
            None => Err(self),
        }
    }

    /// Waits until it is complete.
    fn completed(&mut self) -> Cqe {
        let cqe = ring::wait(self.number);
        self.is_complete = true;
        cqe
    }
}

/// A call that was received.
#[derive(Debug)]
pub struct Received {
    /// Its number, to answer it by.
    pub call: u32,
    /// The caller's badge.
    pub badge: u64,
    /// The method.
    pub method: u16,
    /// The parameters.
    pub params: Vec<u8>,
    /// The capabilities.
    pub caps: Vec<Cap>,
}

impl Cap {
    /// Begins a call.
    pub fn begin(self, method: u16, params: &[u8], transfers: &[Transfer]) -> Call {
        self.submit(op::CALL, method, params, transfers, (0, 0, ROOM))
    }

    fn submit(
        self,
        opcode: u8,
        method: u16,
        params: &[u8],
        transfers: &[Transfer],
        (flags, call_id, room): (u8, u32, usize),
    ) -> Call {
        // Descriptors are aligned to 4 behind the parameters, whose length is a multiple of that here.
        let mut bytes = params.to_vec();
        let length = bytes.len();
        bytes.resize(length.next_multiple_of(8), 0);
        for transfer in transfers {
            bytes.extend_from_slice(&transfer.to_bytes());
        }
        let params: Box<[u8]> = bytes.into();
        let result: Box<[u8]> = vec![0; room].into();
        let sqe = Sqe {
            opcode,
            flags,
            method_id: method,
            cap_id: self.0,
            user_data: ring::number(),
            addr: if params.is_empty() {
                0
            } else {
                params.as_ptr() as u64
            },
            len: if transfers.is_empty() {
                length
            } else {
                length.next_multiple_of(8)
            } as u32,
            result_addr: if room == 0 { 0 } else { result.as_ptr() as u64 },
            result_len: room as u32,
            xfer_cap_count: transfers.len() as u16,
            call_id,
            ..Sqe::default()
        };
        while !ring::submit(&sqe) {
            crate::sys::enter(0, 0);
        }
        Call {
            number: sqe.user_data,
            params,
            result,
            is_complete: false,
        }
    }

    /// Calls a method and waits for its answer.
    pub fn call(self, method: u16, params: &[u8]) -> Result<Answer, Failed> {
        self.begin(method, params, &[]).wait()
    }

    /// Calls a method as the thread of this number, which has to be the caller's own: no other thread that
    /// enters the kernel takes the call for it.
    pub fn call_as(self, thread: u32, method: u16, params: &[u8]) -> Result<Answer, Failed> {
        self.submit(
            op::CALL,
            method,
            params,
            &[],
            (flag::THREAD_OWNED, thread, ROOM),
        )
        .wait()
    }

    /// Calls a method whose parameters are numbers of 64 bits.
    pub fn numbers(self, method: u16, numbers: &[u64]) -> Result<Answer, Failed> {
        self.call(method, &numbers_message(numbers))
    }

    /// Console: writes a line.
    pub fn write_line(self, line: &str) -> Result<(), Failed> {
        let mut builder = Builder::new(0, 1);
        let root = builder.root();
        builder.set_text(root, 0, line);
        self.call(1, &builder.finish()).map(drop)
    }

    /// Lets go of it.
    pub fn release(self) -> i32 {
        let sqe = Sqe {
            opcode: op::RELEASE,
            cap_id: self.0,
            user_data: ring::number(),
            ..Sqe::default()
        };
        ring::run(&sqe).result
    }

    /// Begins to receive a call.
    pub fn begin_receive(self) -> Call {
        self.submit(op::RECV, 0, &[], &[], (0, 0, ROOM))
    }

    /// Receives a call.
    pub fn receive(self) -> Result<Received, Failed> {
        self.receive_in(ROOM)
    }

    /// The same with room for so many bytes.
    pub fn receive_in(self, room: usize) -> Result<Received, Failed> {
        let mut receive = self.submit(op::RECV, 0, &[], &[], (0, 0, room));
        let cqe = receive.completed();
        let answer = answer(&cqe, &receive.result)?;
        let header = answer.bytes.first_chunk::<{ MessageHeader::SIZE }>();
        let header = header.map(MessageHeader::from_bytes).unwrap_or_default();
        Ok(Received {
            call: cqe.call_id,
            badge: cqe.badge,
            method: header.method_id,
            params: answer
                .bytes
                .get(MessageHeader::SIZE..)
                .unwrap_or_default()
                .to_vec(),
            caps: answer.caps,
        })
    }

    /// Answers a call that was received by this endpoint.
    pub fn answer(self, call: u32, bytes: &[u8], transfers: &[Transfer]) -> i32 {
        let mut call = self.submit(op::RETURN, 0, bytes, transfers, (0, call, 0));
        call.completed().result
    }

    /// Answers it by an exception.
    pub fn answer_exception(self, call: u32, bytes: &[u8]) -> i32 {
        let mut call = self.submit(op::RETURN, 0, bytes, &[], (flag::EXCEPTION, call, 0));
        call.completed().result
    }
}

/// A message whose root is numbers of 64 bits.
pub fn numbers_message(numbers: &[u64]) -> Vec<u8> {
    let mut builder = Builder::new(numbers.len() as u16, 0);
    let root = builder.root();
    for (at, number) in numbers.iter().enumerate() {
        builder.set_u64(root, 8 * at, *number);
    }
    builder.finish()
}
