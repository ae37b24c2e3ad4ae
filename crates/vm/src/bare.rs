//! The least that a machine can be: the same QEMU, board and kernel, without a device, and for a first
//! program one that says a word. What a machine of the product takes more than this is the product's.
//!
//! Decision: QEMU runs here as the caller's own program, in no sandbox. What it runs is ours from the
//! first byte to the last, and the figure must have nothing in it that a user of QEMU would not have.

use crate::accelerator::Accelerator;
use crate::image::{Image, cache_folder};
use crate::initrd::{archive, made};
use crate::jail;
use crate::machine::{Machine, append};
use crate::shape::MachineShape;
use bailiwick_event::Failure;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, set_parent_process_death_signal};
use std::ffi::OsString;
use std::io::{self, Read as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// What the first program says.
const HELLO: &[u8] = b"bailiwick: hello\n";
/// How long a machine may take that runs at all.
const PATIENCE: Duration = Duration::from_secs(60);
/// Where the first word of QEMU's own filter stands: what is before it is the board.
const FILTER: &str = "-sandbox";

/// A machine without devices, and what it is made of.
#[derive(Clone, Debug)]
pub struct Bare {
    /// The image, of which the kernel is used.
    pub image: Image,
    /// QEMU.
    pub qemu: PathBuf,
    /// What runs the guest's instructions.
    pub accelerator: Accelerator,
    /// Bytes of memory.
    pub memory: u64,
    /// Processors.
    pub cpus: u32,
    board: Vec<OsString>,
}

/// A bare machine that runs, until it is dropped.
#[derive(Debug)]
pub struct BareMachine {
    child: Child,
    console: ChildStdout,
    said: Vec<u8>,
}

impl Bare {
    /// The bare machine beside those of this shape.
    ///
    /// # Errors
    /// A [`Failure`] where there is no QEMU or no image.
    pub fn new(shape: &MachineShape) -> Result<Self, Failure> {
        let start = shape.start(jail::nothing(), None, "/".into(), false)?;
        let words = start.machine.words(&start.qemu);
        let board = words.into_iter().take_while(|word| word != FILTER);
        let Machine {
            accelerator,
            memory,
            cpus,
            ..
        } = start.machine;
        Ok(Self {
            board: board.collect(),
            image: start.image,
            qemu: start.qemu,
            accelerator,
            memory,
            cpus,
        })
    }

    /// Bytes that QEMU may keep of translated instructions; none where it translates none.
    #[must_use]
    pub fn translation_buffer(&self) -> Option<u64> {
        let mut words = self.board.iter().filter_map(|word| word.to_str());
        let words = words.find(|word| word.contains("tb-size="))?;
        let size = words.split(',').find_map(|w| w.strip_prefix("tb-size="))?;
        Some(size.parse::<u64>().ok()? << 20)
    }

    /// The archive of the guest's binary, which is a first file system.
    ///
    /// # Errors
    /// A [`Failure`] where there is no such binary.
    pub fn guest(&self) -> Result<PathBuf, Failure> {
        made(&cache_folder()?)
    }

    /// The same machine with memory that another process of the host can have as well.
    #[must_use]
    pub fn shared(&self) -> Self {
        let share = |word: &OsString| {
            // Another process maps it, for which it has to be a file's.
            let word = word.to_string_lossy();
            let word = word.replace("memory-backend-ram,", "memory-backend-memfd,");
            OsString::from(word.replace("share=off", "share=on"))
        };
        Self {
            board: self.board.iter().map(share).collect(),
            ..self.clone()
        }
    }

    /// QEMU and its words, with these devices, this first file system, and these words for its first
    /// program; the guest's console is stdin and stdout.
    #[must_use]
    pub fn words(&self, initrd: &Path, devices: &[String], first: &str) -> Vec<OsString> {
        let mut append = append(self.accelerator);
        if !first.is_empty() {
            append = format!("{append} -- {first}");
        }
        let mut words = self.board.clone();
        words.extend(["-serial", "stdio"].map(OsString::from));
        words.extend(devices.iter().map(OsString::from));
        words.extend(["-kernel".into(), self.image.kernel.clone().into()]);
        words.extend(["-initrd".into(), initrd.into()]);
        words.extend(["-append".into(), append.into()]);
        words
    }

    /// Starts a machine and waits for its first program's word: the time from before QEMU is started.
    /// `folder` is for a file that is written there once.
    ///
    /// # Errors
    /// What went wrong, with what the machine said last.
    pub fn hello(&self, folder: &Path) -> io::Result<Duration> {
        let initrd = folder.join("bare.cpio");
        if !initrd.exists() {
            std::fs::write(&initrd, archive(&first_program()))?;
        }
        let words = self.words(&initrd, &[], "");
        let mut command = Command::new(words.first().unwrap_or(&OsString::new()));
        command.args(words.iter().skip(1));
        let began = Instant::now();
        let mut machine = BareMachine::start(&mut command)?;
        machine.wait_for(HELLO, PATIENCE)?;
        Ok(began.elapsed())
    }
}

impl BareMachine {
    /// Starts it; its console is read here. It ends with the calling thread, whatever becomes of that.
    ///
    /// # Errors
    /// QEMU cannot be started.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let bind = || Ok(set_parent_process_death_signal(Some(Signal::KILL))?);
        // SAFETY: between fork and exec nothing is done but one system call, which takes no lock and
        // touches no memory.
        unsafe { command.pre_exec(bind) };
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let console = child.stdout.take().ok_or(io::ErrorKind::NotFound)?;
        Ok(Self {
            child,
            console,
            said: Vec::new(),
        })
    }

    /// Reads the console until it has said this, where a new line counts as little as a kernel's
    /// carriage returns.
    ///
    /// # Errors
    /// The machine ends before, or takes longer.
    pub fn wait_for(&mut self, word: &[u8], patience: Duration) -> io::Result<()> {
        let began = Instant::now();
        let word = word.trim_ascii_end();
        let mut chunk = [0; 4096];
        while !self.said.windows(word.len()).any(|part| part == word) {
            let left = patience.saturating_sub(began.elapsed());
            let timeout = Timespec::try_from(left).ok();
            let mut fds = [PollFd::new(&self.console, PollFlags::IN)];
            let read = match poll(&mut fds, timeout.as_ref()) {
                Ok(0) => 0,
                Ok(_) => self.console.read(&mut chunk)?,
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            if read == 0 {
                return Err(io::Error::other(format!(
                    "the bare machine did not say \"{}\"; its last words: {}",
                    word.escape_ascii(),
                    self.tail()
                )));
            }
            self.said
                .extend_from_slice(chunk.get(..read).unwrap_or_default());
        }
        Ok(())
    }

    /// What it has said so far.
    #[must_use]
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&self.said).replace('\r', "")
    }

    /// The end of what it said, harmless.
    fn tail(&self) -> String {
        let from = self.said.len().saturating_sub(400);
        let tail = self.said.get(from..).unwrap_or_default();
        tail.escape_ascii().to_string()
    }
}

