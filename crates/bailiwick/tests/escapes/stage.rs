//! One cell of the matrix, run from its own "host": the surroundings are set up, the acts are tried
//! outside, inside, and inside a test build without the layers that stop them, and what came of each is
//! printed, one line each: `PHASE`, `ROW`, `WORD`, between tabs.

use crate::field::{Field, HOST, SECRET};
use crate::inside;
use crate::row::{Expect, Group, Mode, Row, Who};
use crate::services::Services;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Programs that a stage starts.
pub(crate) struct Programs {
    /// The product.
    pub(crate) product: PathBuf,
    /// The product with switches.
    pub(crate) switches: PathBuf,
    /// This executable.
    pub(crate) own: PathBuf,
}

/// Runs all phases of a cell.
pub(crate) fn run(who: Who, mode: Mode, only: &[String], programs: &Programs) -> io::Result<()> {
    crate::table::keys::prepare();
    let rows: Vec<Row> = crate::table::rows()
        .into_iter()
        .filter(|row| only.is_empty() || only.iter().any(|id| id == row.id))
        .collect();
    let stage = Stage {
        who,
        mode,
        programs,
        count: std::cell::Cell::new(0),
    };
    stage.phase("control", &rows, None, &programs.product)?;
    if who == Who::User && mode == Mode::Full {
        // What an ordinary user may do in namespaces of his own.
        let mut rows = crate::table::rows();
        rows.retain(|row| {
            let wanted = only.is_empty() || only.iter().any(|id| id == row.id);
            wanted && row.own_namespaces
        });
        stage.phase("control", &rows, Some("host"), &programs.product)?;
    }
    stage.phase("inside", &rows, None, &programs.product)?;
    if who == Who::User && mode != Mode::Container {
        let mut rows = crate::table::rows();
        rows.retain(|row| is_landlocks(row) && (only.is_empty() || only.contains(&row.id.into())));
        for abi in OLDER {
            let phase = format!("landlock {abi}");
            stage.phase(&phase, &rows, Some(&phase), &programs.switches)?;
        }
    }
    let sets: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row.without(who, mode))
        .collect();
    for without in sets {
        let rows = crate::table::rows();
        let rows: Vec<Row> = rows
            .into_iter()
            .filter(|row| only.is_empty() || only.iter().any(|id| id == row.id))
            .filter(|row| row.without(who, mode) == Some(without))
            .collect();
        let phase = format!("without {without}");
        stage.phase(&phase, &rows, Some(without), &programs.switches)?;
    }
    Ok(())
}

/// How many milliseconds a company may take, on the busiest machine.
const PATIENCE: u64 = 300_000;
/// For how many an act goes on that is to be ended: a busy machine takes its time to see that it is over its
/// limit.
const GOES_ON: u64 = 30_000;

/// Versions of Landlock before the newest that is used.
pub(crate) const OLDER: [u32; 5] = [1, 2, 3, 4, 5];

/// Whether Landlock is among what stops the row's act, which is tried with others.
pub(crate) fn is_landlocks(row: &Row) -> bool {
    let named = row
        .shown
        .iter()
        .any(|shown| shown.without.contains("landlock"));
    named && row.group == Group::Together
}

struct Stage<'a> {
    who: Who,
    mode: Mode,
    programs: &'a Programs,
    count: std::cell::Cell<u32>,
}

