//! What a build tells whoever waits for it. It draws nothing: a terminal, a log and a service show
//! the same in different ways.

/// Something that happened in a build.
#[derive(Clone, Debug, PartialEq)]
pub enum Progress<'a> {
    /// A step begins: what it does, in a few words.
    Step(&'a str),
    /// The step goes on: how much of it is done, from 0 to 1, as well as that can be said.
    Done(f32),
    /// Something that stays true when the build is over.
    Note(&'a str),
}

/// Where it is told.
pub(super) type Tell<'a> = &'a mut dyn FnMut(Progress<'_>);
