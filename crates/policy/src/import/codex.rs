//! Codex's `config.toml`: one of three ways to enclose a command, and which variables it gets.
//! The repository's own data stay as they are, as in Codex.

use super::draft::Draft;
use super::files::{self, Place};
use super::tree::{Item, Value};
use super::{srt, variables};
use crate::keys::KeyId;

/// The folders of a writable root that Codex keeps from being written.
const KEPT: [&str; 3] = [".git", ".codex", ".agents"];

/// Variables that the template passes and Codex calls the core.
const CORE: [&str; 9] = [
    "HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP",
];

/// Reads a configuration.
pub(super) fn read(draft: &mut Draft, whole: &Item<'_>) {
    let profile = chosen(draft, whole);
    let key = |name: &str| {
        let own = profile.as_ref().and_then(|profile| profile.key(name));
        own.or_else(|| whole.key(name))
    };
    let mode = key("sandbox_mode");
    let writes = match &mode {
        None => false,
        Some(item) => self::mode(draft, item),
    };
    if mode.is_none() {
        draft.leave(
            whole,
            "no `sandbox_mode` is said, so nothing in the workspace can be changed",
            "to let it be changed, extend \"default\" instead of \"read-only\" in the policy",
        );
    }
    draft.git_sealed = true;
    let known = ["sandbox_mode", "approval_policy", "profile"];
    for (name, item) in whole.keys() {
        match name {
            "sandbox_workspace_write" => workspace_write(draft, &item, writes),
            "shell_environment_policy" => environment(draft, &item),
            "approval_policy" => approval(draft, &item),
            "profiles" => profiles(draft, &item, profile.as_ref()),
            name if known.contains(&name) => {}
            "permissions" | "default_permissions" => draft.leave(
                &item,
                "permission profiles are not read, so nothing of them is in the policy",
                "write what they allow and deny into the policy by hand",
            ),
            _ => draft.leave(
                &item,
                "it is a matter of the agent, or not known here, so nothing of it is in the policy",
                "if it narrows what may be done, write that into the policy by hand",
            ),
        }
    }
    if let Some(profile) = &profile {
        for (name, item) in profile.keys() {
            match name {
                "sandbox_mode" => {}
                "approval_policy" => approval(draft, &item),
                _ => draft.leave(
                    &item,
                    "it is a matter of the agent, or not known here, so nothing of it is in the policy",
                    "",
                ),
            }
        }
    }
    srt::reading(draft, whole, "Codex");
}

/// The profile that the file chooses.
fn chosen<'a>(draft: &mut Draft, whole: &Item<'a>) -> Option<Item<'a>> {
    let item = whole.key("profile")?;
    let name = draft.word(&item)?;
    let found = whole.key("profiles").and_then(|all| all.key(name));
    match &found {
        Some(profile) => {
            draft.table(profile);
        }
        None => draft.wrong.push(item.error(
            "this profile is not in the file",
            "add it under [profiles], or remove this key",
        )),
    }
    found
}

fn profiles(draft: &mut Draft, table: &Item<'_>, chosen: Option<&Item<'_>>) {
    for (_, item) in draft.table(table) {
        if chosen.is_none_or(|chosen| chosen.path != item.path) {
            draft.leave(
                &item,
                "only the profile that `profile` chooses is imported",
                "set `profile` to its name and import the file again for a policy of its own",
            );
        }
    }
}

fn approval(draft: &mut Draft, item: &Item<'_>) {
    draft.leave(
        item,
        "nobody is asked in a sandbox: what the policy allows is done, everything else refused",
        "",
    );
}

/// Whether the workspace can be written.
fn mode(draft: &mut Draft, item: &Item<'_>) -> bool {
    match draft.word(item) {
        Some("read-only") => draft.sealed = Some(item.path.clone()),
        Some("workspace-write") => {
            draft.workspace = Some(item.path.clone());
            let inner = Item {
                path: format!("{} \"workspace-write\"", item.path),
                ..item.clone()
            };
            // The template that is extended has the two others.
            files::protect(draft, ".agents", &inner);
            return true;
        }
        Some("danger-full-access") => {
            draft.workspace = Some(item.path.clone());
            draft.leave(
                item,
                "a run without limits is not imported: the workspace is writable, its repository is not, and there is no network",
                "add what the work needs to [filesystem] write and [network] allow",
            );
        }
        Some(_) => draft.wrong.push(item.error(
            "this is no mode of a sandbox",
            "write \"read-only\", \"workspace-write\" or \"danger-full-access\"",
        )),
        None => {}
    }
    false
}

