//! Secrets in what comes back, in every form in which the gate itself sends one, and in those that
//! are common in documents: an answer that repeats its request must not tell them. Each character may
//! be written in another way ([`super::spelled`]); all of a secret may be coded in Base64.

use super::spelled::Spelled;
use super::{Replacer, Secret};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use hyper::Response;
use hyper::ext::ReasonPhrase;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// Looks for secrets, and puts what stands for them in their place.
pub(crate) fn replacer<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Replacer {
    let mut pairs: Vec<(String, String)> = Vec::new();
    let mut spelled = Vec::new();
    for secret in secrets {
        spelled.push(Spelled::new(&secret.value, &secret.stand_in));
        let forms = forms(&secret.value)
            .into_iter()
            .zip(forms(&secret.stand_in));
        for pair in forms {
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    let pairs = pairs.iter().map(|(from, to)| (from.as_str(), to.as_str()));
    Replacer::new(pairs).spelled(spelled)
}

/// A text as it is, and in Base64 behind up to two other bytes. What stands for a secret is as long, so
/// that the forms of both are of one length.
fn forms(text: &str) -> Vec<String> {
    let mut forms = vec![text.to_owned()];
    for before in 0..3 {
        forms.push(within(
            &STANDARD_NO_PAD.encode(behind(before, text)),
            before,
            text,
        ));
        forms.push(within(
            &URL_SAFE_NO_PAD.encode(behind(before, text)),
            before,
            text,
        ));
    }
    forms
}

fn behind(before: usize, text: &str) -> Vec<u8> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

/// The characters of Base64 that a text behind so many other bytes decides alone.
fn within(coded: &str, before: usize, text: &str) -> String {
    let first = (before * 8).div_ceil(6);
    let end = (before + text.len()) * 8 / 6;
    coded[first..end].to_owned()
}

/// Puts what stands for them in the place of the secrets in headers or trailers; gives how many.
pub(crate) fn in_headers(replacer: &mut Replacer, headers: &mut HeaderMap) -> u64 {
    for value in headers.values_mut() {
        let new = replacer.whole(value.as_bytes());
        if new != value.as_bytes()
            && let Ok(new) = HeaderValue::from_bytes(&new)
        {
            *value = new;
        }
    }
    // A name is not written anew: nobody would find its header under another.
    let named = |name: &&HeaderName| replacer.has(name.as_str().as_bytes());
    let gone: Vec<HeaderName> = headers.keys().filter(named).cloned().collect();
    for name in &gone {
        headers.remove(name);
    }
    replacer.take_count() + gone.len() as u64
}

/// The same in the head of an answer.
pub(crate) fn in_head<B>(replacer: &mut Replacer, response: &mut Response<B>) -> u64 {
    let n = in_headers(replacer, response.headers_mut());
    let phrase = response.extensions().get::<ReasonPhrase>();
    let told = phrase.is_some_and(|phrase| replacer.has(phrase.as_bytes()));
    if told {
        response.extensions_mut().remove::<ReasonPhrase>();
    }
    n + u64::from(told)
}

#[cfg(test)]
#[path = "masks_tests.rs"]
mod tests;
