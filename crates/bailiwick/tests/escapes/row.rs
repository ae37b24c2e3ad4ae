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

/// Every cell of the matrix.
pub(crate) fn cells() -> impl Iterator<Item = (Who, Mode)> {
    let modes = Mode::ALL.into_iter();
    modes.flat_map(|mode| Who::ALL.map(|who| (who, mode)))
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

/// What comes of an act outside, on the machine of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// It succeeds.
    Done,
    /// The machine itself refuses it, with one of these words: no sandbox has to.
    Refused(&'static str, Why),
}

/// Why a machine refuses an act to whoever starts the sandbox, outside of it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    Ordinary,
    NoNamespaces,
    Filter,
    Rights,
    Files,
}

impl Why {
    pub(crate) const ALL: [Self; 5] = [
        Self::Ordinary,
        Self::NoNamespaces,
        Self::Filter,
        Self::Rights,
        Self::Files,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::NoNamespaces => "no namespaces",
            Self::Filter => "filter",
            Self::Rights => "rights",
            Self::Files => "files",
        }
    }

    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Ordinary => "the kernel refuses it to ordinary users",
            Self::NoNamespaces => "it needs a user namespace, and this machine gives none",
            Self::Filter => "the container engine's own filter refuses it",
            Self::Rights => "the container engine does not give root this right",
            Self::Files => "in a container the file is read-only, or not there",
        }
    }
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
    /// In a sandbox of its own that is started where no process may have more descriptors.
    Descriptors(u64),
}

/// A test build without these layers, in which the act succeeds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    who: Option<Who>,
    mode: Mode,
    pub(crate) without: &'static str,
}

/// Shown on a machine with every layer, whoever starts it.
pub(crate) const fn full(without: &'static str) -> Shown {
    shown(None, Mode::Full, without)
}

/// Shown there for the ordinary user.
pub(crate) const fn user(without: &'static str) -> Shown {
    shown(Some(Who::User), Mode::Full, without)
}

/// Shown there for root.
pub(crate) const fn root(without: &'static str) -> Shown {
    shown(Some(Who::Root), Mode::Full, without)
}

/// Shown on a machine without namespaces, whoever starts it.
pub(crate) const fn bare(without: &'static str) -> Shown {
    shown(None, Mode::Bare, without)
}

/// Shown there for the ordinary user.
pub(crate) const fn bare_user(without: &'static str) -> Shown {
    shown(Some(Who::User), Mode::Bare, without)
}

/// Shown there for root.
pub(crate) const fn bare_root(without: &'static str) -> Shown {
    shown(Some(Who::Root), Mode::Bare, without)
}

/// Shown in a container, whoever starts it.
pub(crate) const fn container(without: &'static str) -> Shown {
    shown(None, Mode::Container, without)
}

/// Shown there for the ordinary user.
pub(crate) const fn container_user(without: &'static str) -> Shown {
    shown(Some(Who::User), Mode::Container, without)
}

/// Shown there for root.
pub(crate) const fn container_root(without: &'static str) -> Shown {
    shown(Some(Who::Root), Mode::Container, without)
}

