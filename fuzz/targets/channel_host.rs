//! What a guest sends to the host's end of the channel, between acts of the host's own: each frame
//! is taken, passed over or refused as a slow reading of the protocol says, in any pieces, and what
//! it may cost is bounded.
#![no_main]

#[path = "../reference/channel.rs"]
mod channel;
#[path = "../reference/pieces.rs"]
mod pieces;

use bailiwick_channel::Role;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| channel::check(Role::Host, data));
