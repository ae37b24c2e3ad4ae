//! What a host sends to the guest's end of the channel, between acts of the guest's own: each frame
//! is taken, passed over or refused as a slow reading of the protocol says, in any pieces, and what
//! it may cost is bounded.
//! A guest is greeted again where its machine was restored; nothing of before is left then.
#![no_main]

#[path = "../reference/channel.rs"]
mod channel;
#[path = "../reference/pieces.rs"]
mod pieces;

use bailiwick_channel::Role;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| channel::check(Role::Guest, data));
