//! PID 1 of a guest.
fn main() {}
