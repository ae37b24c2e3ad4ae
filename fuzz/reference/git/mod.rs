//! What git reads in a git folder, written anew from its sources (2.39), so that no idea of ours is in it.

pub mod index;
pub mod made;
pub mod names;
pub mod places;
pub mod state;
