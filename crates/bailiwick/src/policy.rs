//! `bailiwick policy`.

use crate::Done;
use crate::cli::{ImportTool, PolicyArguments, PolicyCommand, PolicySource};
use crate::output;
use crate::question::agrees;
use bailiwick_event::{Failure, Text};
use bailiwick_policy::{Access, Explanation, Request, Tool};
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

/// Checks, shows, starts, imports and trusts policies.
pub(crate) fn policy(arguments: PolicyArguments) -> Done {
    match arguments.command {
        PolicyCommand::Check { files } => check(&files),
        PolicyCommand::Show { source, explain } => show(source, explain.as_deref()),
        PolicyCommand::New { template, output } => new(&template, &output),
        PolicyCommand::Import { tool, file, out } => import(tool, &file, out.as_deref()),
        PolicyCommand::Schema => {
            let schema =
                bailiwick_event::json::lines(&bailiwick_policy::schema()).map_err(|error| {
                    Failure::fault(format!("the schema cannot be written: {error}"))
                })?;
            output::print(&(schema + "\n"))?;
            Ok(0)
        }
        PolicyCommand::Trust { source, yes } => trust(source, yes),
    }
}

fn request(source: PolicySource) -> Request {
    let workspace = source.workspace.unwrap_or_else(|| ".".into());
    Request::from_environment(source.policy, workspace)
}

fn check(files: &[std::path::PathBuf]) -> Done {
    let project = [Path::new("bailiwick.toml").to_path_buf()];
    let files = if files.is_empty() { &project } else { files };
    let mut code = 0;
    for file in files {
        // What is wrong with one file is no reason to say nothing of the next.
        if let Err(failure) = check_one(file) {
            output::complain(&failure);
            code = failure.exit_code().max(code);
        }
    }
    Ok(code)
}

fn check_one(file: &Path) -> Result<(), Failure> {
    if !file.exists() {
        return Err(Failure::usage(format!(
            "there is no file {}; name the policies to look at, `bailiwick policy check FILE`, \
             or write one with `bailiwick policy new`",
            Text::from(file.as_os_str())
        )));
    }
    for notice in bailiwick_policy::check(file)? {
        output::print(&format!("{notice}\n"))?;
    }
    output::print(&format!("{}: no mistakes\n", Text::from(file.as_os_str())))
}

fn show(source: PolicySource, explain: Option<&OsStr>) -> Done {
    let loaded = bailiwick_policy::load(&request(source))?;
    let Some(subject) = explain else {
        output::print(&bailiwick_policy::render_show(&loaded))?;
        return Ok(0);
    };
    let text = subject.to_string_lossy();
    if let Some((_, rest)) = text.split_once("://") {
        let host = rest.split('/').next().unwrap_or_default();
        return Err(Failure::usage(format!(
            "{text}: a URL is neither a path nor a host; write the host alone, with a port or without: \
             {host}"
        )));
    }
    // A path has a '/' in it, begins with '.' or '~', or exists; everything else is a host.
    let is_path = text.starts_with(['.', '~']) || text.contains('/');
    let path = is_path || Path::new(subject).exists();
    let explanation = if path {
        let home = &loaded.effective.home;
        let full = match text.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None if text == "~" => home.clone(),
            None => {
                std::path::absolute(subject).map_err(|e| Failure::usage(format!("{text}: {e}")))?
            }
        };
        let mut explanation = loaded.effective.explain_path(&full);
        let subject = Path::new(&explanation.subject);
        let refused = (explanation.access == Access::Write)
            .then(|| bailiwick_process::refused_inside(&loaded.effective, subject));
        if let Some((rule, note)) = refused.flatten() {
            let access = Access::Protected;
            explanation = Explanation {
                access,
                rule,
                note,
                ..explanation
            };
        }
        explanation
    } else {
        loaded
            .effective
            .explain_host(&text)
            .map_err(Failure::Usage)?
    };
    output::print(&format!("{explanation}\n"))?;
    if !path && !text.contains(':') {
        let shown = Text::from(subject);
        output::print(&format!(
            "  taken as a host, since no file here has this name; a path is written ./{shown}\n"
        ))?;
    }
    Ok(0)
}

fn new(template: &str, path: &Path) -> Done {
    let text = bailiwick_policy::new_file(template)?;
    if path == Path::new("-") {
        output::print(&text)?;
        return Ok(0);
    }
    write_new(path, &text, "--output")?;
    output::print(&format!(
        "{} written; it extends `{template}`\n",
        path.display()
    ))?;
    Ok(0)
}

/// Writes a file that must not exist.
fn write_new(path: &Path, text: &str, flag: &str) -> Result<(), Failure> {
    std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|e| {
            Failure::usage(format!(
                "{} cannot be written: {e}; choose another file with {flag}",
                path.display()
            ))
        })
}

fn import(tool: ImportTool, file: &Path, out: Option<&Path>) -> Done {
    let tool = match tool {
        ImportTool::Fence => Tool::Fence,
        ImportTool::Claude => Tool::Claude,
        ImportTool::Srt => Tool::Srt,
        ImportTool::Codex => Tool::Codex,
    };
    let request = Request::from_environment(Vec::new(), ".".into());
    let imported = bailiwick_policy::import(tool, file, &request)?;
    match out {
        Some(path) => {
            write_new(path, &imported.policy, "--out")?;
            bailiwick_policy::check(path)?;
        }
        None => output::print(&imported.policy)?,
    }
    let mut told = String::new();
    for left in &imported.left_out {
        told.push_str(&format!("{left}\n"));
    }
    let count = imported.left_out.len();
    told.push_str(&format!(
        "{count} not carried over exactly; docs/importing.md says more\n"
    ));
    let _ = std::io::stderr().lock().write_all(told.as_bytes());
    if let Some(path) = out {
        output::print(&format!("{} written\n", path.display()))?;
    }
    Ok(0)
}

fn trust(source: PolicySource, yes: bool) -> Done {
    let candidate = bailiwick_policy::trust(&request(source))?;
    let path = Text::from(candidate.path.as_os_str());
    let subject = match (candidate.files.as_slice(), candidate.hosts.as_slice()) {
        ([], _) => format!("the hosts that files of {path} give to sets"),
        (_, []) => path.to_string(),
        _ => format!("{path} and the hosts that files of the workspace give to sets"),
    };
    if candidate.trusted {
        output::print(&format!("trusted as it stands: {subject}\n"))?;
        for host in &candidate.hosts {
            output::print(&format!("  {host}\n"))?;
        }
        return Ok(0);
    }
    output::print(&format!("{}\n", candidate.diff))?;
    if !yes {
        let question = format!("Trust {subject}, exactly as shown?");
        let nobody = || {
            Failure::usage(
                "nobody can be asked here; read the lines above and run it again with --yes",
            )
        };
        if !agrees(&question, nobody)? {
            output::print("not trusted\n")?;
            return Ok(1);
        }
    }
    candidate.store()?;
    output::print(&format!("trusted until it changes: {subject}\n"))?;
    Ok(0)
}
