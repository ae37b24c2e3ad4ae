//! What of git's configuration executes, connects, reads or writes elsewhere, or weakens a check when it is
//! changed in a repository. Written from git's documentation and sources (2.39 to 2.55) and from what other
//! tools obey; it has nothing in common with the list of what may be changed.
//!
//! What ordinary commands of git write is left out although it changes what git does: modes and links that a
//! file system has (`core.fileMode`, `core.symlinks`, ...), ends of lines, sparse checkouts, what is shown.

use super::git_config::Variable;

/// Variables that must not change at all. `a.` is a whole section, `a.*.b` has any subsection.
const NEVER: &str = "
    alias. annex. browser. bundle. credential. delta. difftool. filter. format. fsck. fsmonitor. git-p4.
    gitcvs. gitweb. gpg. guitool. hook. http. https. imap. include. includeif. instaweb. mailmap. man.
    mergetool. pager. pretty. promisor. protocol. remotes. safe. sendemail. sequence. sideband. splitindex.
    ssh. stgit. svn. svn-remote. tar. tig. trace2. uploadpack. url. web.
    blame.ignorerevsfile branch.*.mergeoptions commit.template
    core.alternaterefscommand core.alternaterefsprefixes core.askpass core.attributesfile core.checkstat
    core.editor core.excludesfile core.gitproxy core.gvfs core.hookspath core.ignorestat core.pager
    core.protecthfs core.protectntfs core.sshcommand core.trustctime core.usereplacerefs
    core.virtualfilesystem
    diff.*.cachetextconv diff.*.command diff.*.textconv diff.external diff.guitool diff.ignoresubmodules
    diff.orderfile diff.tool
    extensions.partialclone extensions.submodulepathconfig
    fetch.bundlecreationtoken fetch.bundleuri fetch.fsck. fetch.fsckobjects fetch.recursesubmodules
    gc.*.reflogexpire gc.*.reflogexpireunreachable gc.pruneexpire gc.recentobjectshook gc.reflogexpire
    gc.reflogexpireunreachable gc.repackfilterto gc.rerereresolved gc.rerereunresolved
    gc.worktreepruneexpire
    help.autocorrect help.browser help.format help.htmlpath index.skiphash init.templatedir
    interactive.difffilter
    lfs.customtransfer. lfs.extension. lfs.pushurl lfs.standalonetransferagent lfs.storage lfs.url
    log.showsignature maintenance.prefetch. maintenance.repo
    merge.*.driver merge.*.recursive merge.default merge.guitool merge.tool merge.verifysignatures
    pull.octopus pull.twohead push.gpgsign push.recursesubmodules rebase.instructionformat
    receive.advertisepushoptions receive.certnonceseed receive.denycurrentbranch receive.denydeletecurrent
    receive.fsck. receive.fsckobjects receive.procreceiverefs
    remote.*.mirror remote.*.partialclonefilter
    remote.*.promisor remote.*.proxy remote.*.proxyauthmethod remote.*.receivepack
    remote.*.serveroption remote.*.uploadpack remote.*.vcs
    rerere.autoupdate status.submodulesummary submodule.*.gitdir submodule.recurse
    trailer.*.cmd trailer.*.command transfer.bundleuri transfer.credentialsinurl transfer.fsckobjects
    user.signingkey";

fn is_never(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    NEVER.split_ascii_whitespace().any(|pattern| {
        let pattern = pattern.as_bytes();
        let star = pattern.windows(3).position(|w| w == b".*.");
        match star {
            Some(at) => {
                let (head, end) = (&pattern[..=at], &pattern[at + 2..]);
                name.len() >= head.len() + end.len()
                    && name.starts_with(head)
                    && name.ends_with(end)
            }
            None if pattern.ends_with(b".") => name.starts_with(pattern),
            None => name == pattern,
        }
    })
}

/// A change of one variable; the values of a variable that says none are `true`.
pub struct Change<'a> {
    pub before: &'a [Variable],
    pub after: &'a [Variable],
    /// It is the configuration of the submodule `lib`, and not of the repository.
    pub module: bool,
}

