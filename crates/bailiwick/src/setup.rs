//! `bailiwick setup`.

use crate::Done;
use crate::cli::{SetupArguments, SetupWhat};
use crate::output;
use bailiwick_event::Failure;
use bailiwick_process::machine::{self, Change, Done as Made};

/// Shows a change of the machine; root makes it as well.
pub(crate) fn setup(arguments: &SetupArguments) -> Done {
    let (change, nothing) = match arguments.what {
        SetupWhat::Apparmor => (
            machine::apparmor()?,
            "AppArmor does not restrict user namespaces here: there is nothing to set up\n",
        ),
        SetupWhat::Delegate => (
            machine::delegate(),
            "systemd does not run here: there is nothing to set up\n",
        ),
    };
    let Some(change) = change else {
        output::print(nothing)?;
        return Ok(0);
    };
    if arguments.print {
        output::print(&plan(&change))?;
        return Ok(0);
    }
    if !machine::may_change() {
        output::print(&plan(&change))?;
        let remove = if arguments.remove { " --remove" } else { "" };
        return Err(Failure::fault(format!(
            "only root can change this: nothing was done\n  remedy: `sudo bailiwick setup {}{remove}`",
            change.name
        )));
    }
    let file = change.file.display();
    let text = match (arguments.remove, done(&change, arguments.remove)?) {
        (false, Made::Changed) => format!("{file} is in place: {}\n", change.note),
        (false, Made::AsItWas) => format!("{file} was in place already\n"),
        (true, Made::Changed) => format!("{file} is removed\n"),
        (true, Made::AsItWas) => format!("{file} is not there\n"),
    };
    output::print(&text)?;
    Ok(0)
}

fn done(change: &Change, remove: bool) -> Result<Made, Failure> {
    match remove {
        true => change.remove(),
        false => change.make(),
    }
}

/// What would be done.
fn plan(change: &Change) -> String {
    format!(
        "{}:\n{}\nthen: {}\n",
        change.file.display(),
        change.content,
        change.command()
    )
}
