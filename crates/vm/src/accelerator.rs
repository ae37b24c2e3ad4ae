//! What runs the guest's instructions: the processor, or QEMU in its place.
//!
//! Decision: that `/dev/kvm` can be opened says nothing. There are machines where it can and no kernel
//! runs on it, and then QEMU neither ends nor says so. So a guest is started on it once, for some
//! seconds, and what came of that is remembered for this kernel, processor, monitor and image. That none
//! came may have been a busy moment: it is tried again, the first time after ten minutes, then each time
//! after twice as long, up to a week.

use crate::again;
use crate::image::Image;
use bailiwick_event::{Failure, Text};
use rustix::fs::{Access, FlockOperation, access, flock};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How long it is not tried again after the first failure, and at the most.
const FIRST_WAIT: Duration = Duration::from_secs(600);
const LONGEST_WAIT: Duration = Duration::from_secs(7 * 24 * 3600);

/// The device of the processor's own virtualisation.
pub(crate) const DEVICE: &str = "/dev/kvm";

/// How a machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accelerator {
    /// The processor's own virtualisation.
    Kvm,
    /// QEMU translates every instruction.
    Tcg,
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        })
    }
}

/// What was found here, and why.
#[derive(Clone, Debug)]
pub struct Found {
    /// What guests run on.
    pub accelerator: Accelerator,
    /// Why, for a person.
    pub why: String,
}

/// Finds what runs this image's guests here: by what was found before, or by trying.
///
/// # Errors
/// A [`Failure`] where this program's own file cannot be started.
pub(crate) fn find(cache: &Path, image: &Image, qemu: &Path) -> Result<Found, Failure> {
    let tcg = |why: &str| Found {
        accelerator: Accelerator::Tcg,
        why: why.to_owned(),
    };
    if !Path::new(DEVICE).exists() {
        return Ok(tcg("there is no /dev/kvm"));
    }
    if access(DEVICE, Access::READ_OK | Access::WRITE_OK).is_err() {
        return Ok(tcg(
            "/dev/kvm may not be used; to change that, join the group that owns it",
        ));
    }
    let remembered = Remembered::of(cache, image, qemu);
    let before = remembered.read();
    let found = match &before {
        Some(before) if before.holds(SystemTime::now()) => before.clone(),
        _ => remembered.find_out(before.as_ref(), || try_it(&image.name))?,
    };
    Ok(match &found {
        Outcome::Runs => Found {
            accelerator: Accelerator::Kvm,
            why: "a guest runs on /dev/kvm".to_owned(),
        },
        Outcome::Failed { tries, why, .. } => tcg(&format!(
            "/dev/kvm is there, and no guest ran on it: {why} (failures in a row: {tries}; the next try is {} \
             minutes after the last; remove {} to try it now)",
            wait_after(*tries).as_secs() / 60,
            remembered.0.display()
        )),
    })
}

/// What came of trying.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Runs,
    /// No guest came, so many times in a row.
    Failed {
        tries: u32,
        /// When that was last, in seconds since 1970.
        when: u64,
        /// One line.
        why: String,
    },
}

/// How long it is not tried again after so many failures.
fn wait_after(tries: u32) -> Duration {
    let doubled = tries.saturating_sub(1).min(16);
    (FIRST_WAIT * (1 << doubled)).min(LONGEST_WAIT)
}