impl Drop for BareMachine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program of two system calls: `write` of the word to its stdout, and `pause` without end. An ELF
/// file of one segment (elf(5)), because a compiler's smallest program is a thousand times as long, and
/// the kernel would have to unpack it.
fn first_program() -> Vec<u8> {
    const BASE: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let code: &[u8] = &[
        0xb8,
        1,
        0,
        0,
        0, // mov eax, 1 (write)
        0xbf,
        1,
        0,
        0,
        0, // mov edi, 1
        0x48,
        0x8d,
        0x35,
        0x10,
        0,
        0,
        0, // lea rsi, [rip + 16]: the word
        0xba,
        HELLO.len() as u8,
        0,
        0,
        0, // mov edx, its length
        0x0f,
        0x05, // syscall
        0xb8,
        34,
        0,
        0,
        0, // mov eax, 34 (pause)
        0x0f,
        0x05, // syscall
        0xeb,
        0xf7, // jmp to the mov
    ];
    let length = HEADERS + (code.len() + HELLO.len()) as u64;
    let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_le_bytes());
    let word = |file: &mut Vec<u8>, value: u32| file.extend(value.to_le_bytes());
    let long = |file: &mut Vec<u8>, value: u64| file.extend(value.to_le_bytes());
    half(&mut file, 2); // ET_EXEC
    half(&mut file, 62); // EM_X86_64
    word(&mut file, 1);
    long(&mut file, BASE + HEADERS); // the entry
    long(&mut file, 64); // the program headers
    long(&mut file, 0);
    word(&mut file, 0);
    for value in [64, 56, 1, 0, 0, 0] {
        half(&mut file, value);
    }
    word(&mut file, 1); // PT_LOAD
    word(&mut file, 5); // read and execute
    long(&mut file, 0);
    long(&mut file, BASE);
    long(&mut file, BASE);
    long(&mut file, length);
    long(&mut file, length);
    long(&mut file, 0x1000);
    file.extend(code);
    file.extend(HELLO);
    file
}

#[cfg(test)]
#[path = "bare_tests.rs"]
mod tests;
