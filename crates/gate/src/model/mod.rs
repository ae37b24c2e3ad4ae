//! What the bytes of a call to a language model say.
//!
//! Decision: readers of bytes alone, without a socket or a clock, so that each can be tested with
//! any bytes, cut anywhere. A fact is reported where the bytes say it, once and whole; what was
//! said twice, was cut off or is no such figure is not known. Nobody is helped by a guess: a rule
//! or a bill that rests on one is wrong without a word.
//!
//! The threat: a request comes from a sandboxed program, an answer from whatever server it asked.
//! No bytes make a reader fail, remember without bound, or say what is not there.

mod answer;
mod answers;
mod documents;
mod each;
mod figure;
mod keys;
mod price;
mod provider;
mod request;
mod response;
mod sse;
mod text;
mod tree;
mod turn;
mod usage;

#[cfg(feature = "fuzzing")]
pub(crate) use sse::{Event, Sse};
pub(crate) use {
    answer::Answer,
    price::{cost, prices_date},
    provider::{ModelCall, has_model, recognise},
    request::{Question, read},
    response::Reader,
};
