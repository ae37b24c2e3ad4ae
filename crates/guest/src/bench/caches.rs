//! Has caches forget, and says so where they cannot.

use std::fs::File;
use std::path::Path;

/// Empties the cache of the whole machine (Documentation/admin-guide/sysctl/vm.rst).
const CACHES: &str = "/proc/sys/vm/drop_caches";

/// Has the kernel forget these files (`file`), all that it can (`machine`: for the kernel of a machine
/// that nobody else uses), or `nothing`. What a program has mapped stays.
pub(super) fn forget<'a>(
    files: impl IntoIterator<Item = &'a Path>,
    how: &str,
) -> Result<(), String> {
    match how {
        "nothing" => Ok(()),
        "machine" => std::fs::write(CACHES, "3").map_err(|error| format!("{CACHES}: {error}")),
        "file" => files.into_iter().try_for_each(|path| {
            let open = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
            rustix::fs::fadvise(&open, 0, None, rustix::fs::Advice::DontNeed)
                .map_err(|error| format!("{}: {error}", path.display()))
        }),
        _ => Err(format!("{how} is none of file, machine and nothing")),
    }
}
