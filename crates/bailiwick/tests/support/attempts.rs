//! Attempts that are alike, made one after the other in one sandbox: a machine takes its time to start.

use super::{Outcome, Sandbox};

/// What came of one attempt.
pub(crate) struct Tried {
    pub(crate) script: String,
    pub(crate) code: i32,
    /// What it wrote, on both of its streams.
    pub(crate) said: String,
}

impl Tried {
    #[track_caller]
    pub(crate) fn failure(&self) -> &Self {
        assert_ne!(self.code, 0, "{} succeeded: {}", self.script, self.said);
        self
    }

    #[track_caller]
    pub(crate) fn says(&self, text: &str) -> &Self {
        let Self { script, said, .. } = self;
        assert!(said.contains(text), "{script}: no {text:?} in {said}");
        self
    }

    #[track_caller]
    pub(crate) fn lacks(&self, text: &str) -> &Self {
        let Self { script, said, .. } = self;
        assert!(!said.contains(text), "{script}: {text:?} in {said}");
        self
    }
}

impl Sandbox {
    /// Runs each line of shell in a shell of its own, all of them in one run.
    #[track_caller]
    pub(crate) fn run_each<S: AsRef<str>>(&self, scripts: &[S]) -> (Outcome, Vec<Tried>) {
        let end = "=== the end of this attempt:";
        let mut all = vec![
            "-c".to_owned(),
            format!("for each; do sh -c \"$each\" 2>&1; echo \"{end} $?\"; done"),
            "sh".to_owned(),
        ];
        all.extend(scripts.iter().map(|script| script.as_ref().to_owned()));
        let outcome = self.exec(std::iter::once("sh".to_owned()).chain(all));
        let stdout = outcome.success().stdout();
        let mut left = stdout.as_str();
        let tried = scripts.iter().map(|script| {
            let (said, rest) = left
                .split_once(end)
                .expect("an attempt that came to its end");
            let (code, rest) = rest.split_once('\n').expect("its code");
            left = rest;
            Tried {
                script: script.as_ref().to_owned(),
                code: code.trim().parse().expect("a number"),
                said: said.to_owned(),
            }
        });
        let tried = tried.collect();
        (outcome, tried)
    }
}
