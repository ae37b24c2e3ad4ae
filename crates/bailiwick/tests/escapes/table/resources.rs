//! What a program can use up.

use crate::act::{nothing, owned};
use crate::field::Field;
use crate::row::{Group, Row, Shown, bare, container, full, row};
use crate::services::PROXY;
use crate::sys::{self, Word, call};
use bailiwick_process::WITHOUT_NAMESPACES;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

/// Kept everywhere.
const LIMIT: &[Shown] = &[full("limits"), bare("limits"), container("limits")];
/// Kept where there are namespaces.
const ISOLATED: &[Shown] = &[full("limits")];
/// The private root's files are of memory; elsewhere Landlock keeps them from being made.
const SCRATCH: &[Shown] = &[full("limits"), bare("landlock"), container("landlock")];

/// The namespace and its gate; where there is none, the filter, and Landlock for TCP.
const CONNECTIONS: &[Shown] = &[
    full("network"),
    bare("seccomp,landlock"),
    container("seccomp,landlock"),
];

const COUNTED: &str = WITHOUT_NAMESPACES[4];

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    [processes(), memory(), files(), endless()]
        .into_iter()
        .flatten()
        .collect()
}

fn processes() -> Vec<Row> {
    vec![
        row("fork-bomb", "starts processes without end", |_| {
            let mut children = Vec::new();
            let result = (0..200).try_for_each(|_| {
                children.push(sys::fork(|| {
                    std::thread::sleep(Duration::from_secs(30));
                    0
                })?);
                Ok(())
            });
            for child in children {
                sys::wait(child, 0);
            }
            result
        })
        .group(Group::Limited("processes = 60"))
        .shown(ISOLATED)
        .full("EAGAIN")
        .bare_open(COUNTED),
        row("all-cpus", "uses every CPU", |_| {
            let mut now = [0_u8; 8];
            call(
                libc::SYS_sched_getaffinity,
                &mut [Word::N(0), Word::N(8), Word::W(&mut now)],
            )?;
            match u64::from_ne_bytes(now).count_ones() {
                0 | 1 => Err(nothing("there is one CPU for it")),
                _ => Ok(()),
            }
        })
        .group(Group::Limited("cpu = 1.0"))
        .shown(LIMIT)
        .full("nothing")
        .bare("nothing"),
    ]
}

const MIB: usize = 1 << 20;

fn memory() -> Vec<Row> {
    vec![
        row("memory-one", "takes memory without end", |_| {
            take(256 * MIB).map(drop)
        })
        .group(Group::Limited("memory = \"128MiB\""))
        .shown(LIMIT)
        .full("ENOMEM ended")
        .bare("ENOMEM"),
        row(
            "memory-many",
            "takes memory without end in many processes",
            |f| {
                let children: Vec<i32> = (0..6)
                    .map(|_| {
                        sys::fork(|| {
                            let taken = take(64 * MIB);
                            std::thread::sleep(f.goes_on(Duration::from_secs(2)));
                            i32::from(taken.is_err())
                        })
                    })
                    .collect::<io::Result<_>>()?;
                for child in children {
                    match sys::wait(child, 60_000) {
                        sys::Ended::Code(0) => {}
                        _ => return Err(nothing("one of them was ended")),
                    }
                }
                Ok(())
            },
        )
        .group(Group::Limited("memory = \"128MiB\""))
        .shown(ISOLATED)
        .full("ended")
        .bare_open(COUNTED),
        row(
            "memory-shared",
            "takes shared memory, which is in no process's data",
            |f| {
                let fd =
                    call(libc::SYS_memfd_create, &mut [Word::T(c"m"), Word::N(0)]).map(owned)?;
                sys::fill_shared(&fd, 256 * MIB)?;
                std::thread::sleep(f.goes_on(Duration::from_secs(1)));
                Ok(())
            },
        )
        .group(Group::Limited("memory = \"128MiB\""))
        .shown(ISOLATED)
        .full("ended")
        .bare_open(COUNTED),
        row(
            "memory-files",
            "fills folders that are kept in memory",
            |f| {
                // Other runs have the same process ids.
                let run = f.text("root").replace('/', "-");
                let path = format!("/tmp/bailiwick-{}{run}", f.id);
                let written = fill(Path::new(&path), 192, Duration::ZERO);
                let _ = std::fs::remove_file(&path);
                written
            },
        )
        .group(Group::Limited("memory = \"128MiB\""))
        .shown(SCRATCH)
        .full("ENOSPC ended")
        .bare("EACCES"),
    ]
}

/// Takes memory and uses every page of it.
fn take(bytes: usize) -> io::Result<Vec<u8>> {
    let mut taken = Vec::new();
    taken
        .try_reserve_exact(bytes)
        .map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
    taken.resize(bytes, 1);
    Ok(taken)
}

/// Writes so many MiB into a file.
fn fill(path: &Path, size: usize, pause: Duration) -> io::Result<()> {
    let mut file = File::create(path)?;
    for _ in 0..size {
        file.write_all(&vec![1; MIB])?;
        std::thread::sleep(pause);
    }
    Ok(())
}

