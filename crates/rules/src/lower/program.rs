//! A condition, compiled. It keeps the tree beside the tests: the evaluator does what is left to
//! it, and says why where something failed.

use super::lowering::lower;
use super::outcome::Outcome;
use super::run::Run;
use super::test::Test;
use crate::check::{Ty, check};
use crate::eval::{EvalError, Evaluator, Patterns, Steps};
use crate::expr::{Ast, Literal, Node, NodeId, Span, SyntaxError, parse};
use bailiwick_event::fields::{EventType, Field, FieldType, Projection, Subject};
use std::fmt;

/// Why a condition cannot be enforced: every mistake in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError(pub Vec<SyntaxError>);

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, error) in self.0.iter().enumerate() {
            f.write_str(if n > 0 { "\n" } else { "" })?;
            error.fmt(f)?;
        }
        Ok(())
    }
}
impl std::error::Error for CompileError {}

/// A compiled condition.
#[derive(Debug)]
pub struct Program {
    ast: Ast,
    patterns: Patterns,
    test: Test,
    warnings: Vec<SyntaxError>,
}

impl Program {
    /// Compiles a condition about events of a type; none: of any type, a field that an event does
    /// not have being absent.
    ///
    /// # Errors
    /// [`CompileError`] where it is no condition, asks for what is not there, or can only fail.
    pub fn compile(text: &str, on: Option<EventType>) -> Result<Self, CompileError> {
        let mut ast = parse(text).map_err(|error| CompileError(vec![error]))?;
        let checked = check(&mut ast, on).map_err(CompileError)?;
        let root = ast.span(ast.root());
        if !matches!(checked.ty, Ty::Bool | Ty::Dyn) {
            let message = format!("a condition is true or false; this is {}", checked.ty);
            let error = SyntaxError::new(root, message, "compare it with something");
            return Err(CompileError(vec![error]));
        }
        let mut warnings = checked.warnings;
        let patterns = checked.patterns;
        let test = lower(&ast, &patterns);
        if let Test::Constant(yes) = test {
            let message = format!("the condition is always {yes}");
            warnings.push(SyntaxError::new(root, message, ""));
        }
        Ok(Self {
            ast,
            patterns,
            test,
            warnings,
        })
    }

    /// What the condition says about an event.
    #[must_use]
    #[inline]
    pub fn run(&self, subject: &Subject<'_>) -> Outcome {
        self.run_within(subject, &Steps::of_event())
    }

    /// The same within the steps that are left of those of an event.
    #[must_use]
    #[inline]
    pub fn run_within(&self, subject: &Subject<'_>, steps: &Steps) -> Outcome {
        let run = Run {
            subject,
            steps,
            program: self,
        };
        run.test(&self.test, None)
    }

    /// Bytes that it takes in memory, roughly.
    #[must_use]
    pub(crate) fn memory(&self) -> usize {
        // A node, its place and what is made of it.
        self.ast.nodes.len() * 4 * size_of::<Node>() + self.patterns.memory()
    }

    /// What the condition says about an event, by the evaluator alone.
    ///
    /// # Errors
    /// [`EvalError`] where it has no value.
    pub fn evaluate(&self, subject: &Subject<'_>) -> Result<bool, EvalError> {
        self.evaluator(subject).condition()
    }

    /// The same within the steps that are left of those of an event.
    ///
    /// # Errors
    /// As [`Program::evaluate`].
    pub fn evaluate_within(&self, subject: &Subject<'_>, steps: &Steps) -> Result<bool, EvalError> {
        let evaluator = self.evaluator(subject).within(steps);
        let result = evaluator.condition();
        evaluator.take_from(steps);
        result
    }

    /// The evaluator of it for an event.
    pub(crate) fn evaluator<'e>(&'e self, subject: &'e Subject<'e>) -> Evaluator<'e> {
        Evaluator::new(&self.ast, subject).with_patterns(&self.patterns)
    }

    /// The condition as a tree.
    #[must_use]
    pub fn ast(&self) -> &Ast {
        &self.ast
    }

    /// What is allowed and hardly meant.
    #[must_use]
    pub fn warnings(&self) -> &[SyntaxError] {
        &self.warnings
    }

    /// Whether nothing of it is left to the evaluator.
    #[must_use]
    pub fn is_lowered(&self) -> bool {
        !self.test.is_general()
    }

    pub(crate) fn test(&self) -> &Test {
        &self.test
    }

    /// What some parts ask for, each once, with the first place where it stands.
    fn places<'p, T: PartialEq>(&'p self, of: impl Fn(&'p Node) -> Option<T>) -> Vec<(T, Span)> {
        let mut found: Vec<(T, Span)> = Vec::new();
        for (node, span) in self.ast.nodes.iter().zip(&self.ast.spans) {
            if let Some(asked) = of(node)
                && found.iter().all(|(known, _)| *known != asked)
            {
                found.push((asked, *span));
            }
        }
        found
    }

    fn literal(&self, id: NodeId) -> Option<&str> {
        match self.ast.node(id) {
            Node::Literal(Literal::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// The fields that an event of the type may lack and that the condition never asks about with
    /// `has()`, each with a place where it stands.
    #[must_use]
    pub fn unguarded(&self) -> Vec<(Field, Span)> {
        let asked = self.places(|node| match node {
            Node::HasField(field) => Some(*field),
            _ => None,
        });
        let is_asked = |field| asked.iter().any(|(known, _)| *known == field);
        self.places(|node| match node {
            Node::Field(field) if !field.info().always && !is_asked(*field) => Some(*field),
            _ => None,
        })
    }

    /// The headers whose value it asks for by name and that it never asks for with `.exists()`, each
    /// with a place where it stands.
    #[must_use]
    pub fn unguarded_headers(&self) -> Vec<(&str, Span)> {
        let asked = self.places(|node| match node {
            Node::HasHeader { name, .. } => self.literal(*name),
            _ => None,
        });
        let is_asked = |name: &str| {
            asked
                .iter()
                .any(|(known, _)| known.eq_ignore_ascii_case(name))
        };
        self.places(|node| match node {
            Node::Header { name, .. } => self.literal(*name).filter(|name| !is_asked(name)),
            _ => None,
        })
    }

    /// The fields that no event of a run has yet, each with a place where it stands.
    #[must_use]
    pub fn untold(&self, on: EventType) -> Vec<(Field, Span)> {
        self.places(|node| match node {
            Node::Field(field) | Node::HasField(field) => Some(*field),
            _ => None,
        })
        .into_iter()
        .filter(|(field, _)| Projection::never_tells(on, *field))
        .collect()
    }

    /// The headers that it asks for, in lower case, each once; none where it asks for headers in
    /// another way than by a name that stands in it.
    #[must_use]
    pub fn headers(&self) -> Option<Vec<Box<str>>> {
        let mut names = Vec::new();
        for node in &self.ast.nodes {
            match node {
                Node::Header { name, .. } | Node::HasHeader { name, .. } => {
                    names.push(self.literal(*name)?.to_ascii_lowercase().into());
                }
                Node::Field(field) if field.info().ty == FieldType::Headers => return None,
                _ => {}
            }
        }
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    /// The fields that it asks for, each once, in the order of the table.
    #[must_use]
    pub fn fields(&self) -> Vec<Field> {
        let mut fields: Vec<_> = self
            .ast
            .nodes
            .iter()
            .filter_map(|node| match node {
                Node::Field(field)
                | Node::HasField(field)
                | Node::Header { field, .. }
                | Node::HasHeader { field, .. } => Some(*field),
                _ => None,
            })
            .collect();
        fields.sort_unstable();
        fields.dedup();
        fields
    }
}
