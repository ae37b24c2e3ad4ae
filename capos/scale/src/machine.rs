//! One boot: QEMU's words, its console, and what its processors' threads had to wait for.

use crate::host::Busy;
use crate::images::Images;
use crate::line;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a boot may take.
const PATIENCE: Duration = Duration::from_secs(90);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// What is booted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// The capability kernel.
    Capos,
    /// The Linux guest.
    Linux,
}

impl System {
    /// Its name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Capos => "capos",
            Self::Linux => "linux",
        }
    }

    /// What QEMU's exit status has to be: the one of init's good end, or of a machine that was turned off.
    pub(crate) const fn good_status(self) -> i32 {
        match self {
            Self::Capos => 33,
            Self::Linux => 0,
        }
    }

    /// What the guest's time is in.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::Capos => "ticks",
            Self::Linux => "ns",
        }
    }
}

/// A case of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) system: System,
    pub(crate) processors: u32,
}

impl Case {
    /// Its name in files.
    pub(crate) fn name(self) -> String {
        match self.processors {
            8 => "smp8-smt".into(),
            processors => format!("smp{processors}"),
        }
    }
}

/// A machine.
pub(crate) struct Machine<'a> {
    pub(crate) case: Case,
    pub(crate) images: &'a Images,
    /// The host's processors that QEMU may use.
    pub(crate) pinned: Option<Vec<usize>>,
    /// One thread of QEMU's for all processors.
    pub(crate) is_one_thread: bool,
}

/// What a boot left behind.
#[derive(Clone, Debug)]
pub(crate) struct Boot {
    pub(crate) said: String,
    /// QEMU's exit status; none where it was ended.
    pub(crate) status: Option<i32>,
    /// Nanoseconds that the threads of QEMU ran, and that they could have run and had to wait.
    pub(crate) ran: u64,
    pub(crate) waited: u64,
    /// What the host's processors did meanwhile.
    pub(crate) busy: Busy,
}

/// The rate of the time-stamp counter, which the capability kernel is told.
fn clock() -> u64 {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("cpu MHz"));
    let mhz = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    mhz.map_or(2_000_000, |mhz| (mhz * 1000.0) as u64)
}

impl Machine<'_> {
    /// How many, for QEMU. A machine of Linux's that can never have more than one loses wake-ups where QEMU
    /// translates (before QEMU 8 it leaves out memory barriers there), and waits for ever.
    fn processors(&self) -> String {
        match (self.case.system, self.case.processors) {
            (System::Linux, 1) => "1,maxcpus=2".into(),
            (_, processors) => processors.to_string(),
        }
    }

    fn words(&self, log: &Path) -> Vec<String> {
        let thread = if self.is_one_thread {
            "single"
        } else {
            "multi"
        };
        let list: Vec<_> = self.pinned.iter().flatten().map(usize::to_string).collect();
        let pinned = match list.is_empty() {
            true => Vec::new(),
            false => vec!["taskset".into(), "-c".into(), list.join(",")],
        };
        let (kernel, initrd, append) = match self.case.system {
            System::Capos => {
                let append = format!("tsc_khz={}", clock());
                (&self.images.kernel, &self.images.manifest, append)
            }
            System::Linux => {
                let words = &self.images.words;
                let clock = clock();
                let append = format!(
                    "console=ttyS0 quiet loglevel=3 reboot=t panic=-1 random.trust_cpu=on norandmaps \
                     tsc_early_khz={clock} tsc=reliable -- {words}"
                );
                (&self.images.linux, &self.images.initramfs, append)
            }
        };
        let (memory, board) = match self.case.system {
            System::Capos => ("64M", "microvm,pit=off,pic=off,rtc=off,isa-serial=on"),
            System::Linux => (
                "256M",
                "microvm,x-option-roms=off,pit=off,pic=off,rtc=on,isa-serial=on,acpi=on",
            ),
        };
        let own = [
            "qemu-system-x86_64".into(),
            "-M".into(),
            board.into(),
            "-accel".into(),
            format!("tcg,thread={thread}"),
            "-cpu".into(),
            "max".into(),
            "-smp".into(),
            self.processors(),
            "-m".into(),
            memory.into(),
            "-nodefaults".into(),
            "-no-user-config".into(),
            "-display".into(),
            "none".into(),
            "-no-reboot".into(),
            "-serial".into(),
            format!("file:{}", log.display()),
            "-device".into(),
            "isa-debug-exit,iobase=0xf4,iosize=4".into(),
            "-kernel".into(),
            kernel.display().to_string(),
            "-initrd".into(),
            initrd.display().to_string(),
            "-append".into(),
            append,
        ];
        pinned.into_iter().chain(own).collect()
    }

    /// Boots it to its end; its console is kept in `log`.
    pub(crate) fn boot(&self, log: &Path) -> Result<Boot, String> {
        let words = self.words(log);
        let (program, rest) = words.split_first().ok_or("no program")?;
        // What an earlier boot said is none of this one's.
        let _ = fs::remove_file(log);
        let mut child = Command::new(program)
            .args(rest)
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| format!("{program}: {error}"))?;
        let (status, ran, waited, busy) = watch(&mut child, log)?;
        let said = fs::read(log).map_err(|error| format!("{}: {error}", log.display()))?;
        Ok(Boot {
            said: String::from_utf8_lossy(&said).into_owned(),
            status,
            ran,
            waited,
            busy,
        })
    }
}

/// Waits for a machine's end, which comes at last when its time is over, or when one of its programs crashed,
/// for which the others would wait.
fn watch(child: &mut Child, log: &Path) -> Result<(Option<i32>, u64, u64, Busy), String> {
    let began = Instant::now();
    let before = Busy::now();
    let (mut ran, mut waited) = (0, 0);
    loop {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            let busy = Busy::now().since(before);
            return Ok((status.code(), ran, waited, busy));
        }
        let now = schedule(child.id());
        (ran, waited) = (ran.max(now.0), waited.max(now.1));
        let said = fs::read(log).unwrap_or_default();
        if began.elapsed() > PATIENCE || line::crash(&String::from_utf8_lossy(&said)).is_some() {
            let _ = child.kill();
            let _ = child.wait();
            return Ok((None, ran, waited, Busy::default()));
        }
        std::thread::sleep(LOOK);
    }
}

/// Nanoseconds that a process's threads ran and waited (schedstat of Linux's
/// Documentation/scheduler/sched-stats.rst).
fn schedule(process: u32) -> (u64, u64) {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let mut sum = (0, 0);
    for task in tasks.into_iter().flatten().flatten() {
        let text = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        let mut numbers = text.split(' ').map(|word| word.parse().unwrap_or(0));
        sum.0 += numbers.next().unwrap_or(0);
        sum.1 += numbers.next().unwrap_or(0);
    }
    sum
}
