//! The text of a condition and the tree that it says.
//!
//! Decision: our own parser, because every mistake must be told with its place and its remedy, and
//! because a rule is hostile input: its length, depth and number of parts are bounded here, so
//! that nothing behind has to fear for its stack.

mod ast;
mod lexer;
mod literal;
mod parser;
mod print;
mod syntax_error;

pub use ast::{Ast, BinaryOp, Literal, MacroKind, Node, NodeId, Span, UnaryOp};
pub use parser::{MAX_DEPTH, MAX_LENGTH, MAX_NODES, parse};
pub use print::quoted;
pub use syntax_error::SyntaxError;

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