impl Change<'_> {
    /// Why this variable must not become these values.
    pub fn harm(&self, name: &[u8], new: &[Vec<u8>]) -> Option<&'static str> {
        if is_never(name) {
            return Some("it must not change");
        }
        let first = name.iter().position(|b| *b == b'.').unwrap_or(0);
        let last = name.iter().rposition(|b| *b == b'.').unwrap_or(0);
        let sub = (first < last).then(|| &name[first + 1..last]);
        let middle = if sub.is_some() { &b".*."[..] } else { b"." };
        let key = [&name[..first], middle, &name[last + 1..]].concat();
        if key.starts_with(b"remote.*.annex-") {
            return Some("git-annex obeys it");
        }
        if key.starts_with(b"remote.*.") && sub.is_some_and(|sub| sub.contains(&b':')) {
            return Some("without an address the name is one");
        }
        let text = key == b"branch.*.description";
        let is_control = |b: &u8| b.is_ascii_control() && *b != b'\t' && !(text && *b == b'\n');
        if new.iter().flatten().any(is_control) {
            return Some("it has control characters");
        }
        let any = |bad: &dyn Fn(&[u8]) -> bool| new.iter().any(|value| bad(value));
        match key.as_slice() {
            b"core.fsmonitor" | b"commit.gpgsign" | b"tag.gpgsign" | b"tag.forcesignannotated" => {
                any(&|v| !is_false(v)).then_some("it starts a program")
            }
            b"core.sharedrepository" => any(&|v| !is_false(v) && !v.eq_ignore_ascii_case(b"umask"))
                .then_some("it widens modes"),
            b"core.repositoryformatversion" => {
                any(&|v| v != b"0" && v != b"1").then_some("git does not know it")
            }
            b"core.bare"
            | b"core.filemode"
            | b"core.ignorecase"
            | b"core.precomposeunicode"
            | b"core.symlinks" => any(&|v| !is_bool(v)).then_some("git dies of it"),
            b"core.logallrefupdates" => any(&is_false).then_some("what is lost is not found again"),
            b"core.worktree" => any(&|v| !self.is_tree(v)).then_some("it leads elsewhere"),
            b"extensions.objectformat"
            | b"extensions.compatobjectformat"
            | b"extensions.refstorage" => (self.is_made() || any(&|v| v.contains(&b':')))
                .then_some("everything would be read as something else"),
            b"receive.denynonfastforwards" | b"receive.denydeletes" => {
                (!new.last().is_some_and(|v| is_true(v))).then_some("it weakens a check")
            }
            b"push.default" => any(&|v| v.eq_ignore_ascii_case(b"matching"))
                .then_some("it sends branches that nobody named"),
            b"remote.*.url" | b"remote.*.pushurl" | b"submodule.*.url" => {
                if key.starts_with(b"remote") && self.is_promised(sub.unwrap_or_default()) {
                    return Some("git connects to it unasked");
                }
                any(&is_helper).then_some("it names a program or an option")
            }
            b"branch.*.remote" | b"branch.*.pushremote" | b"remote.pushdefault" => {
                any(&|v| self.is_raw_address(v)).then_some("it is an address")
            }
            b"remote.*.fetch" => any(&|v| !is_fetched_well(v)).then_some("it overwrites branches"),
            b"remote.*.push" => any(&|v| v.starts_with(b"+") || v.starts_with(b":"))
                .then_some("it removes or overwrites references of a remote"),
            b"submodule.*.update" => any(&|v| {
                !matches!(
                    &v.to_ascii_lowercase()[..],
                    b"checkout" | b"rebase" | b"merge" | b"none"
                )
            })
            .then_some("it runs a program"),
            b"submodule.*.path" => any(&|v| {
                v.starts_with(b"/")
                    || v.starts_with(b"-")
                    || v.split(|b| *b == b'/').any(|p| p == b"..")
            })
            .then_some("it leads elsewhere"),
            _ => None,
        }
    }

    fn values(&self, all: &[Variable], name: &[u8]) -> Vec<Vec<u8>> {
        let of = all.iter().filter(|(n, _)| n == name);
        of.map(|(_, value)| value.clone().unwrap_or_else(|| b"true".to_vec()))
            .collect()
    }

    /// Whether the repository had been made before, and not only begun.
    fn is_made(&self) -> bool {
        self.before
            .iter()
            .any(|(name, _)| name.starts_with(b"core.") && name != b"core.repositoryformatversion")
    }

    fn is_promised(&self, remote: &[u8]) -> bool {
        let key = |name: &[u8]| [b"remote.", remote, b".", name].concat();
        [self.before, self.after].iter().any(|all| {
            let named = self.values(all, b"extensions.partialclone");
            named.iter().any(|value| value == remote)
                || !self.values(all, &key(b"promisor")).is_empty()
                || !self.values(all, &key(b"partialclonefilter")).is_empty()
        })
    }

    /// Whether a name is not that of a remote that has an address, and can itself be one of a machine, of a
    /// helper or of an option.
    fn is_raw_address(&self, name: &[u8]) -> bool {
        let url = [b"remote.", name, b".url"].concat();
        let known = !self.values(self.after, &url).is_empty();
        is_helper(name) || !known && name.contains(&b':')
    }

    /// A working tree of a submodule lies in the repository, beside its git folder; no other is named.
    fn is_tree(&self, value: &[u8]) -> bool {
        let mut depth: Vec<&[u8]> = vec![b"ws", b".git", b"modules", b"lib"];
        if !self.module || value.starts_with(b"/") || value.contains(&b'\\') {
            return false;
        }
        for part in value.split(|b| *b == b'/') {
            match part {
                b"" | b"." => {}
                b".." => drop(depth.pop()),
                part => depth.push(part),
            }
        }
        depth.len() > 1 && depth[0] == b"ws" && !depth.contains(&&b".git"[..])
    }
}

fn is_false(value: &[u8]) -> bool {
    matches!(
        &value.to_ascii_lowercase()[..],
        b"false" | b"no" | b"off" | b"0" | b""
    )
}

fn is_true(value: &[u8]) -> bool {
    matches!(
        &value.to_ascii_lowercase()[..],
        b"true" | b"yes" | b"on" | b"1"
    )
}

fn is_bool(value: &[u8]) -> bool {
    is_false(value) || is_true(value)
}

/// `transport_get`: `helper::address` runs `git-remote-helper`; a dash in front is an option to a program.
fn is_helper(value: &[u8]) -> bool {
    let scheme = |b: &u8| b.is_ascii_alphanumeric() || b"+-.".contains(b);
    let end = value.iter().position(|b| !scheme(b)).unwrap_or(value.len());
    let after = value.windows(3).position(|w| w == b"://");
    let host = after.map_or(value, |at| &value[at + 3..]);
    value[end..].starts_with(b"::") || value.starts_with(b"-") || host.starts_with(b"-")
}

/// `parse_refspec`: what stands behind the last colon is where it is kept.
fn is_fetched_well(value: &[u8]) -> bool {
    let value = value.strip_prefix(b"+").unwrap_or(value);
    let Some(colon) = value.iter().rposition(|b| *b == b':') else {
        return true;
    };
    let to = &value[colon + 1..];
    let below = [&b"refs/remotes/"[..], b"refs/tags/", b"refs/prefetch/"];
    to.is_empty()
        || below.iter().any(|folder| to.starts_with(folder)) && !to.windows(2).any(|w| w == b"..")
}
