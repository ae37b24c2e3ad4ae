//! Questions for the person at the terminal. Decision: one at a time; while it stands the command's
//! output waits, and what is typed is the answer's. What was typed before the question could be read
//! answers nothing, and neither does what follows it without a pause: a program must not get its yes
//! from a person who was typing something else.

use crate::front::Front;
use bailiwick_event::Text;
use bailiwick_guard::{Answer, Guard, Question, Tell};
use bailiwick_policy::{add_rule, rule_lines};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a question has stood, and nothing was typed, before a key answers it.
const READING: Duration = Duration::from_millis(600);
/// Characters of what a question is about that are shown: the machine that
/// is asked for stands at the beginning, and is not to leave the screen.
const SHOWN: usize = 600;
/// Questions that wait; more are answered by the policy's default.
const MOST: usize = 64;

type Waiting = Arc<Mutex<VecDeque<(Question, Tell)>>>;

/// The questions of a run.
pub(crate) struct Asks {
    waiting: Waiting,
    told: Arc<OwnedFd>,
    current: Option<Current>,
    timeout: Duration,
    /// Rules of which the person wants to hear nothing more.
    refused: HashSet<String>,
    /// Where a rule is added that is to hold from now on.
    user_file: PathBuf,
}

struct Current {
    question: Question,
    tell: Tell,
    since: Instant,
    /// Since when nothing was typed.
    quiet: Instant,
}

impl Asks {
    /// Has a guard ask here.
    pub(crate) fn new(guard: &Guard, user_file: PathBuf) -> Option<Self> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let told = Arc::new(eventfd(0, flags).ok()?);
        let waiting = Waiting::default();
        let (queue, tell) = (Arc::clone(&waiting), Arc::clone(&told));
        guard.on_ask(Box::new(move |question, answer| {
            let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.len() >= MOST {
                drop(queue);
                return answer(Answer::Nobody);
            }
            queue.push_back((question, answer));
            drop(queue);
            let _ = rustix::io::write(&*tell, &1_u64.to_ne_bytes());
        }));
        Some(Self {
            waiting,
            told,
            current: None,
            timeout: guard.ask_timeout(),
            refused: HashSet::new(),
            user_file,
        })
    }

    /// Readable when there is a question.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.told.as_fd()
    }

    /// How long to wait at the most.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let current = self.current.as_ref()?;
        Some(self.timeout.saturating_sub(current.since.elapsed()))
    }

    /// Asks the next question, and takes what was answered.
    pub(crate) fn serve(&mut self, front: &mut Front) {
        let _ = rustix::io::read(&*self.told, &mut [0; 8]);
        loop {
            let Some(current) = &mut self.current else {
                let mut queue = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let Some((question, tell)) = queue.pop_front() else {
                    return;
                };
                drop(queue);
                if self.refused.contains(&question.asked.rule.id) {
                    tell(Answer::Deny);
                    continue;
                }
                if !front.ask(&self.shown(&question)) {
                    tell(Answer::Nobody);
                    continue;
                }
                let since = Instant::now();
                self.current = Some(Current {
                    question,
                    tell,
                    since,
                    quiet: since,
                });
                continue;
            };
            let keys = front.keys();
            let quiet = current.quiet.elapsed() >= READING;
            if !keys.is_empty() {
                current.quiet = Instant::now();
            }
            // Several at once are a paste, or the keys of somebody who does not look.
            let answer = match keys[..] {
                _ if current.since.elapsed() >= self.timeout => Some(Answer::Timeout),
                [b'r' | b'R'] if quiet => {
                    self.refused.insert(current.question.asked.rule.id.clone());
                    Some(Answer::Deny)
                }
                [key] if quiet => answer(key, &current.question),
                _ => None,
            };
            let Some(answer) = answer else { return };
            let Some(current) = self.current.take() else {
                return;
            };
            let done = self.finish(answer, &current.question);
            front.asked(&done);
            (current.tell)(answer);
        }
    }

    /// Keeps what is to hold from now on; gives what is told about the answer.
    fn finish(&self, answer: Answer, question: &Question) -> String {
        let file = Text::from(self.user_file.as_os_str());
        match (answer, &question.always) {
            (Answer::Always, Some(rule)) => match add_rule(&self.user_file, rule) {
                Ok(()) => format!("allowed from now on; added to {file}"),
                Err(error) => format!("allowed for this run; it could not be added: {error}"),
            },
            (Answer::Once | Answer::Always, _) => "allowed this time".to_owned(),
            (Answer::Timeout, _) => "nobody answered in time".to_owned(),
            _ if self.refused.contains(&question.asked.rule.id) => {
                format!(
                    "denied, as all that {} asks in this run",
                    question.asked.rule.id
                )
            }
            (Answer::Deny | Answer::Nobody, _) => "denied".to_owned(),
        }
    }

    /// The question as it is shown.
    fn shown(&self, question: &Question) -> String {
        let asked = &question.asked;
        let mut text = format!(
            "\nbailiwick asks: {}\n  rule {}: {}\n  y  allow it this time\n",
            short(&question.about),
            asked.rule,
            short(&asked.reason)
        );
        if let Some(rule) = &question.always {
            let file = Text::from(self.user_file.as_os_str());
            text += &format!("  a  allow it always; this is added to {file}:\n");
            for line in rule_lines(rule).lines() {
                text += &format!("       {}\n", Text::from(line));
            }
        }
        text += "  n  deny it\n  r  deny it, and all that this rule asks about in this run\n";
        text += &format!("({} seconds) ", self.timeout.as_secs());
        text
    }

    /// Nobody answers any more.
    pub(crate) fn end(&mut self) {
        let left =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let current = self.current.take().map(|current| current.tell);
        for tell in current
            .into_iter()
            .chain(left.into_iter().map(|(_, tell)| tell))
        {
            tell(Answer::Nobody);
        }
    }
}

/// The beginning of a text that is too long to be read.
fn short(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!("{}… ({more} characters more)", &text[..end])
        }
    }
}

/// What a key answers.
fn answer(key: u8, question: &Question) -> Option<Answer> {
    match key {
        b'y' | b'Y' => Some(Answer::Once),
        b'a' | b'A' if question.always.is_some() => Some(Answer::Always),
        // Ctrl-C, Ctrl-D and Escape too.
        b'n' | b'N' | 3 | 4 | 27 => Some(Answer::Deny),
        _ => None,
    }
}
