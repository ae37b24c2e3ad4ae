//! The line by which a coordinator tells what its workers found. It comes from a guest: nothing in it is
//! believed that is not written as it has to be.

/// What a guest's kernel did in the timed part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Activity {
    pub(crate) locks: u64,
    pub(crate) ipis: u64,
    pub(crate) timer: u64,
    pub(crate) switches: u64,
    pub(crate) calls: u64,
}

/// What was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) workload: String,
    pub(crate) variant: String,
    pub(crate) workers: u32,
    pub(crate) cpus: u32,
    pub(crate) verified: bool,
    /// Of the slowest worker: ticks of the capability kernel's counter, nanoseconds of Linux's clock.
    pub(crate) elapsed: u64,
    pub(crate) each: Vec<u64>,
    /// Linux does not tell.
    pub(crate) activity: Option<Activity>,
}

impl Activity {
    /// Whether the kernel had nothing to do.
    pub(crate) fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// What the capability kernel said of a program that crashed.
pub(crate) fn crash(said: &str) -> Option<&str> {
    let mut lines = said.split_inclusive('\n');
    lines
        .find_map(|line| line.strip_prefix("capos: crash: ")?.strip_suffix('\n'))
        .map(str::trim_end)
}

/// Reads the line from all that the console has said. It is there once.
pub(crate) fn told(said: &str) -> Result<Told, String> {
    if let Some(crash) = crash(said) {
        return Err(format!("a program crashed: {crash:.200}"));
    }
    let mut lines = said
        .lines()
        .filter_map(|line| line.trim_end().strip_prefix("scale: "));
    let line = lines.next().ok_or("the guest told no result")?;
    if lines.next().is_some() {
        return Err("the guest told more than one result".into());
    }
    let value = |key: &str| {
        let mut values = line
            .split(' ')
            .filter_map(|word| word.strip_prefix(key)?.strip_prefix('='));
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            _ => Err(format!("the guest's result has no {key}: {line:.200}")),
        }
    };
    let wrong = |key: &str| format!("the guest's {key} is no number: {line:.200}");
    let number = |key: &str| value(key)?.parse::<u64>().map_err(|_| wrong(key));
    let small = |key: &str| value(key)?.parse::<u32>().map_err(|_| wrong(key));
    let each: Result<Vec<u64>, _> = value("each")?.split(',').map(str::parse).collect();
    let each = each.map_err(|_| wrong("each"))?;
    let activity = match value("locks") {
        Err(_) => None,
        Ok(_) => Some(Activity {
            locks: number("locks")?,
            ipis: number("ipis")?,
            timer: number("timer")?,
            switches: number("switches")?,
            calls: number("calls")?,
        }),
    };
    let told = Told {
        workload: value("workload")?.into(),
        variant: value("variant")?.into(),
        workers: small("workers")?,
        cpus: small("cpus")?,
        verified: value("verified")? == "true",
        elapsed: number("elapsed")?,
        each,
        activity,
    };
    if told.elapsed == 0 || told.each.iter().max() != Some(&told.elapsed) {
        return Err(format!(
            "the guest's time is not its slowest worker's: {line:.200}"
        ));
    }
    Ok(told)
}

#[cfg(test)]
#[path = "line_tests.rs"]
mod tests;