impl Stage<'_> {
    fn phase(
        &self,
        phase: &str,
        rows: &[Row],
        without: Option<&str>,
        binary: &Path,
    ) -> io::Result<()> {
        let mut groups: BTreeMap<(Group, usize), Vec<&Row>> = BTreeMap::new();
        for (number, row) in rows.iter().enumerate() {
            let company = match row.group {
                Group::Together => 0,
                _ => number,
            };
            groups.entry((row.group, company)).or_default().push(row);
        }
        for ((group, _), rows) in groups {
            let outcome = self.company(phase == "control", group, &rows, without, binary)?;
            for (id, word) in outcome {
                println!("{phase}\t{id}\t{word}");
            }
        }
        Ok(())
    }

    /// Whether the run is to be ended because of the act.
    fn is_ended(&self, row: &Row) -> bool {
        let expected = row.expected(self.who, self.mode);
        matches!(expected, Expect::Held(words) if words.split(' ').any(|word| word == "ended"))
    }

    /// Tries the acts of rows that can stand each other.
    fn company(
        &self,
        control: bool,
        group: Group,
        rows: &[&Row],
        without: Option<&str>,
        binary: &Path,
    ) -> io::Result<Vec<(String, String)>> {
        self.count.set(self.count.get() + 1);
        let root = crate::machine::ground().join(format!("{}", self.count.get()));
        let mut field = make_field(&root, rows)?;
        field.know("run", self.count.get());
        let ends = !control && without.is_none() && rows.iter().any(|row| self.is_ended(row));
        field.know("goes-on", if ends { GOES_ON } else { 0 });
        let held = without.is_none_or(|without| without.starts_with("landlock "));
        field.know("answered", u8::from(control || !held));
        let services = Services::start(field, &self.programs.own)?;
        let field = &services.field;
        let workspace = field.workspace();
        field.write(&workspace.join("field"))?;
        let attacker = workspace.join("attacker");
        let mut command;
        if control {
            match without {
                None => command = Command::new(&attacker),
                Some(_) => {
                    command = Command::new("unshare");
                    command
                        .args(["--user", "--map-current-user", "--keep-caps", "--mount"])
                        .args(["--pid", "--fork", "--uts", "--net"])
                        .arg(&attacker);
                }
            }
        } else {
            command = Command::new(binary);
            command.args(["run", "--workspace"]).arg(&workspace);
            let policy = root.join("policy.toml");
            std::fs::write(&policy, policy_text(group, &root))?;
            command.arg("--policy").arg(policy);
            if self.mode != Mode::Full {
                command.arg("--best-effort");
            }
            command.arg("--").arg(&attacker);
        }
        command.arg("--inside").arg(workspace.join("field"));
        command.args(rows.iter().map(|row| row.id));
        command
            .current_dir(&workspace)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
            .env("HOME", field.home())
            .env("XDG_STATE_HOME", root.join("state"))
            .env("XDG_CONFIG_HOME", root.join("config"))
            .env("HOST_TOKEN", SECRET)
            .env("SSH_AUTH_SOCK", field.text("agent"))
            .env("LD_PRELOAD", "libm.so.6")
            .env("BASH_ENV", "/absent.sh")
            .env("GIT_SSH_COMMAND", "/absent")
            .env("BAILIWICK_TEST_WITHOUT", without.unwrap_or_default());
        if let Some(abi) = without.and_then(|without| without.strip_prefix("landlock ")) {
            command.env("BAILIWICK_TEST_LANDLOCK_ABI", abi);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        services.hand_down(&mut command, group == Group::Terminal)?;
        if let Group::Descriptors(most) = group {
            let most = Some(most);
            let limit = Rlimit {
                current: most,
                maximum: most,
            };
            // SAFETY: the closure makes one system call and allocates nothing.
            unsafe { command.pre_exec(move || Ok(setrlimit(Resource::Nofile, limit)?)) };
        }
        let begun = std::time::Instant::now();
        let output = crate::patience::run(command, PATIENCE)?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if std::env::var_os("BAILIWICK_ESCAPES_VERBOSE").is_some() {
            eprintln!(
                "--- {} {} without {without:?}, control {control}, {} ms for {} rows\n{printed}{}",
                self.who.name(),
                self.mode.name(),
                begun.elapsed().as_millis(),
                rows.len(),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let said: BTreeMap<&str, &str> = printed
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .collect();
        let started = printed.contains("began\t");
        let outcome = rows.iter().map(|row| {
            let own = said.get(row.id).copied();
            let seen = row.effect.map(|effect| effect(&field.of(row.id)));
            let word = match (own, seen) {
                (_, Some(true)) => "done".to_owned(),
                (Some("done"), Some(false)) => "nothing".to_owned(),
                (Some(word), _) => word.to_owned(),
                (None, _) if started => "ended".to_owned(),
                (None, _) => format!(
                    "not started: {}",
                    String::from_utf8_lossy(&output.stderr).replace(['\n', '\t'], " ")
                ),
            };
            (row.id.to_owned(), word)
        });
        let outcome = outcome.collect();
        drop(services);
        make_removable(&root);
        std::fs::remove_dir_all(&root)?;
        Ok(outcome)
    }
}

/// What an escape did to a folder's mode, or mounted where it may, must not keep it from being removed.
fn make_removable(path: &Path) {
    use rustix::mount::{UnmountFlags, unmount};
    let _ = unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW);
    if !path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        return;
    }
    let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755));
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        make_removable(&entry.path());
    }
}