fn seconds(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

impl Outcome {
    fn failed(now: SystemTime, before: Option<&Self>, why: &str) -> Self {
        let tries = match before {
            Some(Self::Failed { tries, .. }) => tries.saturating_add(1),
            _ => 1,
        };
        Self::Failed {
            tries,
            when: seconds(now),
            why: why.lines().next().unwrap_or_default().to_owned(),
        }
    }

    /// Whether it is not tried again yet. A time that has not come is that of another clock.
    fn holds(&self, now: SystemTime) -> bool {
        match self {
            Self::Runs => true,
            Self::Failed { tries, when, .. } => {
                let since = seconds(now).checked_sub(*when);
                since.is_some_and(|since| since < wait_after(*tries).as_secs())
            }
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Runs => "kvm\n".to_owned(),
            Self::Failed { tries, when, why } => format!("tcg\n{tries}\n{when}\n{why}\n"),
        }
    }

    /// What such a text says; none where it is damaged, or of an earlier version.
    fn parse(text: &str) -> Option<Self> {
        if text == "kvm\n" {
            return Some(Self::Runs);
        }
        let mut lines = text
            .strip_prefix("tcg\n")?
            .strip_suffix('\n')?
            .splitn(3, '\n');
        Some(Self::Failed {
            tries: lines.next()?.parse().ok()?,
            when: lines.next()?.parse().ok()?,
            why: lines.next()?.to_owned(),
        })
    }
}

/// What was found before.
struct Remembered(PathBuf);

impl Remembered {
    fn of(cache: &Path, image: &Image, qemu: &Path) -> Self {
        let mut hash = blake3::Hasher::new();
        let uname = rustix::system::uname();
        let monitor = fs::metadata(qemu).map(|meta| (meta.size(), meta.mtime()));
        for part in [
            uname.release().to_bytes(),
            uname.version().to_bytes(),
            &processor(),
            image.id.as_bytes(),
            format!("{monitor:?}").as_bytes(),
        ] {
            hash.update(part);
            hash.update(&[0]);
        }
        let name = hash.finalize().to_hex();
        Self(cache.join("accelerator").join(&name[..32]))
    }

    fn read(&self) -> Option<Outcome> {
        Outcome::parse(&fs::read_to_string(&self.0).ok()?)
    }

    /// Tries it and remembers what came of that; one process at a time: many guests at once are the busy moment in
    /// which none comes in time. Meanwhile others go by what was found before.
    fn find_out(
        &self,
        before: Option<&Outcome>,
        try_it: impl FnOnce() -> Result<Option<String>, Failure>,
    ) -> Result<Outcome, Failure> {
        let _ = fs::create_dir_all(self.0.parent().unwrap_or(Path::new("/")));
        let lock = File::create(self.0.with_extension("lock")).ok();
        if let Some(lock) = &lock {
            let free = flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok();
            match before {
                Some(before) if !free => return Ok(before.clone()),
                _ if !free => drop(flock(lock, FlockOperation::LockExclusive)),
                _ => {}
            }
        }
        // Whoever had the lock may have found it out.
        if let Some(found) = self.read().filter(|found| found.holds(SystemTime::now())) {
            return Ok(found);
        }
        let found = match try_it()? {
            None => Outcome::Runs,
            Some(why) => Outcome::failed(SystemTime::now(), before, &why),
        };
        self.write(&found);
        Ok(found)
    }

    /// What cannot be remembered is tried again.
    fn write(&self, found: &Outcome) {
        let _ = fs::write(&self.0, found.text());
    }
}

/// The first line of what the kernel says of processors that begins with this name.
pub(crate) fn of_processor(name: &str) -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(name));
    line.map(str::to_owned)
}

/// The processor's name and abilities.
pub(crate) fn processor() -> Vec<u8> {
    let lines = ["model name", "flags"].map(|name| of_processor(name).unwrap_or_default());
    lines.concat().into_bytes()
}

/// Starts a guest on the processor, in another process of this program, and waits for it. Why none came; nothing
/// where one did.
fn try_it(image: &str) -> Result<Option<String>, Failure> {
    let output = again::image(&["probe", image])?
        .output()
        .map_err(|error| Failure::fault(format!("bailiwick image probe: {error}")))?;
    let said = || {
        let text = String::from_utf8_lossy(&output.stderr);
        let line = text.lines().find(|line| !line.trim().is_empty());
        let line = line.map_or("it said nothing", str::trim);
        Text::from(line.strip_prefix("bailiwick: ").unwrap_or(line)).to_string()
    };
    Ok((!output.status.success()).then(said))
}

#[cfg(test)]
#[path = "accelerator_tests.rs"]
mod tests;