fn workspace_write(draft: &mut Draft, table: &Item<'_>, writes: bool) {
    for (name, item) in draft.table(table) {
        if !writes {
            draft.leave(
                &item,
                "it has an effect only with the mode \"workspace-write\", so it is not granted",
                "",
            );
            continue;
        }
        match name {
            "writable_roots" => {
                for (text, item) in draft.texts(&item) {
                    root(draft, text, &item);
                }
            }
            "network_access" => {
                if draft.flag(&item) == Some(true) {
                    draft.add(KeyId::NetworkAllow, "*:*", &item);
                    draft.leave(
                        &item,
                        "a policy's \"*\" does not cover this machine or private networks",
                        "name those that are needed in [network] allow, like \"localhost:5432\"",
                    );
                }
            }
            "exclude_slash_tmp" | "exclude_tmpdir_env_var" => draft.leave(
                &item,
                "every sandbox has an empty temporary folder of its own, not the machine's",
                "",
            ),
            _ => srt::leave(draft, name, &item, &[]),
        }
    }
}

/// A folder that may be written, but for what Codex keeps in it.
fn root(draft: &mut Draft, text: &str, item: &Item<'_>) {
    if text.contains(['*', '?', '[']) {
        draft.leave(
            item,
            "Codex knows no wildcards: this is a name, which a policy cannot say, so it is not granted, and nothing in it is protected by it",
            "name the folders that are meant in [filesystem] write",
        );
        return;
    }
    let granted = |draft: &Draft| draft.lines.len() + draft.inside.len();
    let before = granted(draft);
    files::write(draft, text, item);
    if granted(draft) == before {
        return;
    }
    if let Place::Fixed(root) | Place::Inside(root) | Place::Upward(root) = files::place(text) {
        for name in KEPT {
            files::protect(
                draft,
                &format!("{}/{name}", root.trim_end_matches('/')),
                item,
            );
        }
    }
}

fn environment(draft: &mut Draft, table: &Item<'_>) {
    let lists = |draft: &mut Draft, name: &str| {
        let item = table.key(name);
        item.map(|item| draft.texts(&item)).unwrap_or_default()
    };
    let exclude = lists(draft, "exclude");
    let inherit = table.key("inherit").and_then(|item| item.text());
    let keeps_secrets = table
        .key("ignore_default_excludes")
        .is_some_and(|item| item.node.value == Value::Flag(true));
    for (name, item) in draft.table(table) {
        match name {
            "set" => variables::set(draft, &item),
            "exclude" => draft.leave(
                &item,
                "only named variables pass, so what is excluded is not; those of the template (language, terminal, toolchains) pass nevertheless",
                "see them with `bailiwick policy show`",
            ),
            "include_only" => {
                for (text, item) in draft.texts(&item) {
                    let core = CORE.contains(&text);
                    let inherited = match inherit {
                        None | Some("all") => true,
                        Some("core") => core,
                        Some(_) => false,
                    };
                    let wild = text.contains(['*', '?', '[']);
                    let excluded = exclude.iter().any(|(pattern, _)| excludes(pattern, text))
                        || wild && !(exclude.is_empty() && keeps_secrets)
                        || !keeps_secrets && variables::is_secret(text);
                    if inherited && !excluded {
                        draft.add(KeyId::Pass, text, &item);
                    } else {
                        draft.leave(
                            &item,
                            "another key excludes it, or may, so it does not pass",
                            "add it to [environment] pass if it shall",
                        );
                    }
                }
            }
            "inherit" => {
                draft.word(&item);
                draft.leave(
                    &item,
                    "the template passes names of places and manners and nothing else",
                    "add what is missing to [environment] pass",
                );
            }
            "ignore_default_excludes" => {
                draft.flag(&item);
            }
            _ => srt::leave(draft, name, &item, &[]),
        }
    }
}

/// Whether a pattern of Codex, in which case does not matter, may mean a variable.
fn excludes(pattern: &str, name: &str) -> bool {
    let glob = globset::GlobBuilder::new(pattern)
        .case_insensitive(true)
        .build();
    glob.map_or(true, |glob| glob.compile_matcher().is_match(name))
}
