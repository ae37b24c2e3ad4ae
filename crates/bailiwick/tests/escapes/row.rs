//! What one row of the table says.

use crate::field::Field;
use std::io;

/// Who starts the sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    User,
    Root,
}

/// Where it is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// A machine that gives every layer.
    Full,
    /// One that gives no namespaces.
    Bare,
    /// A container as container engines make them by default.
    Container,
}

impl Who {
    pub(crate) const ALL: [Self; 2] = [Self::User, Self::Root];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Root => "root",
        }
    }
}

impl Mode {
    pub(crate) const ALL: [Self; 3] = [Self::Full, Self::Bare, Self::Container];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Bare => "bare",
            Self::Container => "container",
        }
    }
}

/// What is expected inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// It is stopped with one of these: names of errors, `nothing` (it seems to succeed, and has no
    /// effect), a signal, `ended` (the run is ended).
    Held(&'static str),
    /// It is not stopped, and why.
    Open(&'static str),
}

/// How an act succeeds outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// As whoever starts the sandbox.
    Plain,
    /// As root, or as a user in namespaces of his own.
    Privileged,
    /// As root alone: the kernel refuses it to ordinary users anywhere.
    OfRoot,
}

/// In what company an act is tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Group {
    /// With others, one after the other, each in a process of its own.
    Together,
    /// In a sandbox of its own.
    Alone,
    /// In a sandbox of its own that has a terminal.
    Terminal,
    /// In a sandbox of its own with these limits.
    Limited(&'static str),
}

/// A test build without these layers, in which the act succeeds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    pub(crate) who: Who,
    pub(crate) mode: Mode,
    pub(crate) without: &'static str,
}

/// Shown for the ordinary user on a machine with every layer.
pub(crate) const fn user(without: &'static str) -> Shown {
    shown(Who::User, Mode::Full, without)
}

/// Shown for root on a machine with every layer.
pub(crate) const fn root(without: &'static str) -> Shown {
    shown(Who::Root, Mode::Full, without)
}

/// Shown for the ordinary user in a container.
pub(crate) const fn container(without: &'static str) -> Shown {
    shown(Who::User, Mode::Container, without)
}

/// Shown for the ordinary user on a machine without namespaces.
pub(crate) const fn bare(without: &'static str) -> Shown {
    shown(Who::User, Mode::Bare, without)
}

/// Shown for root on a machine without namespaces.
pub(crate) const fn bare_root(without: &'static str) -> Shown {
    shown(Who::Root, Mode::Bare, without)
}

const fn shown(who: Who, mode: Mode, without: &'static str) -> Shown {
    Shown { who, mode, without }
}

/// An escape: an act that would be one if it succeeded.
pub(crate) struct Row {
    pub(crate) id: &'static str,
    /// The act, as a sentence without its subject.
    pub(crate) what: &'static str,
    pub(crate) act: fn(&Field) -> io::Result<()>,
    /// Whether it reached the host, seen from there; the act's own word where there is none.
    pub(crate) effect: Option<fn(&Field) -> bool>,
    pub(crate) group: Group,
    /// Where the layers that stop it were taken away, and it succeeded. Several layers in one build:
    /// each of them stops it alone.
    pub(crate) shown: &'static [Shown],
    /// How it succeeds outside.
    pub(crate) control: Control,
    /// Whether what it uses can be prepared by root alone.
    pub(crate) planted: bool,
    pub(crate) full: Expect,
    pub(crate) bare: Expect,
    /// What differs from `bare`, where there are no namespaces either or root starts it.
    pub(crate) but: Vec<(Option<Who>, Mode, Expect)>,
}

/// A row that has yet to say what stops it.
pub(crate) fn row(id: &'static str, what: &'static str, act: fn(&Field) -> io::Result<()>) -> Row {
    Row {
        id,
        what,
        act,
        effect: None,
        group: Group::Together,
        shown: &[],
        control: Control::Plain,
        planted: false,
        full: Expect::Held(""),
        bare: Expect::Held(""),
        but: Vec::new(),
    }
}

impl Row {
    pub(crate) fn effect(mut self, effect: fn(&Field) -> bool) -> Self {
        self.effect = Some(effect);
        self
    }

    pub(crate) fn group(mut self, group: Group) -> Self {
        self.group = group;
        self
    }

    pub(crate) fn shown(mut self, shown: &'static [Shown]) -> Self {
        self.shown = shown;
        self
    }

    pub(crate) fn privileged(mut self) -> Self {
        self.control = Control::Privileged;
        self
    }

    pub(crate) fn of_root(mut self) -> Self {
        self.control = Control::OfRoot;
        self
    }

    pub(crate) fn planted(mut self) -> Self {
        self.planted = true;
        self
    }

    pub(crate) fn full(mut self, words: &'static str) -> Self {
        self.full = Expect::Held(words);
        self
    }

    pub(crate) fn bare(mut self, words: &'static str) -> Self {
        self.bare = Expect::Held(words);
        self
    }

    pub(crate) fn bare_open(mut self, why: &'static str) -> Self {
        self.bare = Expect::Open(why);
        self
    }

    pub(crate) fn container(mut self, words: &'static str) -> Self {
        self.but.push((None, Mode::Container, Expect::Held(words)));
        self
    }

    /// In a container that root has started it in, stopped with these words.
    pub(crate) fn root_container(mut self, words: &'static str) -> Self {
        let root = Some(Who::Root);
        self.but.push((root, Mode::Container, Expect::Held(words)));
        self
    }

    /// Where root starts it without namespaces, not stopped.
    pub(crate) fn bare_root_open(mut self, why: &'static str) -> Self {
        for mode in [Mode::Bare, Mode::Container] {
            self.but.push((Some(Who::Root), mode, Expect::Open(why)));
        }
        self
    }

    /// What is expected in a cell.
    pub(crate) fn expected(&self, who: Who, mode: Mode) -> Expect {
        let of_cell = self
            .but
            .iter()
            .find(|(only, of, _)| *of == mode && only.is_none_or(|only| only == who));
        match (of_cell, mode) {
            (Some((.., expect)), _) => *expect,
            (None, Mode::Full) => self.full,
            (None, Mode::Bare | Mode::Container) => self.bare,
        }
    }
}
