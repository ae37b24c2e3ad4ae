//! Runs the cells of the matrix and judges what came of each row.

use crate::machine;
use crate::row::{Expect, Mode, Outside, Row, Who, cells};
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What came of every phase and row of a cell; or why there is nothing.
type Cell = Result<BTreeMap<(String, String), String>, String>;
type Cells = BTreeMap<(Who, Mode), Cell>;

/// Rows that there must be.
const ROWS: usize = 120;

/// The whole matrix, as the command line asks for it.
pub(crate) fn run() -> i32 {
    let arguments = Arguments::from_args();
    let root = rustix::process::getuid().is_root();
    let cells: Vec<(Who, Mode)> = cells()
        .filter(|(who, mode)| root || (*who == Who::User && *mode != Mode::Container))
        .collect();
    if !root {
        eprintln!(
            "escapes: as an ordinary user: what root starts, what is in a container (4 of 6 cells), \
             and what needs a device or a set-user-id program is not tried; run the tests as root \
             for those"
        );
    }
    let rows = Arc::new(crate::table::rows());
    let wanted = |name: &str| {
        let matches = |pattern: &String| match arguments.exact {
            true => name == pattern,
            false => name.contains(pattern.as_str()),
        };
        arguments.filter.as_ref().is_none_or(matches) && !arguments.skip.iter().any(matches)
    };
    let mut plan: BTreeMap<(Who, Mode), Vec<String>> = BTreeMap::new();
    for &(who, mode) in &cells {
        for row in rows
            .iter()
            .filter(|row| wanted(&name(who, mode, row)) && (root || !row.planted))
        {
            plan.entry((who, mode)).or_default().push(row.id.to_owned());
        }
    }
    let results = match arguments.list {
        true => Cells::new(),
        false => match run_cells(&plan, rows.len()) {
            Ok(results) => results,
            Err(error) => {
                eprintln!("escapes: {error}");
                return 101;
            }
        },
    };
    let results = Arc::new(results);
    let mut trials = vec![
        Trial::test("escapes::enough_of_them_count", {
            let rows = Arc::clone(&rows);
            move || enough(&rows)
        }),
        Trial::test("escapes::the_documentation_is_the_tables", {
            let rows = Arc::clone(&rows);
            move || crate::document::is_current(&rows)
        }),
    ];
    let tried = |(_, row): &(usize, &Row)| root || !row.planted;
    for (number, row) in rows.iter().enumerate().filter(tried) {
        for &(who, mode) in &cells {
            let (rows, results) = (Arc::clone(&rows), Arc::clone(&results));
            trials.push(Trial::test(name(who, mode, row), move || {
                judge(&rows[number], who, mode, &results[&(who, mode)])
            }));
        }
    }
    for &(who, mode) in cells
        .iter()
        .filter(|(who, mode)| *who == Who::User && *mode != Mode::Container)
    {
        for abi in crate::stage::OLDER {
            let (rows, results) = (Arc::clone(&rows), Arc::clone(&results));
            let name = format!(
                "escapes::{}::{}::on-landlock-{abi}",
                who.name(),
                mode.name()
            );
            trials.push(Trial::test(name, move || match results.get(&(who, mode)) {
                Some(cell) => judge_older(&rows, who, mode, abi, cell),
                None => Err("run it with the rows of its cell".into()),
            }));
        }
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    i32::from(conclusion.has_failed()) * 101
}

fn name(who: Who, mode: Mode, row: &Row) -> String {
    format!("escapes::{}::{}::{}", who.name(), mode.name(), row.id)
}

/// Whether what came of a row in a cell is what the table says.
fn judge(row: &Row, who: Who, mode: Mode, cell: &Cell) -> Result<(), Failed> {
    let cell = cell.as_ref().map_err(|why| why.clone())?;
    let of = |phase: &str| {
        let found = cell.get(&(phase.to_owned(), row.id.to_owned()));
        found.map_or("not tried", String::as_str)
    };
    let inside = of("inside");
    match row.expected(who, mode) {
        Expect::Held(words) if !words.split(' ').any(|word| word == inside) => {
            return Err(format!("inside: {inside}; it should be one of: {words}").into());
        }
        Expect::Open(_) if inside != "done" => {
            return Err(format!("inside: {inside}; the table says that nothing stops it").into());
        }
        _ => {}
    }
    let control = of("control");
    let lacks = row.lacking == Some(control);
    match row.outside(who, mode) {
        _ if lacks => {}
        Outside::Done if control != "done" => {
            return Err(format!("outside, where it should succeed: {control}").into());
        }
        Outside::Refused(words, why) if !words.split(' ').any(|word| word == control) => {
            let why = why.sentence();
            let told = format!("outside: {control}; the table says {words}, because {why}");
            return Err(told.into());
        }
        _ => {}
    }
    if lacks || !row.is_stopped(who, mode) {
        return Ok(());
    }
    match (row.without(who, mode), row.exception(who, mode)) {
        (None, Some(_)) => Ok(()),
        (None, None) => Err("nothing shows which layer stops it".into()),
        (Some(_), Some(why)) => Err(format!("a layer is named, and: {why}").into()),
        (Some(layers), None) => match of(&format!("without {layers}")) {
            "done" => Ok(()),
            word => Err(format!("inside without {layers}, where it should succeed: {word}").into()),
        },
    }
}

/// What only the newest version of Landlock stops, where there are no namespaces.
const NEWEST: [&str; 4] = ["kill", "tgkill", "pidfd-signal", "fcntl-owner"];

/// Whether an older Landlock stops the same, or nothing but what `doctor` says it does not.
fn judge_older(rows: &[Row], who: Who, mode: Mode, abi: u32, cell: &Cell) -> Result<(), Failed> {
    let cell = cell.as_ref().map_err(|why| why.clone())?;
    let mut tried = 0;
    for row in rows.iter().filter(|row| crate::stage::is_landlocks(row)) {
        let Some(word) = cell.get(&(format!("landlock {abi}"), row.id.to_owned())) else {
            continue;
        };
        tried += 1;
        let open = mode == Mode::Bare && NEWEST.contains(&row.id);
        let held = matches!(row.expected(who, mode), Expect::Held(_)) && !open;
        if (word == "done") == held || word.starts_with("not started") {
            return Err(format!("{}: {word}", row.id).into());
        }
    }
    match tried {
        0 => Err("run it with the rows of its cell".into()),
        _ => Ok(()),
    }
}

/// Whether a layer is shown to stop it anywhere.
pub(crate) fn counts(row: &Row) -> bool {
    // A kernel that lacks it shows nothing.
    row.lacking.is_none() && cells().any(|(who, mode)| row.without(who, mode).is_some())
}

/// Whether enough rows are shown to be stopped by what they name.
fn enough(rows: &[Row]) -> Result<(), Failed> {
    let mut ids: Vec<&str> = rows.iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let counted = rows.iter().filter(|row| counts(row)).count();
    match ids.len() == rows.len() && counted >= ROWS {
        true => Ok(()),
        false => Err(format!("{counted} of {} count, {} ids", rows.len(), ids.len()).into()),
    }
}

/// Runs the cells, two at a time.
fn run_cells(plan: &BTreeMap<(Who, Mode), Vec<String>>, all: usize) -> io::Result<Cells> {
    if plan.is_empty() {
        return Ok(Cells::new());
    }
    let programs = programs()?;
    let queue = Mutex::new(plan.iter());
    let cells = Mutex::new(Cells::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().ok().and_then(|mut queue| queue.next());
                    let Some((&(who, mode), ids)) = next else {
                        break;
                    };
                    let only: &[String] = if ids.len() == all { &[] } else { ids };
                    let cell = run_cell(who, mode, only, &programs).map_err(|e| e.to_string());
                    if let Ok(mut cells) = cells.lock() {
                        cells.insert((who, mode), cell.and_then(|cell| cell));
                    }
                }
            });
        }
    });
    Ok(cells.into_inner().unwrap_or_default())
}