fn files() -> Vec<Row> {
    vec![
        row("disk", "fills the disk", |f| {
            fill(&f.own("large"), 64, f.goes_on(Duration::from_secs(2)) / 64)
        })
        .effect(|f: &Field| {
            let large = std::fs::metadata(f.own("large"));
            large.is_ok_and(|meta| meta.len() == (64 * MIB) as u64)
        })
        .group(Group::Limited("disk = \"8MiB\""))
        .shown(LIMIT)
        .full("ended")
        .bare("ended"),
        row("file-size", "makes a file that is too large", |f| {
            fill(&f.own("large"), 4, Duration::ZERO)
        })
        .group(Group::Limited("file_size = \"1MiB\""))
        .shown(LIMIT)
        .full("signal-25")
        .bare("signal-25"),
        row("open-files", "holds files open without end", |_| {
            let mut held = Vec::new();
            for _ in 0..200 {
                held.push(owned(call(libc::SYS_dup, &mut [Word::N(1)])?));
            }
            Ok(())
        })
        .group(Group::Limited("open_files = 100"))
        .shown(LIMIT)
        .full("EMFILE")
        .bare("EMFILE"),
    ]
}

/// What has no end by itself.
fn endless() -> Vec<Row> {
    vec![
        row("wall", "runs without end", |f| {
            std::thread::sleep(f.goes_on(Duration::from_secs(3)));
            Ok(())
        })
        .group(Group::Limited("wall = \"1s\""))
        .shown(LIMIT)
        .full("ended")
        .bare("ended"),
        row("output", "writes without end to whoever reads it", |_| {
            let line = [b'x'; 4096];
            (0..256).try_for_each(|_| io::stdout().write_all(&line))?;
            io::stdout().write_all(b"\n")
        })
        .group(Group::Limited("output = \"64KiB\""))
        .shown(LIMIT)
        .full("ended")
        .bare("ended"),
        row(
            "log-flood",
            "tries so much at once that not all of it is recorded, or decided in time",
            |f| {
                let port = f.port();
                let floods: Vec<_> = (0..FLOODS)
                    .map(|_| std::thread::spawn(move || flood(port)))
                    .collect();
                for flood in floods {
                    flood.join().map_err(|_| nothing("it was ended"))??;
                }
                std::fs::write(f.own("tried"), (FLOODS * EACH).to_string())
            },
        )
        .effect(|f| {
            let tried = std::fs::read_to_string(f.own("tried")).unwrap_or_default();
            tried.parse().is_ok_and(|tried: usize| recorded(f) < tried)
        })
        .group(Group::Alone)
        .shown(CONNECTIONS)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
        row(
            "slow-loris",
            "keeps hundreds of connections to the proxy waiting, each at the host's cost",
            // The gate serves three fifths of its descriptors.
            |f| {
                let connect = || TcpStream::connect((Ipv4Addr::LOCALHOST, PROXY));
                let waiting = (0..600)
                    .map(|_| connect())
                    .collect::<io::Result<Vec<_>>>()?;
                let mut last = connect()?;
                last.set_read_timeout(Some(f.patience()))?;
                last.write_all(b"GET http://granted.test/ HTTP/1.1\r\n\r\n")?;
                let answer = last.read(&mut [0; 1]);
                drop(waiting);
                match answer {
                    Ok(1..) => Ok(()),
                    _ => Err(nothing("it has to wait for those before it")),
                }
            },
        )
        .group(Group::Descriptors(900))
        .shown(CONNECTIONS)
        .full("nothing")
        .bare("EAFNOSUPPORT"),
    ]
}

/// Threads that ask, and how often each does.
const FLOODS: usize = 4;
const EACH: usize = 1500;

/// Connects again and again to where nothing is granted.
fn flood(port: u16) -> io::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::new(192, 0, 2, 10), port));
    for _ in 0..EACH {
        match TcpStream::connect_timeout(&address, Duration::from_secs(30)) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                return Err(nothing("nobody decided"));
            }
            Err(error) if error.raw_os_error() == Some(libc::EAFNOSUPPORT) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// How many attempts to connect the record has, or says that it lacks.
fn recorded(field: &Field) -> usize {
    let program = crate::machine::ground().join("bin/bailiwick");
    let mut command = std::process::Command::new(program);
    command
        .args(["log", "--json"])
        .env("XDG_STATE_HOME", field.state());
    let Ok(output) = command.output() else {
        panic!("the log is not shown");
    };
    // Without a sandbox there is none.
    if !output.status.success() {
        eprintln!("the log: {}", String::from_utf8_lossy(&output.stderr));
        return 0;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let acts = text.lines().filter_map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).ok()?;
        let act = &row["act"];
        match act["type"].as_str()? {
            "connect" => Some(1),
            "overflow" => usize::try_from(act["lost"].as_u64()?).ok(),
            _ => None,
        }
    });
    acts.sum()
}