fn policy_text(group: Group, root: &Path) -> String {
    let limits = match group {
        Group::Limited(limits) => limits,
        _ => "",
    };
    format!(
        "extends = [\"default\"]\n[filesystem]\nread = [\"{root}/readable\"]\n\
         write = [\"{}\"]\n\
         deny = [\"**/*.secret\", \"{root}/workspace/denied*\", \"{root}/readable/hidden*\"]\n\
         [limits]\n{limits}\n",
        crate::machine::ground().join("planted").display(),
        root = root.display()
    )
}

/// Makes the files of the host for these rows.
fn make_field(root: &Path, rows: &[&Row]) -> io::Result<Field> {
    let folder = |path: &Path| {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(path)
    };
    let file = |path: &Path, content: &str, mode: u32| -> io::Result<()> {
        if let Some(parent) = path.parent() {
            folder(parent)?;
        }
        let mut open = std::fs::OpenOptions::new();
        let open = open.write(true).create(true).truncate(true).mode(mode);
        io::Write::write_all(&mut open.open(path)?, content.as_bytes())
    };
    let mut field = Field::default();
    field.know("root", root.display());
    let workspace = field.workspace();
    for folder_name in ["state", "config", "home", "readable", "workspace"] {
        folder(&root.join(folder_name))?;
    }
    file(&field.secret(), SECRET, 0o600)?;
    file(&field.home().join(".ssh/id"), SECRET, 0o600)?;
    for name in [
        "denied/key",
        "deep/er/x.secret",
        "deep/er/y.secret",
        "deeper/z.secret",
    ] {
        file(&workspace.join(name), SECRET, 0o600)?;
    }
    let outside = field.outside();
    file(&outside.join("tool"), "#!/bin/sh\nexit 42\n", 0o755)?;
    std::os::unix::fs::symlink("of the host", outside.join("link"))?;
    std::os::unix::fs::symlink(&outside, workspace.join("planted"))?;
    rustix::fs::setxattr(
        field.secret(),
        "user.of-host",
        b"1",
        rustix::fs::XattrFlags::empty(),
    )?;
    file(&workspace.join(".mcp.json"), HOST, 0o644)?;
    file(
        &workspace.join(".git/HEAD"),
        "ref: refs/heads/main\n",
        0o644,
    )?;
    file(
        &workspace.join(".git/config"),
        "[core]\n\tbare = false\n",
        0o644,
    )?;
    file(&workspace.join(".git/hooks/pre-commit"), HOST, 0o755)?;
    for name in [".idea/file", ".cursor/file", ".claude/commands/file"] {
        file(&workspace.join(name), HOST, 0o644)?;
    }
    folder(&workspace.join(".git/objects"))?;
    folder(&workspace.join(".git/refs"))?;
    for row in rows {
        let field = field.of(row.id);
        for path in [field.target(), field.readable(), field.protected()] {
            file(&path, HOST, 0o644)?;
        }
        folder(&field.folder())?;
    }
    let attacker = workspace.join("attacker");
    std::fs::hard_link(inside::executable()?, &attacker)?;
    std::fs::hard_link(&attacker, root.join("readable/hidden"))?;
    field.know(
        "planted",
        crate::machine::ground().join("planted").display(),
    );
    field.know(
        "handle",
        crate::table::kernel::handle(&field.secret()).unwrap_or_default(),
    );
    Ok(field)
}
