//! Other ways to show a folder of the host's to a machine: the bare machine with 9P as QEMU has it, and
//! with virtiofsd. Same kernel, same program in it; nobody's sandbox around QEMU or the daemon.

use super::ground::Ground;
use super::worker::{Server, Worker};
use crate::program;
use crate::verdict::Verdict;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The series of 9P that writes back (`cache=mmap`).
pub(super) const NINE_P: &str = "bare 9P";
/// The series of 9P whose cache takes the host's files for its own.
pub(super) const LOOSE: &str = "bare 9P, cache=loose";
/// The series of virtio-fs.
pub(super) const VIRTIOFSD: &str = "virtiofsd";
/// Where the daemon lies that no PATH leads to.
const PLACES: [&str; 2] = ["/usr/lib/qemu/virtiofsd", "/usr/libexec/virtiofsd"];
/// Where the bare machine has the folder.
const SHARE: &str = "/share";
/// How long the daemon may take until it listens.
const PATIENCE: Duration = Duration::from_secs(10);

/// The series that there is not, and why.
pub(super) type Missing = (&'static str, Verdict);

/// All of them; in place of one that there is not, why.
pub(super) fn all(ground: &Ground<'_>) -> Result<Vec<Result<Worker, Missing>>, Verdict> {
    let bare = ground.bare()?;
    let workspace = ground.fixture.workspace();
    let guest = bare
        .guest()
        .map_err(|failure| Verdict::Fail(failure.to_string()))?;
    let nine_p = |name, how: &str| {
        let devices = [
            "-fsdev".to_owned(),
            format!(
                "local,id=share,path={},security_model=none,multidevs=remap",
                workspace.display()
            ),
            "-device".to_owned(),
            "virtio-9p-device,fsdev=share,mount_tag=share".to_owned(),
        ];
        let words = bare.words(&guest, &devices, &format!("bench share {how}"));
        begin(name, &words, None)
    };
    let virtiofs = || {
        let socket = ground.fixture.peers().join("virtiofs.socket");
        let server = daemon(&socket, &workspace)?;
        let devices = [
            "-chardev".to_owned(),
            format!("socket,id=share,path={}", socket.display()),
            "-device".to_owned(),
            "vhost-user-fs-device,chardev=share,tag=share,queue-size=1024".to_owned(),
        ];
        let words = bare
            .shared()
            .words(&guest, &devices, "bench share virtiofs");
        begin(VIRTIOFSD, &words, Some(server))
    };
    Ok(vec![
        nine_p(NINE_P, "9p").map_err(|why| (NINE_P, why)),
        nine_p(LOOSE, "9p-loose").map_err(|why| (LOOSE, why)),
        virtiofs().map_err(|why| (VIRTIOFSD, why)),
    ])
}

/// Starts a machine; one that cannot mount says why and ends.
fn begin(
    name: &'static str,
    words: &[OsString],
    server: Option<Server>,
) -> Result<Worker, Verdict> {
    let mut worker = Worker::bare(name, words, Path::new(SHARE), server)?;
    worker
        .begun()
        .map_err(|verdict| Verdict::DoesNotStart(verdict.reason().to_owned()))?;
    Ok(worker)
}

/// virtiofsd, as it is without settings.
fn daemon(socket: &Path, workspace: &Path) -> Result<Server, Verdict> {
    let does_not = |why: String| Verdict::DoesNotStart(format!("virtiofsd: {why}"));
    let found = program::find("virtiofsd").map(|program| program.path);
    let known = PLACES.iter().map(PathBuf::from).find(|path| path.exists());
    let program = found
        .or(known)
        .ok_or_else(|| Verdict::Absent("virtiofsd is not installed".to_owned()))?;
    let _ = std::fs::remove_file(socket);
    let mut server = Server(
        Command::new(program)
            .arg(format!("--socket-path={}", socket.display()))
            .args(["-o", &format!("source={}", workspace.display())])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| does_not(error.to_string()))?,
    );
    let began = Instant::now();
    while !socket.exists() {
        match server.0.try_wait() {
            Ok(Some(end)) => return Err(does_not(format!("it ended with {end}"))),
            _ if began.elapsed() > PATIENCE => {
                return Err(does_not("it does not listen".to_owned()));
            }
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    Ok(server)
}
