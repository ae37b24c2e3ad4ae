//! Many small files in the workspace: what it takes to make them, to look at them and to ask git about them.

use super::disk::{Side, finish, rounds, sides};
use super::ground::{Ground, Way};
use super::row::Row;
use crate::gate::record::limit;
use crate::gate::row::{Description, Draft};
use crate::statistics::ratio;
use crate::verdict::Verdict;

/// Files of the tree, in folders of twenty.
const FILES: u64 = 2_000;
/// The same for a quick run.
const FEW: u64 = 100;
/// Bytes of each.
const SIZE: u64 = 512;
/// The side whose workspace lies on the session's own disk.
const OWN_DISK: &str = "vm, --disk";

const MAKE: &str = "make";
const FIRST: &str = "first look";
const SECOND: &str = "second look";
const STATUS: &str = "second `git status`";

/// The row.
pub(super) fn row() -> Row {
    Row {
        description: Description {
            name: "metadata".to_owned(),
            workload: "2,000 files of 512 bytes in 100 folders of the workspace are made, looked at \
                       twice (lstat of each), and made a git repository whose status is asked twice; \
                       beside the sides of the other rows a session with a disk of its own"
                .to_owned(),
            includes: "the making from the first folder to the last file, without fsync; a look from the \
                       first folder that is opened to the last file; git from its start to its end. Before \
                       the first look a machine's kernel forgets what it has cached",
            verifier: "the number of files and their bytes, and that git finds nothing changed",
            least: 3,
            timed: true,
        },
        measure: Box::new(measure),
    }
}

fn measure(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let files = match ground.amounts.quick {
        true => FEW,
        false => FILES,
    };
    let (mut sides, _) = sides(ground)?;
    if ground.bare.is_some() {
        let mut worker = ground.worker(Way::Warm, &["--disk"])?;
        worker.name = OWN_DISK;
        let inside = worker
            .folder
            .join("tree-own")
            .to_string_lossy()
            .into_owned();
        sides.push(Side {
            worker,
            inside,
            outside: "/dev/null".into(),
        });
    }
    rounds(ground, draft, &mut sides, |side, _| {
        let series = |what: &str| format!("{}: {what}", side.worker.name);
        let names = [MAKE, FIRST, SECOND, STATUS].map(series);
        let make = side.ask("tree-make", &[files])?;
        if side.worker.is_machine {
            let file = format!("{}/folder0/file0", side.inside);
            side.worker.ask(&["disk-forget", &file, "machine"])?;
        }
        let looks = [look(side, files)?, look(side, files)?];
        let [of_make, of_first, of_second, of_status] = names;
        let each = |took: f64| took * 1e6 / files as f64;
        let mut found = vec![
            (of_make, "µs each", each(make)),
            (of_first, "µs each", each(looks[0])),
            (of_second, "µs each", each(looks[1])),
        ];
        // A bare machine has no git.
        if side.worker.has_programs() {
            side.ask("tree-status", &[])?;
            found.push((of_status, "ms", side.ask("tree-status", &[])? * 1e3));
        }
        Ok(found)
    })?;
    finish(sides)?;
    if ground.bare.is_some() {
        for (what, bound) in [(MAKE, 3.0), (SECOND, 2.0), (STATUS, 2.0)] {
            let of = |side: &str| format!("{side}: {what}");
            let own = of(Way::Warm.name());
            let value = ratio(draft.of(&own), draft.of(&of(OWN_DISK)));
            let name =
                format!("metadata, {what}: the shared workspace over a disk of the session's own");
            draft
                .limits
                .push(limit(&name, "the medians", "×", bound, value));
        }
    }
    Ok(())
}

/// Looks at the tree; seconds.
fn look(side: &mut Side, files: u64) -> Result<f64, Verdict> {
    let answer = side.worker.ask(&["tree-walk", &side.inside])?;
    let seen = (answer.number("files")?, answer.number("bytes")?);
    if seen != (files, files * SIZE) {
        return Err(Verdict::Fail(format!(
            "{}: it sees {} files of {} bytes in all, instead of {files} of {SIZE} bytes each",
            side.worker.name, seen.0, seen.1
        )));
    }
    Ok(answer.number("ns")?.max(1) as f64 / 1e9)
}
