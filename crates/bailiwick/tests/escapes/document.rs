//! The table in words: `docs/escapes.md`, and its summary in `docs/security.md`. Both are made from
//! the rows, so that neither can say what no test shows.

use crate::row::{Expect, Mode, Outside, Row, Who, Why, cells};
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
const LAYERS: [(&str, &str); 20] = [
    ("broker", "the write broker"),
    ("capabilities", "no capabilities"),
    ("descriptors", "the caller's descriptors are closed"),
    ("dumpable", "pid 1 cannot be looked into"),
    ("environment", "the allow list of variables"),
    ("identity", "root is another user inside"),
    ("ipc", "the IPC namespace"),
    ("keyring", "a session keyring of its own"),
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
        for (who, mode) in cells() {
            if let Expect::Open(why) = row.expected(who, mode)
                && !WITHOUT_NAMESPACES.contains(&why)
            {
                return Err(format!("{}: `doctor` does not say: {why}", row.id).into());
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
        `nothing` (it seems to succeed, and has no effect), `ended` (the run is ended), or **open**.\n\n\
        *Succeeds without* is what has to be left out of a test build for the act to succeed inside. \
        Several layers: each of them may stop it, and with none of them it succeeds. *Root* and *user* are named where they differ. \
        Outside of the sandbox the act succeeds on the same machine, or the last column says with what \
        that machine itself refuses it; the sandbox has nothing to stop there:\n\n"
        .to_owned();
    for why in Why::ALL {
        let _ = writeln!(text, "- *{}*: {}", why.name(), why.sentence());
    }
    text += "\n| id | act | full | bare | container | succeeds without | refused outside too |\n\
        |---|---|---|---|---|---|---|\n";
    for row in rows {
        let cells = Mode::ALL.map(|mode| cell(row, mode));
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} |",
            row.id,
            row.what.replace('|', "\\|"),
            cells.join(" | "),
            shown(row),
            refused(row)
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

/// The layers without which it succeeds, where that was shown.
fn shown(row: &Row) -> String {
    said_of_cells(|who, mode| row.without(who, mode))
        .into_iter()
        .map(|(cells, layers)| {
            let layers = layers.replace(',', ", ");
            match cells.as_str() {
                "full" | "everywhere" => layers,
                _ => format!("{cells}: {layers}"),
            }
        })
        .collect::<Vec<_>>()
        .join("; ")
}

/// Where the machine itself refuses it, with what, and why.
fn refused(row: &Row) -> String {
    let refused = |who, mode| match row.outside(who, mode) {
        Outside::Done => None,
        Outside::Refused(words, why) => Some((words, why)),
    };
    let lacking = row
        .lacking
        .map(|word| format!("kernels without it: {word}"));
    let of_machine = said_of_cells(refused)
        .into_iter()
        .map(|(cells, (words, why))| {
            let words = words.replace(' ', ", ");
            format!("{cells}: {words} *({})*", why.name())
        });
    of_machine.chain(lacking).collect::<Vec<_>>().join("; ")
}

/// What is said of the cells, each thing once, with the cells that it is said of.
fn said_of_cells<T: PartialEq>(said: impl Fn(Who, Mode) -> Option<T>) -> Vec<(String, T)> {
    let mut found: Vec<(Vec<(Who, Mode)>, T)> = Vec::new();
    for (who, mode) in cells() {
        let Some(thing) = said(who, mode) else {
            continue;
        };
        match found.iter_mut().find(|(_, other)| *other == thing) {
            Some((of, _)) => of.push((who, mode)),
            None => found.push((vec![(who, mode)], thing)),
        }
    }
    found
        .into_iter()
        .map(|(of, thing)| (name_of_cells(&of), thing))
        .collect()
}

fn name_of_cells(of: &[(Who, Mode)]) -> String {
    let has = |who, mode| of.contains(&(who, mode));
    if cells().all(|(who, mode)| has(who, mode)) {
        return "everywhere".to_owned();
    }
    if let Some(who) = Who::ALL.into_iter().find(|who| {
        let all = Mode::ALL.iter().all(|mode| has(*who, *mode));
        all && of.len() == Mode::ALL.len()
    }) {
        return who.name().to_owned();
    }
    let names = Mode::ALL
        .into_iter()
        .filter_map(|mode| match Who::ALL.map(|who| has(who, mode)) {
            [true, true] => Some(mode.name().to_owned()),
            [true, false] => Some(format!("{} user", mode.name())),
            [false, true] => Some(format!("{} root", mode.name())),
            [false, false] => None,
        });
    names.collect::<Vec<_>>().join(", ")
}

/// How many acts each set of layers stops, and what nothing stops.
fn summary(rows: &[Row]) -> String {
    let mut layers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut alone: BTreeMap<&str, usize> = BTreeMap::new();
    for row in rows {
        let Some(first) = cells().find_map(|(who, mode)| row.without(who, mode)) else {
            continue;
        };
        for layer in first.split(',') {
            *layers.entry(layer).or_default() += 1;
        }
        if !first.contains(',') {
            *alone.entry(first).or_default() += 1;
        }
    }
    let counted = rows.iter().filter(|row| crate::runner::counts(row)).count();
    let mut text = format!(
        "{} acts are tried (`docs/escapes.md` has each). For {counted} a layer is shown here that \
         stops them; the others need what this kernel was built without. This many succeed when a \
         layer is left out, alone or with the others that stop the same act:\n\n\
         | layer | acts | of them without another layer |\n|---|---|---|\n",
        rows.len()
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
            .filter(|row| cells().any(|(who, mode)| row.expected(who, mode) == Expect::Open(why)))
            .map(|row| format!("`{}`", row.id))
            .collect();
        let _ = writeln!(text, "- {why} ({})", ids.join(", "));
    }
    let number = |of: &dyn Fn(&Row, Who, Mode) -> bool| {
        let all = rows
            .iter()
            .flat_map(|row| cells().map(move |cell| (row, cell)));
        all.filter(|(row, (who, mode))| of(row, *who, *mode))
            .count()
    };
    let _ = writeln!(
        text,
        "\nOf the {} cells of that table, {} are stopped by a layer that the act was shown to need, {} \
         more are so on a kernel that has what is tried, {} are refused by the machine itself to \
         whoever starts the sandbox, {} are open.",
        rows.len() * cells().count(),
        number(&|row, who, mode| row.lacking.is_none() && row.without(who, mode).is_some()),
        number(&|row, who, mode| row.lacking.is_some() && row.without(who, mode).is_some()),
        number(&|row, who, mode| row.outside(who, mode) != Outside::Done),
        number(&|row, who, mode| matches!(row.expected(who, mode), Expect::Open(_))),
    );
    text + &exceptions(rows)
}

/// Where no layer is shown to stop an act, and why; each reason in a line.
fn exceptions(rows: &[Row]) -> String {
    let mut found: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    for row in rows {
        for (cells, why) in said_of_cells(|who, mode| row.exception(who, mode)) {
            let of_reason = found.entry((why, cells)).or_default();
            of_reason.push(format!("`{}`", row.id));
        }
    }
    let mut text = String::new();
    if !found.is_empty() {
        text += "In the others, the act cannot be shown to need one of our layers:\n\n";
    }
    for ((why, cells), ids) in found {
        let _ = writeln!(text, "- {cells}: {why} ({})", ids.join(", "));
    }
    text
}
