//! What all rows of one run share. It is set up once and not changed while samples are taken, so
//! that two rows of a run, and two systems of a row, differ in nothing but themselves.

use crate::against::Against;
use crate::conditions::Conditions;
use crate::fixture::Fixture;
use crate::in_force::Yard;
use crate::measure::Sample;
use crate::system::{Product, System};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::process::{Command, Stdio};

/// One run of the suite.
pub(crate) struct Suite<'a> {
    pub conditions: &'a Conditions,
    pub product: Product,
    pub fixture: &'a Fixture,
    pub yard: Yard,
    pub systems: Vec<System>,
    /// The copies of the program under test and of the build that it is compared with.
    pub against: Option<Against>,
    /// Variables that every command gets on top of the caller's.
    pub variables: Vec<(OsString, OsString)>,
    pub runs: u32,
    pub quick: bool,
    /// Load average per CPU before the start.
    pub load: f64,
    /// What the positive control of the in-force check came to.
    pub control: String,
    pub log: RawLog,
}

impl Suite<'_> {
    /// A command in the common workspace, which reads nothing and whose errors nobody reads.
    pub(crate) fn command(&self, argv: &[OsString]) -> Result<Command, String> {
        let (program, arguments) = argv.split_first().ok_or("the command is empty")?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.fixture.workspace())
            .envs(self.variables.iter().map(|(k, v)| (k, v)))
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        Ok(command)
    }
}

/// Every sample as it comes, one line each, so that a run that breaks off leaves its trace.
pub(crate) struct RawLog(BufWriter<File>);

impl RawLog {
    /// A new file with its header line.
    pub(crate) fn create(path: &std::path::Path) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create_new(path)?);
        writeln!(
            file,
            "row\tsystem\trun\tns\trun_ns\twait_ns\tuser_us\tsystem_us\tend\tverifier"
        )?;
        Ok(Self(file))
    }

    /// One sample; run 0 is the warm-up.
    pub(crate) fn sample(
        &mut self,
        row: &str,
        system: &str,
        run: u32,
        sample: &Sample,
        verified: &Result<(), String>,
    ) -> io::Result<()> {
        let end = match (sample.code, sample.signal) {
            (Some(code), _) => format!("exit {code}"),
            (None, signal) => format!("signal {}", signal.unwrap_or(0)),
        };
        let verified = verified.as_ref().err().map_or("pass", String::as_str);
        writeln!(
            self.0,
            "{row}\t{system}\t{run}\t{}\t{}\t{}\t{}\t{}\t{end}\t{}",
            sample.ns,
            sample.run_ns,
            sample.wait_ns,
            sample.user_us,
            sample.system_us,
            verified.replace(['\t', '\n'], " ")
        )
    }

    /// Writes out what is buffered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
