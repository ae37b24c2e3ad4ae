//! `bench throughput`: the channel of a machine.

use super::channel::Loaded;
use super::ground::Ground;
use super::row::Row;
use crate::gate::record::limit;
use crate::gate::row::{Description, Draft};
use crate::gate::tally::Tally;
use crate::statistics::{bootstrap, median};
use crate::verdict::Verdict;
use std::ffi::OsString;

/// Machines whose channel is loaded.
const MACHINES: u32 = 5;
const PINGS: u32 = 2000;
const ROUNDS: u32 = 4;
/// Bytes each time, in MiB, and in a quick run.
const SIZE: [u64; 2] = [64, 4];

const PING: &str = "ping";
const TO_GUEST: &str = "to the guest";
const TO_HOST: &str = "to the host";

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    vec![Row {
        description: Description {
            name: "channel".to_owned(),
            workload: "a machine that waits for its session: 2,000 pings one after the other, then 64 \
                       MiB in one stream four times each way in turn, through the multiplexer at both \
                       ends"
                .to_owned(),
            includes: "ping: from its being queued to the answer's being read; streams: from the \
                       opening to the answer to a ping that was sent behind the last byte. To the guest \
                       the bytes are dropped, from the guest they come out of its memory and are \
                       compared by another thread. MB are 10^6 bytes",
            verifier: "each answer has the number of its ping; every byte that the guest has sent is \
                       compared, and so is what was sent to it once and came back; the machine is of \
                       the accelerator that was asked for",
            least: 20,
            timed: true,
        },
        measure: Box::new(measure),
    }]
}

fn measure(ground: &Ground<'_>, draft: &mut Draft) -> Result<(), Verdict> {
    let accelerator = ground.bare()?.accelerator.to_string();
    let quick = ground.amounts.quick;
    let [size, few] = SIZE;
    let mib = if quick { few } else { size };
    let pings = if quick { PINGS / 10 } else { PINGS };
    let mut tally = Tally::default();
    for _ in 0..ground.amounts.runs.min(MACHINES) {
        draft.settle();
        let mut argv: Vec<OsString> = vec![ground.binary.clone().into()];
        argv.extend(["bench", "channel", "--backend", "vm"].map(OsString::from));
        argv.extend(ground.machine(None));
        for (flag, value) in [
            ("--pings", pings.to_string()),
            ("--rounds", ROUNDS.to_string()),
            ("--size-mb", mib.to_string()),
        ] {
            argv.extend([flag.into(), value.into()]);
        }
        let sample = ground.complete(&argv)?;
        let loaded: Loaded = serde_json::from_slice(sample.stdout.as_bytes())
            .map_err(|error| Verdict::Fail(format!("bench channel: {error}")))?;
        let rounds = ROUNDS as usize;
        let whole = loaded.pings.len() == pings as usize
            && [&loaded.to_guest, &loaded.to_host].iter().all(|all| all.len() == rounds)
            // The first time and what came back are compared as well.
            && loaded.compared == rounds + 2
            && loaded.accelerator == accelerator;
        if !whole {
            return Err(Verdict::Fail(
                "bench channel: it did less than was asked for".to_owned(),
            ));
        }
        tally.add("pings", loaded.pings.len() as u64);
        tally.add("MiB compared", loaded.compared as u64 * mib);
        draft.add_us(PING, &loaded.pings);
        let rate = |ns: &u64| (mib << 20) as f64 * 1000.0 / (*ns).max(1) as f64;
        draft.add(TO_GUEST, "MB/s", loaded.to_guest.iter().map(rate));
        draft.add(TO_HOST, "MB/s", loaded.to_host.iter().map(rate));
    }
    draft.counted.insert("channel".to_owned(), tally);
    let ping = median(draft.of(PING));
    draft
        .limits
        .push(limit("channel: ping", "the median", "µs", 150.0, ping));
    for name in [TO_GUEST, TO_HOST] {
        // 250 MB/s.
        let value = bootstrap(&[draft.of(name)], |medians| 1000.0 / medians[0]);
        let what = format!("channel: {name}, each MB");
        draft
            .limits
            .push(limit(&what, "of the median; 250 MB/s", "ms", 4.0, value));
    }
    Ok(())
}
