//! A text with wildcards, as the specification reads it: `*` stands for any characters, `?` for
//! exactly one, and a backslash takes the meaning from `*`, `?` and the backslash. Before anything
//! else a backslash is itself, so that paths need no doubling.

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// These characters.
    Text(String),
    /// Any characters, also none: `*`.
    Many,
    /// Exactly one character: `?`.
    One,
}

/// A text with wildcards. Two texts never follow each other, nor two `*`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern(Vec<Token>);

impl Pattern {
    /// The pattern that a value of a rule says.
    #[must_use]
    pub fn read(value: &str) -> Self {
        let mut tokens = Vec::new();
        let mut text = String::new();
        let mut chars = value.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' => text.push(
                    chars
                        .next_if(|c| matches!(c, '*' | '?' | '\\'))
                        .unwrap_or(c),
                ),
                '*' | '?' => {
                    tokens.push(Token::Text(std::mem::take(&mut text)));
                    tokens.push(if c == '*' { Token::Many } else { Token::One });
                }
                c => text.push(c),
            }
        }
        tokens.push(Token::Text(text));
        Self::new(tokens)
    }

    /// A pattern of these parts; empty texts and repeated `*` are left out.
    #[must_use]
    pub fn new(tokens: Vec<Token>) -> Self {
        let mut kept: Vec<Token> = Vec::with_capacity(tokens.len());
        for token in tokens {
            match (kept.last_mut(), token) {
                (_, Token::Text(text)) if text.is_empty() => {}
                (Some(Token::Text(before)), Token::Text(text)) => before.push_str(&text),
                (Some(Token::Many), Token::Many) => {}
                (_, token) => kept.push(token),
            }
        }
        Self(kept)
    }

    /// A pattern without wildcards.
    #[must_use]
    pub fn literal(text: impl Into<String>) -> Self {
        Self::new(vec![Token::Text(text.into())])
    }

    /// Its parts.
    #[must_use]
    pub fn tokens(&self) -> &[Token] {
        &self.0
    }

    /// The text, where there is no wildcard.
    #[must_use]
    pub fn as_literal(&self) -> Option<&str> {
        match &*self.0 {
            [] => Some(""),
            [Token::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The pattern with `*` before it, after it, or both.
    #[must_use]
    pub(super) fn open(mut self, before: bool, after: bool) -> Self {
        if before {
            self.0.insert(0, Token::Many);
        }
        if after {
            self.0.push(Token::Many);
        }
        Self::new(self.0)
    }

    /// The pattern as a regular expression without anchors.
    pub(super) fn regex(&self) -> String {
        let mut out = String::new();
        for token in &self.0 {
            match token {
                Token::Text(text) => out.push_str(&regex::escape(text)),
                Token::Many => out.push_str(".*"),
                Token::One => out.push('.'),
            }
        }
        out
    }
}