/// The product and the one whose layers can be left out, which is built with the tests; this executable.
fn programs() -> io::Result<[(&'static str, PathBuf); 3]> {
    let given = |name| std::env::var_os(name).map(PathBuf::from);
    let built = PathBuf::from(env!("CARGO_BIN_EXE_bailiwick"));
    let switches = given("BAILIWICK_TEST_BUILD").unwrap_or(built);
    let product = given("BAILIWICK_BINARY").unwrap_or_else(|| switches.clone());
    Ok([
        ("bailiwick", product),
        ("bailiwick-for-tests", switches),
        ("escapes", std::env::current_exe()?),
    ])
}

fn run_cell(
    who: Who,
    mode: Mode,
    only: &[String],
    programs: &[(&str, PathBuf)],
) -> io::Result<Cell> {
    let ground = tempfile::Builder::new()
        .prefix("bailiwick-escapes-")
        .tempdir()?;
    let ground = ground.path().canonicalize().map(|path| (path, ground))?;
    let (ground, _remove) = (&ground.0, &ground.1);
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(ground, std::fs::Permissions::from_mode(0o755))?;
    std::fs::create_dir(ground.join("bin"))?;
    for (name, path) in programs {
        // Another process copies: what this one has open for writing a child that another cell starts has as well,
        // for a moment in which the kernel does not execute the file (ETXTBSY).
        let copied = std::process::Command::new("cp")
            .args([path.as_path(), &ground.join("bin").join(name)])
            .status()?;
        if !copied.success() {
            return Err(io::Error::other(format!(
                "{} cannot be copied",
                path.display()
            )));
        }
    }
    machine::own(ground, who)?;
    let mut command = machine::command(who, mode, ground);
    command
        .args(only)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    let output = crate::patience::run(command, 600_000)?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if std::env::var_os("BAILIWICK_ESCAPES_VERBOSE").is_some() {
        for line in printed.lines() {
            eprintln!("{}\t{}\t{line}", who.name(), mode.name());
        }
        eprint!("{said}");
    }
    if !output.status.success() {
        return Ok(Err(format!(
            "the cell ended with {}\n{said}",
            output.status
        )));
    }
    let lines = printed.lines().filter_map(|line| {
        let mut parts = line.split('\t').map(str::to_owned);
        Some(((parts.next()?, parts.next()?), parts.next()?))
    });
    Ok(Ok(lines.collect()))
}
