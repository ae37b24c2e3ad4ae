//! Whether a regular expression of a rule, which is one of PCRE, says the same to the engine of
//! this program. What the engine cannot read is an error anyway; the threat is what it reads
//! otherwise, because such a rule would pass for one that works.
//!
//! Two differences are accepted: `$` does not match before a line feed that ends the text, and the
//! classes `\d`, `\w` and `\s` know the whole of Unicode.

use super::detection_parts::Flags;
use regex_syntax::ast::{self, AssertionKind, Ast, ClassSetItem, Flag, FlagsItemKind, Visitor};
use regex_syntax::hir::translate::TranslatorBuilder;

/// Bytes of the longest expression.
const MAX_LENGTH: usize = 4096;
/// Levels of the deepest expression.
const MAX_DEPTH: u32 = 64;
/// Bytes of the largest program that an expression becomes; what is larger takes long to compile.
const MAX_PROGRAM: usize = 1024 * 1024;

/// Fails where the expression cannot be carried over.
///
/// # Errors
/// Why, in one line.
pub(super) fn check(pattern: &str, flags: Flags) -> Result<(), String> {
    if pattern.len() > MAX_LENGTH {
        return Err(format!("it has more than {MAX_LENGTH} bytes"));
    }
    let mut parser = ast::parse::ParserBuilder::new();
    let parsed = parser.nest_limit(MAX_DEPTH).build().parse(pattern);
    let tree = parsed.map_err(|error| format!("{}: {pattern}", error.kind()))?;
    ast::visit(&tree, Meaning { pattern })?;
    TranslatorBuilder::new()
        .case_insensitive(flags.ignore_case)
        .multi_line(flags.lines)
        .dot_matches_new_line(flags.dot_all)
        .build()
        .translate(pattern, &tree)
        .map_err(|error| format!("{}: {pattern}", error.kind()))?;
    Ok(())
}

/// Fails as well where the engine would need too much memory for it.
///
/// # Errors
/// Why.
pub(super) fn compile(pattern: &str, flags: Flags) -> Result<(), String> {
    check(pattern, flags)?;
    let compiled = regex::RegexBuilder::new(pattern)
        .case_insensitive(flags.ignore_case)
        .multi_line(flags.lines)
        .dot_matches_new_line(flags.dot_all)
        .size_limit(MAX_PROGRAM)
        .build();
    compiled.map(drop).map_err(|error| error.to_string())
}

/// Finds what PCRE reads otherwise.
struct Meaning<'p> {
    pattern: &'p str,
}

impl Meaning<'_> {
    fn refuse<T>(&self, span: &ast::Span, why: &str) -> Result<T, String> {
        let part = self.pattern.get(span.start.offset..span.end.offset);
        Err(format!("{:?} in it {why}", part.unwrap_or_default()))
    }

    fn flags(&self, flags: &ast::Flags) -> Result<(), String> {
        for item in &flags.items {
            if let FlagsItemKind::Flag(Flag::CRLF | Flag::Unicode | Flag::SwapGreed) = item.kind {
                return self.refuse(&item.span, "is a flag with another meaning in PCRE");
            }
        }
        Ok(())
    }
}

impl Visitor for Meaning<'_> {
    type Output = ();
    type Err = String;

    fn finish(self) -> Result<(), String> {
        Ok(())
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), String> {
        match part {
            Ast::Assertion(assertion) => match assertion.kind {
                AssertionKind::StartLine
                | AssertionKind::EndLine
                | AssertionKind::StartText
                | AssertionKind::EndText
                | AssertionKind::WordBoundary
                | AssertionKind::NotWordBoundary => Ok(()),
                _ => self.refuse(&assertion.span, "has another meaning in PCRE"),
            },
            Ast::Repetition(repetition) => {
                let span = &repetition.op.span;
                let text = self.pattern.get(span.start.offset..span.end.offset);
                // PCRE takes these for the characters themselves.
                let odd = |text: &str| {
                    text.starts_with('{') && (text.contains("{,") || text.contains(' '))
                };
                if text.is_some_and(odd) {
                    return self.refuse(span, "is no repetition in PCRE");
                }
                if let Ast::Repetition(_) = *repetition.ast
                    && text == Some("+")
                {
                    return self.refuse(span, "makes the repetition before it possessive in PCRE");
                }
                Ok(())
            }
            Ast::Flags(set) => self.flags(&set.flags),
            Ast::Group(group) => match group.flags() {
                Some(flags) => self.flags(flags),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), String> {
        match item {
            ClassSetItem::Bracketed(inner) => self.refuse(
                &inner.span,
                "is a class within a class, which PCRE does not have",
            ),
            _ => Ok(()),
        }
    }

    fn visit_class_set_binary_op_pre(&mut self, op: &ast::ClassSetBinaryOp) -> Result<(), String> {
        self.refuse(
            &op.span,
            "is an operation on classes, which PCRE does not have",
        )
    }
}