const fn shown(who: Option<Who>, mode: Mode, without: &'static str) -> Shown {
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
    /// each of them may stop it. What is said of a cell whose machine refuses the act is void.
    pub(crate) shown: &'static [Shown],
    /// Where it does not succeed outside.
    pub(crate) refused: Vec<(Option<Who>, Option<Mode>, Outside)>,
    /// Whether an ordinary user does it outside in namespaces of his own.
    pub(crate) own_namespaces: bool,
    /// Where no layer can be shown to stop it, and why.
    pub(crate) unshown: Vec<(Who, Mode, &'static str)>,
    /// What a kernel that was built without it answers, everywhere: there is nothing to stop then.
    pub(crate) lacking: Option<&'static str>,
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
        refused: Vec::new(),
        own_namespaces: false,
        unshown: Vec::new(),
        lacking: None,
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

    /// Outside, as root, or as a user in namespaces of his own.
    pub(crate) fn privileged(mut self) -> Self {
        self.own_namespaces = true;
        let refused = Outside::Refused("EPERM", Why::NoNamespaces);
        for mode in [Mode::Bare, Mode::Container] {
            self.refused.push((Some(Who::User), Some(mode), refused));
        }
        self
    }

    /// Outside, as root alone: an ordinary user is refused with these words on every machine.
    pub(crate) fn of_root(mut self, words: &'static str) -> Self {
        let refused = Outside::Refused(words, Why::Ordinary);
        self.refused.push((Some(Who::User), None, refused));
        self
    }

    /// On a machine without namespaces, refused to everybody with these words.
    pub(crate) fn of_namespaces(self, words: &'static str) -> Self {
        self.not_outside(None, Mode::Bare, words, Why::NoNamespaces)
    }

    /// In a container, refused to everybody by the engine's filter.
    pub(crate) fn engine_refuses(self, words: &'static str) -> Self {
        self.not_outside(None, Mode::Container, words, Why::Filter)
    }

    /// In a container, refused to root for want of a right.
    pub(crate) fn engine_withholds(self, words: &'static str) -> Self {
        self.not_outside(Some(Who::Root), Mode::Container, words, Why::Rights)
    }

    /// In a container, read-only or not there for whoever it is.
    pub(crate) fn not_in_containers(self, words: &'static str) -> Self {
        self.not_outside(None, Mode::Container, words, Why::Files)
    }

    /// In a container, read-only or not there for root.
    pub(crate) fn not_of_container_root(self, words: &'static str) -> Self {
        self.not_outside(Some(Who::Root), Mode::Container, words, Why::Files)
    }

    fn not_outside(mut self, who: Option<Who>, mode: Mode, words: &'static str, why: Why) -> Self {
        // What is said of one machine goes before what is said of all.
        self.refused
            .insert(0, (who, Some(mode), Outside::Refused(words, why)));
        self
    }

    /// No layer can be shown to stop it there, and why.
    pub(crate) fn unshown(mut self, who: Who, mode: Mode, why: &'static str) -> Self {
        self.unshown.push((who, mode, why));
        self
    }

    /// Not every kernel has it: one that was built without answers this.
    pub(crate) fn lacking(mut self, word: &'static str) -> Self {
        self.lacking = Some(word);
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

    /// Where root starts it without namespaces, stopped with these words.
    pub(crate) fn bare_root(mut self, words: &'static str) -> Self {
        for mode in [Mode::Bare, Mode::Container] {
            self.but.push((Some(Who::Root), mode, Expect::Held(words)));
        }
        self
    }

    /// Where root starts it without namespaces, not stopped.
    pub(crate) fn bare_root_open(mut self, why: &'static str) -> Self {
        for mode in [Mode::Bare, Mode::Container] {
            self.but.push((Some(Who::Root), mode, Expect::Open(why)));
        }
        self
    }

    /// What comes of it outside, on the machine of a cell.
    pub(crate) fn outside(&self, who: Who, mode: Mode) -> Outside {
        let of_cell = self
            .refused
            .iter()
            .find(|(of, on, _)| covers(*of, *on, who, mode));
        of_cell.map_or(Outside::Done, |(.., outside)| *outside)
    }

    /// Whether something has to stop it in a cell, and does.
    pub(crate) fn is_stopped(&self, who: Who, mode: Mode) -> bool {
        let held = matches!(self.expected(who, mode), Expect::Held(_));
        held && self.outside(who, mode) == Outside::Done
    }

    /// The layers without which it succeeds in a cell where something stops it.
    pub(crate) fn without(&self, who: Who, mode: Mode) -> Option<&'static str> {
        let of_cell = |shown: &&Shown| covers(shown.who, Some(shown.mode), who, mode);
        let shown = self.shown.iter().find(of_cell);
        shown
            .filter(|_| self.is_stopped(who, mode))
            .map(|shown| shown.without)
    }

    /// Why no layer can be shown to stop it in a cell.
    pub(crate) fn exception(&self, who: Who, mode: Mode) -> Option<&'static str> {
        let mut unshown = self.unshown.iter();
        let of_cell = unshown.find(|(of, on, _)| (*of, *on) == (who, mode));
        of_cell.map(|(.., why)| *why)
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

/// Whether what is said of some cells is said of this one.
fn covers(of: Option<Who>, on: Option<Mode>, who: Who, mode: Mode) -> bool {
    of.is_none_or(|of| of == who) && on.is_none_or(|on| on == mode)
}
