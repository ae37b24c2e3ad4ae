//! The first program of a bare machine: mounts one folder of the host's and does work that stands on the
//! console, or says what the kernel's primitives cost. It has nothing of the product's own around it, which is what it is compared with.

use super::answer::Answer;
use super::serve;
use crate::power;
use rustix::fs::{Mode, mkdir};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::ffi::CStr;
use std::time::Duration;

/// Where the folder is.
const SHARE: &CStr = c"/share";

/// A host that is gone ends no bare machine, so it ends by itself.
const LIFE: Duration = Duration::from_secs(3600);

/// Does work until there is no more. `words` are `share` and how the folder is mounted: `9p`, `9p-loose`
/// or `virtiofs`; or `costs`.
pub(super) fn run(words: &[String]) -> ! {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let began = match words.as_slice() {
        ["costs"] => devices().map(|()| {
            super::costs::costs();
            power::off()
        }),
        ["share", how] => begin(how),
        _ => Err(Errno::INVAL),
    };
    match began {
        // What is told before this is lost.
        Ok(()) => {
            println!("{}", Answer::default().line());
            std::thread::spawn(|| {
                std::thread::sleep(LIFE);
                power::off();
            });
            let _ = serve();
        }
        Err(error) => println!("{}", Answer::error(&error.to_string()).line()),
    }
    power::off()
}

/// A folder for a mount.
fn folder(path: &CStr) -> Result<(), Errno> {
    match mkdir(path, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error),
    }
}

/// What a program that is started opens: `/dev/null`.
fn devices() -> Result<(), Errno> {
    folder(c"/dev")?;
    mount(
        c"dev",
        c"/dev",
        c"devtmpfs",
        MountFlags::NOSUID,
        None::<&CStr>,
    )
}

fn begin(how: &str) -> Result<(), Errno> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    for path in [c"/proc", SHARE] {
        folder(path)?;
    }
    mount(c"proc", c"/proc", c"proc", flags, None::<&CStr>)?;
    match how {
        "9p" => {
            let options = c"trans=virtio,version=9p2000.L,msize=512000,cache=mmap,access=any";
            mount(c"share", SHARE, c"9p", flags, Some(options))?;
        }
        "9p-loose" => {
            let options = c"trans=virtio,version=9p2000.L,msize=512000,cache=loose,access=any";
            mount(c"share", SHARE, c"9p", flags, Some(options))?;
        }
        "virtiofs" => mount(c"share", SHARE, c"virtiofs", flags, None::<&CStr>)?,
        _ => return Err(Errno::INVAL),
    }
    // What is told and answered is passed on as it is, and not shown twice.
    let stdin = rustix::stdio::stdin();
    let mut modes = tcgetattr(stdin)?;
    modes.make_raw();
    tcsetattr(stdin, OptionalActions::Now, &modes)
}
