//! One test as a part of a condition.
//!
//! Letters match whatever their case unless the test says otherwise. For the letters of ASCII both
//! sides are written in lower case; a value with other letters that have a case becomes a regular
//! expression that ignores it. Two fields that are compared with each other are the same whatever
//! the case of the letters of ASCII.

use super::detection_parts::{Flags, How, Match, Operand, Relation};
use super::lower::{Around, Shape, part};
use super::pattern::Pattern;
use super::validate::keyword_fields;
use crate::expr::quoted;
use bailiwick_event::fields::EventType;
use std::borrow::Cow;
use std::fmt::Write as _;

pub(super) fn write(out: &mut String, on: EventType, test: &Match, around: Around) {
    match test {
        Match::Text {
            of,
            how,
            values,
            case,
        } => text(out, around, of, *how, values, *case),
        Match::Number {
            of,
            relation,
            values,
        } => number(out, around, of, *relation, values),
        Match::Wildcard { of, values, case } => {
            let regex = |value: &Pattern| format!("{}^{}$", flags(*case), value.regex());
            regexes(out, around, of, values, regex);
        }
        Match::Regex {
            of, values, flags, ..
        } => {
            regexes(out, around, of, values, |value: &String| {
                if *flags == Flags::default() {
                    return value.clone();
                }
                format!("(?{}){value}", flags.letters())
            });
        }
        Match::Cidr { of, values } => cidr(out, around, of, values),
        Match::Exists { of } if always(of) => out.push_str("true"),
        Match::Exists { of } => has(out, of),
        Match::Null { of } if always(of) => out.push_str("false"),
        Match::Null { of } => {
            out.push('!');
            has(out, of);
        }
        Match::FieldRef {
            of,
            other,
            how,
            case,
        } => {
            let number = matches!(of, Operand::Field(field) if !is_text(*field));
            reference(out, around, [of, other], *how, *case || number);
        }
        Match::Keyword { values, case } => keyword(out, around, on, values, *case),
    }
}

fn is_text(field: bailiwick_event::fields::Field) -> bool {
    field.info().ty == bailiwick_event::fields::FieldType::Text
}

/// Whether every event of the type has the value.
fn always(of: &Operand) -> bool {
    matches!(of, Operand::Field(field) if field.info().always)
}

fn operand(out: &mut String, of: &Operand) {
    match of {
        Operand::Field(field) => out.push_str(field.info().path),
        Operand::Header(name) => {
            out.push_str("http.request.header(");
            out.push_str(&quoted(name));
            out.push(')');
        }
    }
}

fn has(out: &mut String, of: &Operand) {
    match of {
        Operand::Field(field) => {
            out.push_str("has(");
            out.push_str(field.info().path);
            out.push(')');
        }
        // Whether it was sent has no answer where no header was seen at all.
        Operand::Header(_) => {
            out.push_str("(has(http.request.headers) && ");
            operand(out, of);
            out.push_str(".exists())");
        }
    }
}

/// A test behind the questions whether its values are there.
fn guarded<const N: usize>(
    out: &mut String,
    around: Around,
    of: [&Operand; N],
    shape: Shape,
    test: impl FnOnce(&mut String),
) {
    if of.iter().all(|of| always(of)) {
        return part(out, around, shape, test);
    }
    part(out, around, Shape::And, |out| {
        for of in of.iter().filter(|of| !always(of)) {
            has(out, of);
            out.push_str(" && ");
        }
        part(out, Around::And, shape, test);
    });
}

/// Alternatives; one alone has the shape of itself.
fn shape_of(count: usize, one: Shape) -> Shape {
    if count == 1 { one } else { Shape::Or }
}

fn or(out: &mut String, n: usize) {
    if n > 0 {
        out.push_str(" || ");
    }
}

/// Whether a value has letters with a case that are not of ASCII.
fn beyond_ascii(value: &str) -> bool {
    let cased = |c: char| !c.to_lowercase().eq([c]) || !c.to_uppercase().eq([c]);
    !value.is_ascii() && value.chars().any(|c| !c.is_ascii() && cased(c))
}

/// The value as a literal, in lower case where the other side is.
fn literal(out: &mut String, value: &str, case: bool) {
    let lower: Cow<'_, str> = if case || !value.bytes().any(|b| b.is_ascii_uppercase()) {
        value.into()
    } else {
        value.to_ascii_lowercase().into()
    };
    out.push_str(&quoted(&lower));
}

fn flags(case: bool) -> &'static str {
    if case { "(?s)" } else { "(?is)" }
}

fn matches(out: &mut String, of: &Operand, regex: &str) {
    operand(out, of);
    out.push_str(".matches(");
    out.push_str(&quoted(regex));
    out.push(')');
}

fn folded(out: &mut String, of: &Operand, case: bool) {
    operand(out, of);
    if !case {
        out.push_str(".lowerAscii()");
    }
}

