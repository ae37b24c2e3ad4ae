//! The protocol between the host and a guest.
