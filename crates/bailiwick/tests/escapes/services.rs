//! The rest of the host: a process with a secret in its memory, servers on every kind of socket, and
//! whatever else an escape would reach. It is a process of its own, so that a signal or a debugger
//! finds something to hit, and writes down what reaches it.

use crate::field::{Field, SECRET, TOKEN};
use crate::sys::{Word, call};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where a sandbox finds its name server.
pub(crate) const NAMESERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Where it finds its proxy.
pub(crate) const PROXY: u16 = 14_829;

/// The host of one run.
pub(crate) struct Services {
    pub(crate) field: Field,
    victim: Child,
    /// What the caller has open: a file and a folder that nobody inside may see.
    inherited: [OwnedFd; 2],
    /// The master's side of the caller's terminal.
    master: OwnedFd,
    terminal: PathBuf,
}

impl Services {
    /// Starts everything; what there is to know is in the field.
    pub(crate) fn start(mut field: Field, program: &Path) -> io::Result<Self> {
        let mut victim = Command::new(program)
            .arg("--services")
            .arg(field.outside())
            .current_dir(field.outside())
            .env("HOST_TOKEN", SECRET)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        field.know("victim", victim.id());
        if let Some(out) = victim.stdout.take() {
            for line in BufReader::new(out).lines() {
                let line = line?;
                match line.split_once('=') {
                    Some((key, value)) => field.know(key, value),
                    None => break,
                }
            }
        }
        let outside = field.outside();
        field.know("agent", outside.join("agent").display());
        // With numbers that are not those that they are handed down as.
        let far = |file: File| rustix::io::fcntl_dupfd_cloexec(file, 100);
        let inherited = [
            far(File::open(field.secret())?)?,
            far(File::open(&outside)?)?,
        ];
        let (master, terminal) = terminal()?;
        field.know("terminal", terminal.display());
        let meta = std::fs::metadata(&terminal)?;
        field.know("terminal-device", format!("{} {}", meta.dev(), meta.rdev()));
        Ok(Self {
            field,
            victim,
            inherited,
            master,
            terminal,
        })
    }

    /// Has the command inherit what a caller may have open, and with `terminal` the caller's
    /// terminal as its own.
    pub(crate) fn hand_down(&self, command: &mut Command, terminal: bool) -> io::Result<()> {
        let [file, folder] = self.inherited.each_ref().map(AsRawFd::as_raw_fd);
        if terminal {
            let flags = libc::O_RDWR | libc::O_NOCTTY;
            command.stdin(crate::act::open(&self.terminal, flags)?);
        } else {
            command.stdin(Stdio::null());
        }
        let prepare = move || {
            call(libc::SYS_dup2, &mut [Word::N(file.into()), Word::N(7)])?;
            call(libc::SYS_dup2, &mut [Word::N(folder.into()), Word::N(8)])?;
            if terminal {
                call(libc::SYS_setsid, &mut [])?;
                let request = libc::TIOCSCTTY.cast_signed();
                call(
                    libc::SYS_ioctl,
                    &mut [Word::N(0), Word::N(request), Word::N(0)],
                )?;
            }
            Ok(())
        };
        // SAFETY: only system calls are made, with numbers alone.
        unsafe { command.pre_exec(prepare) };
        Ok(())
    }
}

impl Drop for Services {
    fn drop(&mut self) {
        let _ = self.victim.kill();
        let _ = self.victim.wait();
        let _ = self.master.as_raw_fd();
        // What is not in a file system would outlive the run.
        for (call_number, key) in [(libc::SYS_shmctl, "shm"), (libc::SYS_msgctl, "msg")] {
            let id = self.field.number(key);
            let _ = call(
                call_number,
                &mut [Word::N(id), Word::N(libc::IPC_RMID.into()), Word::N(0)],
            );
        }
        let sem = self.field.number("sem");
        let _ = call(
            libc::SYS_semctl,
            &mut [Word::N(sem), Word::N(0), Word::N(libc::IPC_RMID.into())],
        );
        let _ = call(libc::SYS_mq_unlink, &mut [Word::T(c"bailiwick-escapes")]);
        let _ = std::fs::remove_file(self.field.text("shared"));
    }
}

/// A pseudo-terminal of the host.
pub(crate) fn terminal() -> io::Result<(OwnedFd, PathBuf)> {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    Ok((
        master,
        PathBuf::from(String::from_utf8_lossy(name.as_bytes()).into_owned()),
    ))
}

/// Becomes the services of a run; ends when its input does.
pub(crate) fn serve(outside: &Path) -> io::Result<()> {
    block_signals();
    let mut known = Field::default();
    for path in ["docker", "agent"] {
        let listener = UnixListener::bind(outside.join(path))?;
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.write_all(TOKEN);
            }
        });
    }
    let abstract_name = format!("bailiwick-escapes-{}", outside.display());
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name)?)?;
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(TOKEN);
        }
    });
    known.know("abstract", abstract_name);
    let datagrams = UnixDatagram::bind(outside.join("log"))?;
    let arrived = outside.join("arrived");
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(length) = datagrams.recv(&mut bytes) {
            note(&arrived, &String::from_utf8_lossy(&bytes[..length]));
        }
    });
    let ports = tcp_servers(&mut known)?;
    udp_servers(ports)?;
    proxy()?;
    shared(&mut known, outside)?;
    let secret: &'static [u8] = Box::leak(SECRET.as_bytes().to_vec().into_boxed_slice());
    known.know("address", secret.as_ptr() as usize);
    let _file = File::open(outside.join("secret"))?;
    known.know("descriptor", _file.as_raw_fd());
    let signals = outside.join("signals");
    let path = outside.join("known");
    known.write(&path)?;
    print!("{}", std::fs::read_to_string(&path)?);
    println!("ready");
    io::stdout().flush()?;
    std::thread::spawn(|| {
        let _ = io::stdin().read(&mut [0; 1]);
        std::process::exit(0);
    });
    // In the first thread, which is whom a signal to the process's own number means.
    wait_for_signals(&signals)
}

