//! Secrets in bodies.

use super::requests::in_values;
use super::{Replacer, Secret, masks};
use crate::decode::Decoder;
use crate::filter::Filter;
use hyper::body::Bytes;
use hyper::header::HeaderMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Puts secrets into a body.
pub(crate) struct Inject {
    replacer: Replacer,
    /// Told the place of each that is used, when it is used first.
    used: Box<dyn FnMut(usize) + Send>,
    told: Vec<bool>,
}

impl Inject {
    pub(crate) fn new(secrets: &[&Secret], used: impl FnMut(usize) + Send + 'static) -> Self {
        let pairs = secrets
            .iter()
            .map(|s| (s.stand_in.as_str(), s.value.as_str()));
        Self {
            replacer: Replacer::new(pairs),
            used: Box::new(used),
            told: vec![false; secrets.len()],
        }
    }
}

impl Filter for Inject {
    fn part(&mut self, part: &Bytes) -> Result<Vec<u8>, String> {
        let out = self.replacer.part(part);
        for (at, n) in self.replacer.replaced.iter().enumerate() {
            if *n > 0 && !std::mem::replace(&mut self.told[at], true) {
                (self.used)(at);
            }
        }
        Ok(out)
    }

    fn end(&mut self) -> Result<Vec<u8>, String> {
        Ok(self.replacer.end())
    }

    fn waiting(&self) -> Option<usize> {
        Some(self.replacer.waiting())
    }
}

/// Breaks a body off that carries what stands for a secret to a machine that may not have it.
pub(crate) struct Refuse {
    secrets: Vec<Secret>,
    /// Replaces each by itself, and counts.
    replacer: Replacer,
    /// Told which it is.
    tell: Box<dyn FnMut(&Secret) + Send>,
}

impl Refuse {
    pub(crate) fn new(secrets: Vec<Secret>, tell: impl FnMut(&Secret) + Send + 'static) -> Self {
        let pairs = secrets
            .iter()
            .map(|s| (s.stand_in.as_str(), s.stand_in.as_str()));
        Self {
            replacer: Replacer::new(pairs),
            secrets,
            tell: Box::new(tell),
        }
    }
}

impl Refuse {
    fn refuse<T>(&mut self, at: usize) -> Result<T, String> {
        if let Some(secret) = self.secrets.get(at) {
            (self.tell)(secret);
        }
        Err("it carries what stands for a secret".to_owned())
    }
}

impl Filter for Refuse {
    fn part(&mut self, part: &Bytes) -> Result<Vec<u8>, String> {
        let out = self.replacer.part(part);
        match self.replacer.replaced.iter().position(|n| *n > 0) {
            None => Ok(out),
            Some(at) => self.refuse(at),
        }
    }

    fn end(&mut self) -> Result<Vec<u8>, String> {
        Ok(self.replacer.end())
    }

    fn trailers(&mut self, trailers: &mut HeaderMap) -> Result<(), String> {
        let held = |secret: &Secret| in_values(trailers, &secret.stand_in);
        match self.secrets.iter().position(held) {
            None => Ok(()),
            Some(at) => self.refuse(at),
        }
    }

    fn waiting(&self) -> Option<usize> {
        Some(self.replacer.waiting())
    }
}

/// Takes secrets out of an answer.
pub(crate) struct Mask {
    replacer: Replacer,
    /// Undoes the answer's coding, where it has one: a secret cannot be found in what is coded.
    decoder: Option<Decoder>,
    /// No more parts come.
    ended: bool,
    /// How many were taken out.
    masked: Arc<AtomicU64>,
}

impl Mask {
    pub(crate) fn new<'s>(
        secrets: impl IntoIterator<Item = &'s Secret>,
        decoder: Option<Decoder>,
        masked: &Arc<AtomicU64>,
    ) -> Self {
        Self {
            replacer: masks::replacer(secrets),
            decoder,
            ended: false,
            masked: Arc::clone(masked),
        }
    }

    fn count(&mut self) {
        let n = self.replacer.take_count();
        self.masked.fetch_add(n, Ordering::Relaxed);
    }

    /// What comes of one step of decoding.
    fn step(&mut self) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let mut more = false;
        if let Some(decoder) = &mut self.decoder {
            let new = decoder.step().unwrap_or_default();
            if decoder.is_cut() {
                return Err(
                    "its coding cannot be undone, so that a secret could stand in it".into(),
                );
            }
            more = decoder.has_more();
            out = self.replacer.part(&new);
        }
        if self.ended && !more {
            out.extend(self.replacer.end());
        }
        self.count();
        Ok(out)
    }
}

impl Filter for Mask {
    fn part(&mut self, part: &Bytes) -> Result<Vec<u8>, String> {
        if let Some(decoder) = &mut self.decoder {
            decoder.take(part);
            return self.step();
        }
        let out = self.replacer.part(part);
        self.count();
        Ok(out)
    }

    fn has_rest(&self) -> bool {
        self.decoder.as_ref().is_some_and(Decoder::has_more)
    }

    fn rest(&mut self) -> Result<Vec<u8>, String> {
        self.step()
    }

    fn end(&mut self) -> Result<Vec<u8>, String> {
        self.ended = true;
        if let Some(decoder) = &mut self.decoder {
            decoder.end();
        }
        self.step()
    }

    fn trailers(&mut self, trailers: &mut HeaderMap) -> Result<(), String> {
        let n = masks::in_headers(&mut self.replacer, trailers);
        self.masked.fetch_add(n, Ordering::Relaxed);
        Ok(())
    }

    fn waiting(&self) -> Option<usize> {
        self.decoder.is_none().then(|| self.replacer.waiting())
    }
}
