//! Secrets in what comes back, in every form in which the gate itself sends one, and in those that
//! are common in documents: an answer that repeats its request must not tell them.

use super::requests::percent;
use super::{Replacer, Secret};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use hyper::Response;
use hyper::ext::ReasonPhrase;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};

/// Looks for secrets, and puts what stands for them in their place.
pub(crate) fn replacer<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Replacer {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for secret in secrets {
        let forms = forms(&secret.value)
            .into_iter()
            .zip(forms(&secret.stand_in));
        for pair in forms {
            if !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
    }
    Replacer::new(pairs.iter().map(|(from, to)| (from.as_str(), to.as_str())))
}

/// A text as it stands in messages. What stands for a secret has its marks in the same places, so
/// that the forms of both are of one length.
fn forms(text: &str) -> Vec<String> {
    let mut forms = vec![
        text.to_owned(),
        // JSON, where the slash is escaped too by some.
        text.replace('\\', "\\\\").replace('"', "\\\""),
        text.replace('/', "\\/"),
        // What some write as numbers, lest it be read as HTML.
        numbered(text, "<>&='", "\\u00"),
        numbered(text, "<>&+'\"`", "\\u00"),
    ];
    let coded = percent(text);
    // In a path the slash is left as it is, and so do some wherever it stands.
    for coded in [coded.replace("%2F", "/"), coded] {
        forms.push(
            coded
                .replace("%2F", "%2f")
                .replace("%2B", "%2b")
                .replace("%3D", "%3d"),
        );
        forms.push(coded);
    }
    for at in 3..5 {
        forms.push(
            forms[at]
                .replace("\\u003d", "\\u003D")
                .replace("\\u002b", "\\u002B"),
        );
    }
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

/// The text with each of these marks as a mark before its number.
fn numbered(text: &str, marks: &str, before: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match marks.contains(c) {
            true => out += &format!("{before}{:02x}", u32::from(c)),
            false => out.push(c),
        }
    }
    out
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
