use super::*;
use crate::reference::check_page;
use std::collections::HashSet;

fn matcher(way: HostPrograms, ordinary: &[&str], report: &[&str]) -> HostMatcher {
    let ordinary = ordinary.iter().map(|&text| text.to_owned()).collect();
    let report = report.iter().map(|&text| Sourced {
        value: text.to_owned(),
        origin: Origin::built_in(),
    });
    HostMatcher::new(&HostNames {
        way,
        ordinary,
        report: report.collect(),
    })
}

/// What is found at a path: `protected` or `reported`, by whom, and the part of the path that is its name.
fn found(matcher: &HostMatcher, path: &str) -> String {
    let Some(file) = matcher.find(Path::new(path)) else {
        return String::new();
    };
    let tool = host_programs()
        .get(file.row)
        .map_or("the policy", |row| row.tool);
    let name: Vec<&str> = path.split('/').take(file.depth).collect();
    let class = if file.protected {
        "protected"
    } else {
        "reported"
    };
    format!("{class} {tool} {}", name.join("/"))
}

#[test]
fn every_row_of_the_table_is_complete_and_stands_once() {
    let lines = table::TEXT.lines().filter(|line| !line.starts_with('#'));
    let mut seen = HashSet::new();
    for line in lines {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), 6, "{line}");
        assert!(matches!(fields[0], "protected" | "reported"), "{line}");
        assert!(
            fields.iter().all(|field| !field.trim().is_empty()),
            "{line}"
        );
        assert_eq!(objection(fields[1]), None, "{line}");
        assert!(seen.insert(fields[1]), "twice: {line}");
        let known = [
            "enter a folder",
            "open an editor",
            "start an agent",
            "commit",
            "status",
            "push",
            "command",
        ];
        assert!(known.contains(&fields[3]), "{line}");
    }
    assert_eq!(host_programs().len(), seen.len());
    let compiled = table::ROWS.map(|row| (row.unasked, row.pattern()));
    let rows = host_programs().iter().map(|row| (row.unasked, row.pattern));
    assert!(rows.eq(compiled));
}

#[test]
fn a_name_is_found_at_any_depth_with_all_below_it() {
    let all = matcher(HostPrograms::Protect, &[], &[]);
    for (path, expected) in [
        (".zed", "protected Zed .zed"),
        ("a/b/.zed/settings.json", "protected Zed a/b/.zed"),
        ("a/.ZED/x", "protected Zed a/.ZED"),
        ("x.code-workspace", "protected VS Code x.code-workspace"),
        (
            "jupyter_lab_config.py",
            "protected Jupyter jupyter_lab_config.py",
        ),
        (".claude/hooks/x", "protected Claude Code .claude/hooks"),
        (".claude/x", ""),
        (".claude", ""),
        (".hg/hgrc", "protected Mercurial .hg/hgrc"),
        ("hgrc", ""),
        ("package.json", "reported npm package.json"),
        ("web/package.json", "reported npm web/package.json"),
        ("Package.json", ""),
        ("node_modules/a/package.json", "reported npm node_modules"),
        ("node_modules/.zed", "protected Zed node_modules/.zed"),
        (
            ".github/workflows/ci.yml",
            "reported GitHub Actions .github/workflows/ci.yml",
        ),
        (".github/workflows", ""),
        (
            "vite.config.ts",
            "reported JavaScript build tools vite.config.ts",
        ),
        ("vite.confi", ""),
        ("src/main.rs", ""),
        (".git/zed/.zed", ""),
        ("sub/.git/package.json", ""),
        ("", ""),
    ] {
        assert_eq!(found(&all, path), expected, "{path}");
    }
}

#[test]
fn a_policy_reports_all_or_nothing_takes_names_out_and_adds_others() {
    let report = matcher(HostPrograms::Report, &[], &[]);
    assert_eq!(found(&report, ".zed/x"), "reported Zed .zed");
    let off = matcher(HostPrograms::Off, &[], &["deploy/*.sh"]);
    assert_eq!(found(&off, ".zed/x"), "");
    assert_eq!(
        found(&off, "a/deploy/x.sh"),
        "reported the policy a/deploy/x.sh"
    );
    assert_eq!(found(&off, "a/deploy/x.s"), "");
    let taken = matcher(HostPrograms::Protect, &[".zed", "package.json"], &[]);
    assert_eq!(found(&taken, ".zed/x"), "");
    assert_eq!(found(&taken, "package.json"), "");
    assert_eq!(found(&taken, ".idea"), "protected JetBrains IDEs .idea");
    assert!(taken.of_several(true).any(|(_, names)| names == ".hg/hgrc"));
    assert_eq!(report.of_several(true).count(), 0);
}

#[test]
fn names_that_a_policy_may_not_take_out_are_told() {
    for text in [
        "/etc", "~/x", "", "a//b", "../x", "a/.", "a*b*", "[x]", "a?",
    ] {
        assert!(objection(text).is_some(), "{text}");
    }
    for text in [".git", ".git/hooks", ".gitmodules", "bailiwick.toml"] {
        assert!(stays(text).is_some(), "{text}");
    }
    for text in [".vscode", "mise.toml", "a/*.sh"] {
        assert_eq!(objection(text).or(stays(text)), None, "{text}");
    }
}

/// The table as the documentation has it: a row for what one program obeys at one occasion.
fn page_of_table() -> String {
    let mut page = String::new();
    for (unasked, title, said) in [
        (
            true,
            "Protected",
            "A program obeys these without that the user gives a command for it.",
        ),
        (
            false,
            "Reported",
            "A program obeys these when the user gives a command, or shows them to who does.",
        ),
    ] {
        let rows: Vec<&HostProgram> = host_programs()
            .iter()
            .filter(|row| row.unasked == unasked)
            .collect();
        page += &format!(
            "\n## {title}\n{said}\n\n| program | when | names | since | read in |\n|---|---|---|---|---|\n"
        );
        for same in rows.chunk_by(|a, b| (a.tool, a.when) == (b.tool, b.when)) {
            let cell = |of: fn(&HostProgram) -> &str| {
                let mut texts: Vec<&str> = Vec::new();
                for row in same {
                    if !texts.contains(&of(row)) {
                        texts.push(of(row));
                    }
                }
                texts
            };
            let names: Vec<String> = same
                .iter()
                .map(|row| format!("`{}`", row.pattern))
                .collect();
            page += &format!(
                "| {} | {} | {} | {} | {} |\n",
                same[0].tool,
                same[0].when,
                names.join(" "),
                cell(|row| row.since).join("; "),
                cell(|row| row.source).join("; ")
            );
        }
    }
    page
}

#[test]
fn the_page_of_the_documentation_is_made_from_the_table() {
    let marks = [
        "<!-- made from policies/host-programs.tsv -->\n",
        "<!-- end of what is made -->\n",
    ];
    let table = "policies/host-programs.tsv";
    check_page("host-programs.md", marks, table, &page_of_table());
}
