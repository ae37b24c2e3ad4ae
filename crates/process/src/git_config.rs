//! The user's git configuration, as far as it is only a preference. Sections that run programs,
//! carry credentials or lead to other files stay outside: an allow list, because git grows keys.

use std::fs;
use std::path::Path;

/// Sections that hold preferences alone.
const SECTIONS: [&str; 27] = [
    "user",
    "author",
    "committer",
    "init",
    "color",
    "column",
    "commit",
    "branch",
    "push",
    "pull",
    "fetch",
    "rebase",
    "merge",
    "diff",
    "log",
    "status",
    "tag",
    "rerere",
    "advice",
    "help",
    "apply",
    "core",
    "pack",
    "index",
    "feature",
    "safe",
    "i18n",
];
/// Keys of those sections that run a program, name a file, or need a key that stays outside.
const DROPPED: [&str; 22] = [
    "editor",
    "pager",
    "sshcommand",
    "hookspath",
    "fsmonitor",
    "askpass",
    "gitproxy",
    "alternaterefscommand",
    "excludesfile",
    "attributesfile",
    "gpgsign",
    "forcesignannotated",
    "signingkey",
    "tool",
    "guitool",
    "external",
    "driver",
    "textconv",
    "command",
    "template",
    "worktree",
    "templatedir",
];

/// `~/.gitconfig` and `~/.config/git/config` without what must stay outside; none where the
/// user has neither.
pub(crate) fn of_home(home: &Path) -> Option<Vec<u8>> {
    let texts: Vec<String> = [".config/git/config", ".gitconfig"]
        .iter()
        .filter_map(|name| fs::read_to_string(home.join(name)).ok())
        .collect();
    (!texts.is_empty()).then(|| {
        texts
            .iter()
            .map(|t| filtered(t))
            .collect::<String>()
            .into_bytes()
    })
}

/// Keeps the lines of allowed sections. A value that continues on the next line is dropped with
/// its key: what is not plainly harmless does not pass.
fn filtered(text: &str) -> String {
    let mut kept = String::new();
    let mut allowed = false;
    let mut continued = false;
    for line in text.lines() {
        let trimmed = line.trim();
        let continues = trimmed.ends_with('\\');
        if continued {
            continued = continues;
            continue;
        }
        if let Some(rest) = trimmed.strip_prefix('[') {
            let name = rest.split([' ', '\t', ']', '.', '"']).next().unwrap_or("");
            let plain = rest.ends_with(']') && rest.matches(']').count() == 1;
            allowed = plain && SECTIONS.contains(&name.to_ascii_lowercase().as_str());
            if allowed {
                kept.push_str(trimmed);
                kept.push('\n');
            }
            continue;
        }
        continued = continues;
        let key = trimmed
            .split(['=', ' ', '\t'])
            .next()
            .unwrap_or("")
            .to_ascii_lowercase();
        let plain = !continues && !key.is_empty() && !key.starts_with(['#', ';']);
        if allowed && plain && !DROPPED.contains(&key.as_str()) {
            kept.push('\t');
            kept.push_str(trimmed);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_stay_and_credentials_and_programs_go() {
        let text = "[user]\n\tname = A B\n\temail = a@example.org\n\tsigningkey = 0xAB\n\
            [credential \"https://example.org\"]\n\thelper = store\n\
            [core]\n\tautocrlf = input\n\tsshCommand = ssh -i key\n\
            [url \"https://token@example.org/\"]\n\tinsteadOf = x\n\
            [include]\n\tpath = ~/secret\n[alias]\n\tx = !sh\n\
            [commit]\n\tgpgSign = true\n\tverbose = true\n[user] name = sneaky\n";
        let kept = filtered(text);
        assert_eq!(
            kept,
            "[user]\n\tname = A B\n\temail = a@example.org\n[core]\n\tautocrlf = input\n\
             [commit]\n\tverbose = true\n"
        );
    }

    #[test]
    fn a_continued_value_does_not_smuggle_a_line() {
        assert_eq!(
            filtered("[user]\n\tname = a\\\n[alias]\n\tx = y\n"),
            "[user]\n\tx = y\n"
        );
    }
}
