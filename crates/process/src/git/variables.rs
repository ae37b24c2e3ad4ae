//! The variables of git's configuration that a sandboxed program may change, by the reason why what a row
//! allows can neither execute, connect, read or write elsewhere, nor widen a mode or weaken a check. Read in
//! git's documentation and sources (2.39 to 2.55).

use super::keys::Values;
use Sub::{Either, No, Yes};
use Values::{
    Any, AsBefore, AtBirth, Fetch, Inside, Number, Off, On, Pattern, Push, Reference, Remote, Tree,
    Url, Words, Workers,
};

/// Whether a variable has a subsection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sub {
    No,
    Yes,
    Either,
}

/// Section, whether there is a subsection, names (`*` is every name), values.
pub(super) type Row = (&'static str, Sub, &'static str, Values);

#[rustfmt::skip]
const REBASE: Values = Words(&["true", "false", "yes", "no", "merges", "m", "interactive", "i", "preserve"]);
#[rustfmt::skip]
const WHEN: Values = Words(&["true", "false", "yes", "no", "on", "off", "1", "0", "always", "never", "auto"]);
const LINES: Values = Words(&["true", "false", "input", "warn", "lf", "crlf", "native"]);

/// By the reason why what a row allows is harmless.
#[rustfmt::skip]
pub(super) const TABLE: &[(&str, &[Row])] = &[
    ("it names a person, in commits", &[
        ("user", No, "name email useconfigonly", Any),
        ("author", No, "name email", Any),
        ("committer", No, "name email", Any),
    ]),
    ("it says how something is shown", &[
        ("advice", No, "*", Any),
        ("color", Either, "*", Any),
        ("column", No, "*", Any),
        ("i18n", No, "*", Any),
        ("status", No, "aheadbehind branch displaycommentprefix relativepaths renamelimit renames short showstash", Any),
        ("status", No, "showuntrackedfiles", Words(&["no", "normal", "all", "true", "false"])),
        ("log", No, "abbrevcommit date decorate diffmerges follow graphcolors initialdecorationset mailmap showroot", Any),
        ("blame", No, "blankboundary coloring date showemail showroot", Any),
        ("grep", No, "column extendedregexp fallbacktonoindex fullname linenumber patterntype", Any),
        ("diff", No, "algorithm context interhunkcontext renames renamelimit colormoved colormovedws noprefix \
            mnemonicprefix srcprefix dstprefix relative statgraphwidth statnamewidth wserrorhighlight \
            indentheuristic wordregex suppressblankempty dirstat", Any),
        ("diff", Yes, "funcname xfuncname wordregex binary algorithm", Any),
        ("core", No, "abbrev quotepath whitespace commentchar commentstring", Any),
        ("versionsort", No, "*", Any),
        ("completion", No, "*", Any),
        ("branch", No, "sort", Any),
        ("tag", No, "sort", Any),
        ("stash", No, "showincludeuntracked showpatch showstat", Any),
        ("branch", Yes, "description", Any),
    ]),
    ("it changes how quickly git does something, and not what", &[
        ("core", No, "compression loosecompression bigfilethreshold packedgitwindowsize packedgitlimit \
            deltabasecachelimit preloadindex untrackedcache splitindex commitgraph multipackindex maxtreedepth \
            filesreflocktimeout packedrefstimeout", Number),
        ("pack", No, "threads", Workers),
        ("pack", No, "*", Any),
        ("repack", No, "*", Any),
        ("commitgraph", No, "*", Any),
        ("feature", No, "*", Number),
        ("index", No, "recordendofindexentries recordoffsettable sparse version", Number),
        ("gc", No, "auto autodetach autopacklimit packrefs writecommitgraph cruftpacks aggressivedepth \
            aggressivewindow bigpackthreshold", Number),
        ("maintenance", Either, "auto autodetach enabled schedule", Any),
        // Others switch fetching on, which a timer of the user's does.
        ("maintenance", No, "strategy", Words(&["none", "gc", "geometric"])),
        ("fetch", No, "unpacklimit writecommitgraph", Number),
        ("receive", No, "unpacklimit", Number),
        ("transfer", No, "unpacklimit", Number),
        ("checkout", No, "thresholdforparallelism", Number),
        ("grep", No, "threads", Workers),
        ("index", No, "threads", Workers),
        ("fetch", No, "parallel", Workers),
        ("checkout", No, "workers", Workers),
        ("submodule", No, "fetchjobs", Workers),
    ]),
    ("it chooses between ways that git has for what the user asks for", &[
        ("branch", No, "autosetupmerge autosetuprebase", WHEN),
        ("checkout", No, "defaultremote guess", Any),
        ("worktree", No, "guessremote userelativepaths", Number),
        ("init", No, "defaultbranch", Any),
        ("commit", No, "cleanup status verbose", Any),
        ("merge", No, "conflictstyle ff stat log renames renamelimit directoryrenames renormalize verbosity \
            autostash branchdesc suppressdest", Any),
        ("rebase", No, "abbreviatecommands autosquash autostash missingcommitscheck reschedulefailedexec stat \
            updaterefs rebasemerges forkpoint maxlabellength", Any),
        ("rebase", No, "backend", Words(&["merge", "apply"])),
        ("pull", No, "ff", Words(&["true", "false", "only"])),
        ("pull", No, "rebase", REBASE),
        ("branch", Yes, "rebase", REBASE),
        ("push", No, "default", Words(&["simple", "current", "upstream", "tracking", "nothing"])),
        ("push", No, "autosetupremote followtags", Number),
        ("fetch", No, "prune prunetags all showforcedupdates output", Any),
        ("rerere", No, "enabled", Number),
        ("apply", No, "ignorewhitespace whitespace", Any),
        ("am", No, "keepcr threeway messageid", Number),
        ("mailinfo", No, "scissors", Number),
        ("trailer", No, "separators where ifexists ifmissing", Any),
        ("trailer", Yes, "key where ifexists ifmissing separator", Any),
        ("core", No, "autocrlf eol safecrlf", LINES),
        ("core", No, "sparsecheckout sparsecheckoutcone", Number),
        ("commit", No, "gpgsign", Off),
        ("tag", No, "gpgsign forcesignannotated", Off),
        ("core", No, "fsmonitor", Off),
    ]),
    ("it describes the repository, and was found out when that was made", &[
        ("core", No, "repositoryformatversion", Words(&["0", "1"])),
        ("core", No, "bare filemode ignorecase precomposeunicode symlinks", Words(&["true", "false"])),
        ("core", No, "logallrefupdates", Words(&["true", "always"])),
        ("core", No, "sharedrepository", Words(&["false", "umask", "0"])),
        ("core", No, "worktree", Tree),
        ("extensions", No, "worktreeconfig relativeworktrees preciousobjects noop", Words(&["true", "false"])),
        ("extensions", No, "objectformat", AtBirth(&["sha1", "sha256"])),
        ("extensions", No, "refstorage", AtBirth(&["files", "reftable"])),
        ("receive", No, "denynonfastforwards denydeletes", On),
    ]),
    ("it is followed when the user asks for this remote", &[
        ("remote", Yes, "url pushurl", Url),
        ("remote", Yes, "fetch", Fetch),
        ("remote", Yes, "push", Push),
        ("remote", Yes, "tagopt", Words(&["--tags", "--no-tags"])),
        ("remote", Yes, "prune prunetags skipfetchall skipdefaultupdate", Number),
        ("remote", Yes, "followremotehead", Words(&["create", "always", "never", "warn"])),
        ("remote", Yes, "gh-resolved", Any),
        ("remote", No, "pushdefault", Remote),
        ("branch", Yes, "remote pushremote", Remote),
        ("branch", Yes, "merge", Reference),
        ("branch", Yes, "gh-merge-base vscode-merge-base github-pr-owner-number", Any),
    ]),
    ("it connects, or lets missing objects be fetched, at any command", &[
        ("remote", Yes, "promisor partialclonefilter", AsBefore),
        ("extensions", No, "partialclone", AsBefore),
    ]),
    ("it says where a submodule comes from and how it is checked out", &[
        ("submodule", No, "active", Pattern),
        ("submodule", No, "alternatelocation", Words(&["no", "superproject"])),
        ("submodule", No, "alternateerrorstrategy", Words(&["die", "info", "ignore"])),
        ("submodule", Yes, "url", Url),
        ("submodule", Yes, "path", Inside),
        ("submodule", Yes, "active shallow fetchrecursesubmodules", WHEN),
        ("submodule", Yes, "branch", Any),
        ("submodule", Yes, "ignore", Words(&["none", "untracked", "dirty", "all"])),
        ("submodule", Yes, "update", Words(&["checkout", "rebase", "merge", "none"])),
    ]),
    ("it is git-lfs' own, with the very words that it writes", &[
        ("lfs", No, "repositoryformatversion", Number),
        ("lfs", Yes, "access locksverify", Words(&["none", "basic", "true", "false"])),
    ]),
];