fn text(out: &mut String, around: Around, of: &Operand, how: How, values: &[String], case: bool) {
    let is_regex = |value: &&String| !case && beyond_ascii(value);
    let regexes = values.iter().filter(is_regex).count();
    let plain = values.len() - regexes;
    let (terms, one) = match how {
        How::Equals if plain > 0 => (regexes + 1, Shape::Relation),
        _ => (values.len(), Shape::Call),
    };
    guarded(out, around, [of], shape_of(terms, one), |out| {
        let mut written = 0;
        if how == How::Equals && plain > 0 {
            folded(out, of, case);
            out.push_str(if plain == 1 { " == " } else { " in [" });
            let plain_values = values.iter().filter(|value| !is_regex(value));
            for (n, value) in plain_values.enumerate() {
                out.push_str(if n > 0 { ", " } else { "" });
                literal(out, value, case);
            }
            out.push_str(if plain == 1 { "" } else { "]" });
            written = 1;
        }
        for value in values {
            if is_regex(&value) {
                or(out, written);
                let (start, end) = anchors(how);
                let value = regex::escape(value);
                matches(out, of, &format!("(?is){start}{value}{end}"));
            } else if how != How::Equals {
                or(out, written);
                folded(out, of, case);
                out.push_str(method(how));
                literal(out, value, case);
                out.push(')');
            } else {
                continue;
            }
            written += 1;
        }
    });
}

fn anchors(how: How) -> (&'static str, &'static str) {
    match how {
        How::Equals => ("^", "$"),
        How::Contains => ("", ""),
        How::StartsWith => ("^", ""),
        How::EndsWith => ("", "$"),
    }
}

/// The method of texts; `Equals` has none.
fn method(how: How) -> &'static str {
    match how {
        How::Equals | How::Contains => ".contains(",
        How::StartsWith => ".startsWith(",
        How::EndsWith => ".endsWith(",
    }
}

fn number(out: &mut String, around: Around, of: &Operand, relation: Relation, values: &[i64]) {
    let list = relation == Relation::Equal && values.len() > 1;
    let terms = if list { 1 } else { values.len() };
    guarded(out, around, [of], shape_of(terms, Shape::Relation), |out| {
        for (n, value) in values.iter().enumerate() {
            if list {
                if n == 0 {
                    operand(out, of);
                }
                out.push_str(if n == 0 { " in [" } else { ", " });
            } else {
                or(out, n);
                operand(out, of);
                let _ = write!(out, " {} ", relation.symbol());
            }
            let _ = write!(out, "{value}");
        }
        out.push_str(if list { "]" } else { "" });
    });
}

fn regexes<T>(
    out: &mut String,
    around: Around,
    of: &Operand,
    values: &[T],
    regex: impl Fn(&T) -> String,
) {
    guarded(
        out,
        around,
        [of],
        shape_of(values.len(), Shape::Call),
        |out| {
            for (n, value) in values.iter().enumerate() {
                or(out, n);
                matches(out, of, &regex(value));
            }
        },
    );
}

fn cidr(out: &mut String, around: Around, of: &Operand, values: &[String]) {
    guarded(out, around, [of], Shape::And, |out| {
        out.push_str("isIP(");
        operand(out, of);
        out.push_str(") && ");
        let shape = shape_of(values.len(), Shape::Call);
        part(out, Around::And, shape, |out| {
            for (n, value) in values.iter().enumerate() {
                or(out, n);
                out.push_str("cidr(");
                out.push_str(&quoted(value));
                out.push_str(").containsIP(");
                operand(out, of);
                out.push(')');
            }
        });
    });
}

fn reference(out: &mut String, around: Around, [of, other]: [&Operand; 2], how: How, case: bool) {
    let shape = match how {
        How::Equals => Shape::Relation,
        _ => Shape::Call,
    };
    guarded(out, around, [of, other], shape, |out| {
        folded(out, of, case);
        out.push_str(if how == How::Equals {
            " == "
        } else {
            method(how)
        });
        folded(out, other, case);
        out.push_str(if how == How::Equals { "" } else { ")" });
    });
}

fn keyword(out: &mut String, around: Around, on: EventType, values: &[Pattern], case: bool) {
    let fields = keyword_fields(on).count();
    if fields == 0 {
        return out.push_str("false");
    }
    // Without alternatives of its own, the one field is what stands around it.
    let inner = if fields == 1 { around } else { Around::Or };
    let all = |out: &mut String| {
        for (n, field) in keyword_fields(on).enumerate() {
            or(out, n);
            let of = Operand::Field(field);
            let shape = shape_of(values.len(), Shape::Call);
            guarded(out, inner, [&of], shape, |out| {
                for (n, value) in values.iter().enumerate() {
                    or(out, n);
                    match value.as_literal() {
                        Some(text) if case || !beyond_ascii(text) => {
                            folded(out, &of, case);
                            out.push_str(".contains(");
                            literal(out, text, case);
                            out.push(')');
                        }
                        _ => matches(out, &of, &format!("{}{}", flags(case), value.regex())),
                    }
                }
            });
        }
    };
    if fields == 1 {
        all(out);
    } else {
        part(out, around, Shape::Or, all);
    }
}
