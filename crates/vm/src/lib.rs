//! The micro-VM backend.

pub mod image;
