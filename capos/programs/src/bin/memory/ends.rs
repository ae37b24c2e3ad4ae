//! Acts on memory that end the program: what they do before is right, what they do last is not.

use bailiwick_capos_programs::memory::{
    COMMIT, DECOMMIT, NONE, OBJECT_UNMAP, PAGE, PROTECT, READ, RESERVE, RUN, Shared, UNMAP, WRITE,
    fill, fresh, map_object, object, read, run, space, write, write_code,
};
use bailiwick_capos_rt::call::Failed;
use bailiwick_capos_rt::held;

/// An act; it says when all that is right is done.
pub(crate) type Act = fn(&dyn Fn()) -> Result<(), Failed>;
/// All of them.
pub(crate) const ENDS: [(&str, Act); 15] = [
    ("unmapped-read", |last| {
        let at = fresh(1)?;
        write(at, 1);
        space(UNMAP, &[at, PAGE])?;
        last();
        read(at);
        Ok(())
    }),
    ("unmapped-write", |last| {
        let at = fresh(2)?;
        write(at + PAGE, 1);
        space(UNMAP, &[at, 2 * PAGE])?;
        last();
        write(at + PAGE, 2);
        Ok(())
    }),
    ("hole", |last| {
        let at = fresh(3)?;
        fill(at, 3, 7);
        space(UNMAP, &[at + PAGE, PAGE])?;
        if read(at) == 7 && read(at + 2 * PAGE) == 7 {
            last();
        }
        read(at + PAGE);
        Ok(())
    }),
    ("behind", |last| {
        let at = fresh(1)?;
        read(at + PAGE - 8);
        last();
        read(at + PAGE);
        Ok(())
    }),
    ("read-only", |last| {
        let at = fresh(1)?;
        write(at, 7);
        space(PROTECT, &[at, PAGE, READ])?;
        if read(at) == 7 {
            last();
        }
        write(at, 8);
        Ok(())
    }),
    ("nothing", |last| {
        let at = fresh(1)?;
        write(at, 7);
        space(PROTECT, &[at, PAGE, NONE])?;
        last();
        read(at);
        Ok(())
    }),
    ("data", |last| {
        let at = fresh(1)?;
        write_code(at);
        last();
        run(at);
        Ok(())
    }),
    ("read-only-data", |last| {
        let at = fresh(1)?;
        write_code(at);
        space(PROTECT, &[at, PAGE, READ])?;
        last();
        run(at);
        Ok(())
    }),
    ("code", |last| {
        let at = fresh(1)?;
        write_code(at);
        space(PROTECT, &[at, PAGE, RUN])?;
        run(at);
        last();
        write_code(at);
        Ok(())
    }),
    ("reserved", |last| {
        let at = space(RESERVE, &[0, 4 * PAGE])?;
        last();
        read(at);
        Ok(())
    }),
    ("decommitted", |last| {
        let at = space(RESERVE, &[0, 4 * PAGE])?;
        space(COMMIT, &[at + PAGE, 2 * PAGE, WRITE])?;
        fill(at + PAGE, 2, 7);
        space(DECOMMIT, &[at + PAGE, PAGE])?;
        if read(at + 2 * PAGE) == 7 {
            last();
        }
        read(at + PAGE);
        Ok(())
    }),
    ("object-unmapped", |last| {
        let object = object(1)?;
        let at = map_object(object, 0, 1, WRITE)?;
        write(at, 7);
        object.numbers(OBJECT_UNMAP, &[at, PAGE])?;
        last();
        read(at);
        Ok(())
    }),
    ("object-read-only", |last| {
        let object = object(1)?;
        let (at, other) = (
            map_object(object, 0, 1, WRITE)?,
            map_object(object, 0, 1, READ)?,
        );
        write(at, 7);
        if read(other) == 7 {
            last();
        }
        write(other, 8);
        Ok(())
    }),
    ("object-run", |last| {
        let object = object(1)?;
        let at = map_object(object, 0, 1, WRITE)?;
        write_code(at);
        last();
        run(at);
        Ok(())
    }),
    ("others", |last| {
        // The smoke says where it has mapped something.
        let at = held("role:others")
            .and(Shared::granted())
            .map(|shared| u64::from(shared.get(2)) << 32 | u64::from(shared.get(1)));
        last();
        read(at.unwrap_or(0));
        Ok(())
    }),
];
