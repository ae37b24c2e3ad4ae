//! `bailiwick doctor`.

use crate::Done;
use crate::output;

/// Tries every layer and says what was found.
pub(crate) fn doctor() -> Done {
    let mut missing = 0;
    let mut text = String::new();
    for finding in bailiwick_process::examine() {
        match finding.problem {
            None => text += &format!("{:<28} works\n", finding.layer),
            Some(problem) => {
                missing += 1;
                text += &format!(
                    "{:<28} MISSING\n  {}\n",
                    finding.layer,
                    problem.replace('\n', "\n  ")
                );
            }
        }
    }
    text += match missing {
        0 => "every layer of the process backend works here\n",
        _ => "a run that needs a missing layer is not started\n",
    };
    text += "TLS is not inspected: a host that serves several names (a content network) can be \
             used to reach another of its names\n";
    output::print(&text)?;
    Ok(u8::from(missing > 0))
}