fn note(file: &Path, line: &str) {
    let mut options = std::fs::OpenOptions::new();
    if let Ok(mut file) = options.append(true).create(true).open(file) {
        let _ = writeln!(file, "{line}");
    }
}

/// Servers on every address, at a port of the run's and at those that have a meaning.
fn tcp_servers(known: &mut Field) -> io::Result<u16> {
    let first = TcpListener::bind("[::]:0")?;
    let port = first.local_addr()?.port();
    known.know("port", port);
    let mut listeners = vec![first];
    for port in [53, 80, 443, 853] {
        listeners.push(TcpListener::bind(("::", port))?);
    }
    for listener in listeners {
        // The standard library's 128 that may wait are soon too few where a row connects again and
        // again: whoever comes then is answered a second later.
        let socket = listener.as_raw_fd().into();
        call(libc::SYS_listen, &mut [Word::N(socket), Word::N(4096)])?;
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.write_all(TOKEN);
            }
        });
    }
    Ok(port)
}

fn udp_servers(port: u16) -> io::Result<()> {
    for port in [port, 53, 443] {
        let socket = UdpSocket::bind(("::", port))?;
        // An answer must come from the address that was asked.
        let on = 1_i32.to_ne_bytes();
        let _ = call(
            libc::SYS_setsockopt,
            &mut [
                Word::N(socket.as_raw_fd().into()),
                Word::N(libc::IPPROTO_IP.into()),
                Word::N(libc::IP_PKTINFO.into()),
                Word::R(&on),
                Word::N(4),
            ],
        );
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok((_, from)) = socket.recv_from(&mut bytes) {
                let _ = socket.send_to(TOKEN, from);
            }
        });
    }
    Ok(())
}

/// A proxy that connects to everything, as far as its client can tell.
fn proxy() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY))?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Each by itself: whoever says nothing keeps nobody else waiting.
            std::thread::spawn(move || let_through(stream));
        }
    });
    Ok(())
}

fn let_through(mut stream: TcpStream) -> io::Result<()> {
    let mut bytes = [0; 4096];
    let length = stream.read(&mut bytes)?;
    if length > 0 && bytes[0] == 5 {
        stream.write_all(&[5, 0])?;
        let _ = stream.read(&mut bytes);
        stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    } else {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    }
    stream.write_all(TOKEN)
}

/// What processes of the host share without files.
fn shared(known: &mut Field, outside: &Path) -> io::Result<()> {
    let new = Word::N(i64::from(libc::IPC_CREAT) | 0o600);
    let private = i64::from(libc::IPC_PRIVATE);
    let shm = call(
        libc::SYS_shmget,
        &mut [Word::N(private), Word::N(4096), new],
    )?;
    known.know("shm", shm);
    // SAFETY: the kernel chooses the address; the segment of one page is this process's from here on.
    let at = unsafe { libc::shmat(shm as i32, std::ptr::null(), 0) };
    // SAFETY: the segment is longer than the secret, and nobody else writes it meanwhile.
    unsafe { std::ptr::copy_nonoverlapping(SECRET.as_ptr(), at.cast(), SECRET.len()) };
    let new = Word::N(i64::from(libc::IPC_CREAT) | 0o600);
    let sem = call(libc::SYS_semget, &mut [Word::N(private), Word::N(1), new])?;
    known.know("sem", sem);
    let new = Word::N(i64::from(libc::IPC_CREAT) | 0o600);
    let msg = call(libc::SYS_msgget, &mut [Word::N(private), new])?;
    known.know("msg", msg);
    let message = [&1_i64.to_ne_bytes()[..], SECRET.as_bytes()].concat();
    let length = SECRET.len() as i64;
    call(
        libc::SYS_msgsnd,
        &mut [Word::N(msg), Word::R(&message), Word::N(length), Word::N(0)],
    )?;
    let flags = i64::from(libc::O_RDWR | libc::O_CREAT);
    let queue = call(
        libc::SYS_mq_open,
        &mut [
            Word::T(c"bailiwick-escapes"),
            Word::N(flags),
            Word::N(0o600),
            Word::N(0),
        ],
    )?;
    call(
        libc::SYS_mq_timedsend,
        &mut [
            Word::N(queue),
            Word::R(SECRET.as_bytes()),
            Word::N(length),
            Word::N(0),
            Word::N(0),
        ],
    )?;
    let name = outside.to_string_lossy().replace('/', "-");
    let file = PathBuf::from(format!("/dev/shm/bailiwick-escapes{name}"));
    std::fs::write(&file, SECRET)?;
    known.know("shared", file.display());
    Ok(())
}

/// Signals wait for [`wait_for_signals`] in every thread; those that would stop or end the process
/// do nothing either.
fn block_signals() {
    // SAFETY: an all-zero set is valid and sigfillset fills it; the old mask is not asked for.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}

fn wait_for_signals(file: &Path) -> ! {
    loop {
        let mut signal = 0;
        // SAFETY: the set is filled before it is read, and both live through the call.
        let result = unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::sigwait(&raw const all, &raw mut signal)
        };
        if result == 0 {
            note(file, &signal.to_string());
        }
    }
}
