//! What agents outside obey: with the template `agent` an agent inside reads its folders and writes what it keeps
//! there, and nothing that the next agent outside would execute or follow.

use crate::support::Sandbox;

const POLICY: &str = "extends = [\"agent\"]\n";

/// Files of an agent's that another agent, or the same one later, obeys; from the home directory on.
const OBEYED: &[&str] = &[
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/CLAUDE.md",
    ".claude/local/claude",
    ".claude/rules/a.md",
    ".claude/output-styles/a.md",
    ".claude/statusline.sh",
    ".claude/other.sh",
    ".claude/remote-settings.json",
    ".claude/workflows/a.md",
    ".claude/agents/a.md",
    ".claude/commands/a.md",
    ".claude/hooks/a",
    ".claude/plugins/a",
    ".claude/skills/a/SKILL.md",
    ".claude/projects/p/memory/MEMORY.md",
    ".claude/shell-snapshots/snapshot.sh",
    ".claude/session-env/a/hook.sh",
    ".claude.json",
    ".claude/.config.json",
    ".claude/.claude.json",
    ".claude/statusline.py",
    ".claude/bin/key",
    ".claude/teams/a/inboxes/b.json",
    ".codex/tmp/arg0/codex-arg0X/git",
    ".codex/automations/a",
    ".codex/.tmp/plugins/a",
    ".gemini/tmp/bin/rg",
    ".gemini/tmp/some/memory/MEMORY.md",
    ".gemini/history/some/git/config",
    ".gemini/trusted_hooks.json",
    ".codex/.env",
    ".codex/config.toml",
    ".codex/evil.config.toml",
    ".codex/AGENTS.md",
    ".codex/AGENTS.override.md",
    ".codex/hooks.json",
    ".codex/hooks/a",
    ".codex/prompts/a.md",
    ".codex/rules/a.rules",
    ".codex/skills/a/SKILL.md",
    ".codex/agents/a.toml",
    ".codex/plugins/a",
    ".codex/packages/a",
    ".codex/memories/a.md",
    ".codex/shell_snapshots/s.sh",
    ".gemini/.env",
    ".gemini/settings.json",
    ".gemini/trustedFolders.json",
    ".gemini/GEMINI.md",
    ".gemini/system.md",
    ".gemini/policies/a.toml",
    ".gemini/agents/a.md",
    ".gemini/commands/a.toml",
    ".gemini/extensions/a",
    ".gemini/hooks/a",
    ".gemini/skills/a",
];

/// The same from any folder of the workspace on.
const IN_FOLDERS: &[&str] = &[
    ".opencode/plugin/x.ts",
    ".opencode/plugins/x.ts",
    "opencode.json",
    "opencode.jsonc",
    ".claude/settings.json",
    ".claude/skills/a/SKILL.md",
    ".claude/rules/a.md",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".agents/skills/a/SKILL.md",
];

/// Writes, makes and moves something to each of the paths.
const EVIL: &str = "import os, sys
for path in sys.argv[1:]:
    for way in ('remove', 'link', 'append', 'move', 'folder', 'write'):
        try:
            if way == 'folder':
                above = os.path.dirname(path)
                os.makedirs('t/' + os.path.basename(above), exist_ok=True)
                open('t/' + os.path.basename(above) + '/' + os.path.basename(path), 'w').write('evil')
                os.rename('t/' + os.path.basename(above), above)
                continue
            if way == 'remove': os.unlink(path); continue
            os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
            if way == 'write': open(path, 'w').write('evil')
            if way == 'append': open(path, 'a').write('evil')
            if way == 'move': open('t', 'w').write('evil'); os.rename('t', path)
            if way == 'link': os.symlink('/proc/self/cwd/evil', path)
        except OSError: pass
";

fn sandboxes() -> [Sandbox; 2] {
    let sandbox = || {
        Sandbox::new()
            .policy(POLICY)
            .file("evil.py", EVIL)
            .home_file(".claude.json", "{\"mine\": 1}")
            .home_file(".claude/.credentials.json", "{}")
            .home_file(".codex/auth.json", "{}")
            .home_file(".gemini/oauth_creds.json", "{}")
    };
    [sandbox(), sandbox().without_namespaces()]
}

#[test]
fn what_an_agent_outside_obeys_is_not_written() {
    for there in [false, true] {
        for mut sandbox in sandboxes() {
            for path in OBEYED
                .iter()
                .filter(|path| there && **path != ".claude.json")
            {
                sandbox = sandbox.home_file(path, "mine");
            }
            let home = OBEYED.iter().map(|path| format!("~/{path}"));
            let folders = IN_FOLDERS
                .iter()
                .flat_map(|path| [(*path).to_owned(), format!("sub/{path}")]);
            let all: Vec<String> = home.chain(folders).collect();
            sandbox
                .run(&format!("mkdir -p sub; python3 evil.py {}", all.join(" ")))
                .success();
            let found = sandbox.host(&format!(
                "cd ../home; grep -rlE evil . 2> /dev/null; find . -type l; cd ../workspace; for f in {} {}; do ls -d $f sub/$f 2> /dev/null; done; true",
                IN_FOLDERS.join(" "),
                ".opencode .claude .codex .gemini .agents"
            ));
            assert_eq!(found, "", "there before: {there}");
            let mine = sandbox.host(
                "cat ../home/.claude.json; cat ../home/.claude/settings.json 2> /dev/null; true",
            );
            assert_eq!(
                mine,
                if there {
                    "{\"mine\": 1}mine"
                } else {
                    "{\"mine\": 1}"
                }
            );
        }
    }
}

#[test]
fn an_agent_reads_its_folders_and_keeps_what_it_writes_there() {
    let [sandbox, _] = sandboxes();
    sandbox
        .run(
            "cat ~/.claude.json ~/.claude/.credentials.json ~/.codex/auth.json ~/.gemini/oauth_creds.json && \
             echo '{\"mine\": 2}' > ~/.claude.json && mkdir -p ~/.claude/projects/p ~/.codex/sessions && \
             echo said > ~/.claude/projects/p/s.jsonl && echo said > ~/.codex/sessions/s.jsonl && \
             echo renewed > ~/.codex/auth.json",
        )
        .success()
        .stdout_has("{\"mine\": 1}");
    assert_eq!(
        sandbox.host("cd ../home; cat .claude.json .claude/projects/p/s.jsonl .codex/sessions/s.jsonl .codex/auth.json"),
        "{\"mine\": 1}said\nsaid\nrenewed\n"
    );
    // The copy is the workspace's, and goes on from there.
    sandbox
        .run("cat ~/.claude.json")
        .success()
        .stdout_has("{\"mine\": 2}");
    let shown = sandbox.bailiwick(["policy", "show", "--explain", "~/.claude.json"]);
    shown.success();
}
