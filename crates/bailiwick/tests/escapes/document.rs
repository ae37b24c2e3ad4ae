//! The table in words: `docs/escapes.md`, and its summary in `docs/security.md`. Both are made from
//! the rows, so that neither can say what no test shows.

use crate::row::{Control, Expect, Mode, Row, Shown, Who};
use bailiwick_process::WITHOUT_NAMESPACES;
use libtest_mimic::Failed;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What stands around the summary.
const MARKS: [&str; 2] = [
    "<!-- made from the table of escapes: BLESS=1 cargo test -p bailiwick --test escapes -->\n",
    "<!-- end -->",
];

/// What the layers are, by the names that a test build knows them by.
const LAYERS: [(&str, &str); 19] = [
    ("broker", "the write broker"),
    ("capabilities", "no capabilities"),
    ("descriptors", "the caller's descriptors are closed"),
    ("dumpable", "pid 1 cannot be looked into"),
    ("environment", "the allow list of variables"),
    ("identity", "root is another user inside"),
    ("ipc", "the IPC namespace"),
    ("landlock", "Landlock"),
    ("limits", "the policy's limits"),
    ("mounts", "the private root"),
    ("network", "the network namespace and the gate"),
    ("nonewprivs", "no_new_privs"),
    ("nosuid", "mounts without devices and set-user-id programs"),
    ("pid", "the pid namespace and its /proc"),
    (
        "protection",
        "read-only mounts and masks over protected and denied names",
    ),
    ("readonly", "read-only mounts of what may be read"),
    ("seccomp", "seccomp"),
    ("terminal", "a terminal of its own"),
    ("uts", "the UTS namespace"),
];

/// Whether the documentation is what the table says; with `BLESS` it is made so.
pub(crate) fn is_current(rows: &[Row]) -> Result<(), Failed> {
    for row in rows {
        for mode in Mode::ALL {
            for who in Who::ALL {
                if let Expect::Open(why) = row.expected(who, mode)
                    && !WITHOUT_NAMESPACES.contains(&why)
                {
                    return Err(format!("{}: `doctor` does not say: {why}", row.id).into());
                }
            }
        }
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    must_be(docs.join("escapes.md"), |_| Some(table(rows)))?;
    must_be(docs.join("security.md"), |text| {
        let (before, rest) = text.split_once(MARKS[0])?;
        let (_, after) = rest.split_once(MARKS[1])?;
        Some(format!(
            "{before}{}{}{}{after}",
            MARKS[0],
            summary(rows),
            MARKS[1]
        ))
    })
}

fn must_be(path: PathBuf, make: impl Fn(&str) -> Option<String>) -> Result<(), Failed> {
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let wanted = make(&found).ok_or("the marks of the summary are missing")?;
    if found == wanted {
        return Ok(());
    }
    if std::env::var_os("BLESS").is_some() {
        return Ok(std::fs::write(path, wanted)?);
    }
    let name = path.display();
    Err(format!("{name} is not what the table says: BLESS=1 makes it so").into())
}

fn table(rows: &[Row]) -> String {
    let mut text = "# Escapes\n\n\
        Made from the table in `crates/bailiwick/tests/escapes/table`. Each act is tried from inside by \
        a program that makes the calls itself: started by an ordinary user and by root, on a machine \
        that gives every layer (*full*), on one without namespaces (*bare*), and in a container of \
        Docker's default shape, which gives none either. A cell is what stops it: an error, a signal, \
        `nothing` (it seems to succeed, and has no effect), `ended` (the run is ended), or **open**. The \
        last column is what has to be left out of a test build for the act to succeed inside, as it \
        does outside; *r* marks what only root could do at all, *n* what a user can do only in \
        namespaces of his own.\n\n\
        | id | act | full | bare | container | succeeds without |\n|---|---|---|---|---|---|\n"
        .to_owned();
    for row in rows {
        let mark = match row.control {
            Control::Plain => "",
            Control::Privileged => " *(n)*",
            Control::OfRoot => " *(r)*",
        };
        let cells = Mode::ALL.map(|mode| cell(row, mode));
        let _ = writeln!(
            text,
            "| `{}` | {}{mark} | {} | {} |",
            row.id,
            row.what.replace('|', "\\|"),
            cells.join(" | "),
            shown(row.shown)
        );
    }
    text
}

fn cell(row: &Row, mode: Mode) -> String {
    let of = |who| match row.expected(who, mode) {
        Expect::Held(words) => words.replace(' ', ", "),
        Expect::Open(_) => "**open**".to_owned(),
    };
    let [user, root] = Who::ALL.map(of);
    match user == root {
        true => user,
        false => format!("{user}; root: {root}"),
    }
}

fn shown(all: &[Shown]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut last = None;
    for one in all {
        let where_ = match one.mode {
            Mode::Full => "",
            mode => mode.name(),
        };
        let who = match (
            one.who,
            all.iter().any(|s| s.mode == one.mode && s.who == Who::User),
        ) {
            (Who::Root, _) => "root",
            (Who::User, _) => "",
        };
        // Root's needs that are the user's are not said again.
        if last == Some((one.mode, one.without)) {
            continue;
        }
        last = Some((one.mode, one.without));
        let label = [where_, who].join(" ").trim().to_owned();
        let layers = one.without.replace(',', ", ");
        parts.push(match label.is_empty() {
            true => layers,
            false => format!("{label}: {layers}"),
        });
    }
    parts.join("; ")
}

/// How many acts each set of layers stops, and what nothing stops.
fn summary(rows: &[Row]) -> String {
    let mut layers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut alone: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        let Some(first) = row.shown.iter().min_by_key(|s| (s.mode, s.who)) else {
            continue;
        };
        for layer in first.without.split(',') {
            *layers.entry(layer).or_default() += 1;
        }
        if !first.without.contains(',') {
            *alone.entry(first.without).or_default() += 1;
        }
    }
    let counted = rows.iter().filter(|row| !row.shown.is_empty()).count();
    let mut text = format!(
        "{counted} acts are tried (`docs/escapes.md` has each). Of them, this many succeed when a \
         layer is left out, alone or with the others that stop the same act:\n\n\
         | layer | acts | of them without another layer |\n|---|---|---|\n"
    );
    for (layer, count) in layers {
        let alone = alone.get(layer).copied().unwrap_or_default();
        let meaning = LAYERS.iter().find(|(name, _)| *name == layer);
        let meaning = meaning.map_or("?", |(_, meaning)| meaning);
        let _ = writeln!(text, "| `{layer}`: {meaning} | {count} | {alone} |");
    }
    text += "\nWith every layer, none succeeds. Without namespaces, and so in a container, these do:\n\n";
    for why in WITHOUT_NAMESPACES {
        let ids: Vec<String> = rows
            .iter()
            .filter(|row| {
                let cells = Who::ALL
                    .iter()
                    .flat_map(|who| Mode::ALL.map(|mode| (*who, mode)));
                let mut expected = cells.map(|(who, mode)| row.expected(who, mode));
                expected.any(|expect| expect == Expect::Open(why))
            })
            .map(|row| format!("`{}`", row.id))
            .collect();
        let _ = writeln!(text, "- {why} ({})", ids.join(", "));
    }
    text
}
