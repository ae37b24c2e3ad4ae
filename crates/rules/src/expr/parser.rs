//! Words to a tree, by precedence climbing. Every recursion counts its depth, and a chain of
//! operators counts as deep as the tree that it makes.

use super::ast::{Ast, BinaryOp, Literal, MacroKind, Node, NodeId, Span, UnaryOp};
use super::lexer::{Lexer, Quoted, Token, symbol};
use super::literal::{unescape, whole};
use super::syntax_error::SyntaxError;

/// Bytes of the longest condition.
pub const MAX_LENGTH: usize = 64 * 1024;
/// Nodes of the largest condition.
pub const MAX_NODES: usize = 16 * 1024;
/// Levels of the deepest condition.
pub const MAX_DEPTH: u32 = 96;

/// Names that the language keeps for itself.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The tree of a condition.
///
/// # Errors
/// [`SyntaxError`] where the text is no condition of the language, or is too long, too large or
/// too deep.
pub fn parse(text: &str) -> Result<Ast, SyntaxError> {
    if text.len() > MAX_LENGTH {
        return Err(SyntaxError::new(
            Span::default(),
            format!(
                "a condition has at most {MAX_LENGTH} bytes; this has {}",
                text.len()
            ),
            "make several rules of it",
        ));
    }
    let mut lexer = Lexer::new(text);
    let (token, span) = lexer.next()?;
    let mut parser = Parser {
        lexer,
        token,
        span,
        before: span,
        ast: Ast::default(),
        heights: Vec::new(),
        depth: 0,
    };
    parser.ast.nodes.reserve(16);
    parser.ast.spans.reserve(16);
    let root = parser.expression()?;
    if parser.token != Token::End {
        return Err(parser.unexpected("an operator or the end"));
    }
    parser.ast.root = root;
    Ok(parser.ast)
}

struct Parser<'s> {
    lexer: Lexer<'s>,
    token: Token<'s>,
    span: Span,
    /// The word before.
    before: Span,
    ast: Ast,
    /// Levels below each node.
    heights: Vec<u8>,
    depth: u32,
}

type Parsed = Result<NodeId, SyntaxError>;

impl<'s> Parser<'s> {
    fn advance(&mut self) -> Result<(), SyntaxError> {
        self.before = self.span;
        (self.token, self.span) = self.lexer.next()?;
        Ok(())
    }

    #[inline]
    fn is(&self, wanted: &'static str) -> bool {
        matches!(self.token, Token::Symbol(there) if there == symbol(wanted))
    }

    #[inline]
    fn take(&mut self, wanted: &'static str) -> Result<bool, SyntaxError> {
        let there = self.is(wanted);
        if there {
            self.advance()?;
        }
        Ok(there)
    }

    fn need(&mut self, wanted: &'static str) -> Result<(), SyntaxError> {
        if self.take(wanted)? {
            return Ok(());
        }
        Err(self.unexpected(&format!("\"{wanted}\"")))
    }

    fn unexpected(&self, wanted: &str) -> SyntaxError {
        let found = match self.token {
            Token::End => "the condition ends here".to_owned(),
            Token::Symbol(symbol) => format!("\"{}\" stands here", shown(symbol)),
            Token::Name(name) if RESERVED.contains(&name) => {
                format!("\"{name}\" is reserved by the language")
            }
            Token::Name(name) => format!("\"{name}\" stands here"),
            _ => "a value stands here".to_owned(),
        };
        let help = match self.token {
            Token::Name("and") => "write && for \"and\"".to_owned(),
            Token::Name("or") => "write || for \"or\"".to_owned(),
            Token::Name("is" | "equals") => "write == to compare".to_owned(),
            Token::Name(name @ ("contains" | "startsWith" | "endsWith" | "matches")) => {
                format!("write a.{name}(\"…\")")
            }
            _ if self.lexer.text().get(self.before.range()) == Some("not") => {
                "write ! for \"not\"".to_owned()
            }
            _ => format!("{wanted} is expected"),
        };
        SyntaxError::new(self.span, found, help)
    }

    fn push(&mut self, node: Node, span: Span) -> Parsed {
        if self.ast.len() >= MAX_NODES {
            return Err(SyntaxError::new(
                span,
                format!("a condition has at most {MAX_NODES} parts"),
                "make several rules of it",
            ));
        }
        let id = self.ast.push(node, span);
        let mut height = 0;
        self.ast.children(id, |child| {
            height = height.max(self.heights[child as usize] + 1)
        });
        self.heights.push(height);
        if u32::from(height) >= MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        Ok(id)
    }

    fn too_deep(&self, span: Span) -> SyntaxError {
        SyntaxError::new(
            span,
            format!("a condition has at most {MAX_DEPTH} levels"),
            "make several rules of it, or use a list with `in`",
        )
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.too_deep(self.span));
        }
        let test = self.chain(true)?;
        let whole = if self.take("?")? {
            let then = self.chain(true)?;
            self.need(":")?;
            let otherwise = self.expression()?;
            let span = self.ast.span(test).to(self.before);
            let node = Node::Ternary {
                test,
                then,
                otherwise,
            };
            self.push(node, span)?
        } else {
            test
        };
        self.depth -= 1;
        Ok(whole)
    }

    /// `a || b || …`, of which each is `c && d && …`.
    fn chain(&mut self, or: bool) -> Parsed {
        let between = if or { "||" } else { "&&" };
        let part = |parser: &mut Self| match or {
            true => parser.chain(false),
            false => parser.binary(3),
        };
        let first = part(self)?;
        if !self.is(between) {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.take(between)? {
            all.push(part(self)?);
        }
        let span = self.ast.span(first).to(self.before);
        let all = all.into_boxed_slice();
        self.push(if or { Node::Or(all) } else { Node::And(all) }, span)
    }

    fn operator(&self) -> Option<BinaryOp> {
        use BinaryOp as Op;
        Some(match self.token {
            Token::Symbol([b'+', 0]) => Op::Add,
            Token::Symbol([b'-', 0]) => Op::Subtract,
            Token::Symbol([b'*', 0]) => Op::Multiply,
            Token::Symbol([b'/', 0]) => Op::Divide,
            Token::Symbol([b'%', 0]) => Op::Modulo,
            Token::Symbol([b'=', b'=']) => Op::Equal,
            Token::Symbol([b'!', b'=']) => Op::NotEqual,
            Token::Symbol([b'<', 0]) => Op::Less,
            Token::Symbol([b'<', b'=']) => Op::LessEqual,
            Token::Symbol([b'>', 0]) => Op::Greater,
            Token::Symbol([b'>', b'=']) => Op::GreaterEqual,
            Token::Name("in") => Op::In,
            _ => return None,
        })
    }

    fn binary(&mut self, least: u8) -> Parsed {
        let mut left = self.unary()?;
        while let Some(op) = self.operator().filter(|op| op.precedence() >= least) {
            self.advance()?;
            let right = self.binary(op.precedence() + 1)?;
            let span = self.ast.span(left).to(self.before);
            left = self.push(Node::Binary(op, left, right), span)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let from = self.span;
        let op = match self.token {
            Token::Symbol([b'!', 0]) => UnaryOp::Not,
            Token::Symbol([b'-', 0]) => UnaryOp::Negate,
            _ => return self.member(),
        };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.too_deep(from));
        }
        self.advance()?;
        let of = match (op, self.token) {
            // The most negative number has no positive one to be the negation of.
            (UnaryOp::Negate, Token::Int(digits)) => {
                let number = whole(digits).and_then(|n| 0i64.checked_sub_unsigned(n));
                let Some(number) = number else {
                    return Err(self.too_large(digits));
                };
                self.advance()?;
                let id = self.push(Node::Literal(Literal::Int(number)), from.to(self.before))?;
                let id = self.suffixes(id)?;
                self.depth -= 1;
                return Ok(id);
            }
            (_, Token::Symbol([b'!' | b'-', 0])) => self.unary()?,
            _ => self.member()?,
        };
        self.depth -= 1;
        self.push(Node::Unary(op, of), from.to(self.before))
    }

    fn member(&mut self) -> Parsed {
        let of = self.primary()?;
        self.suffixes(of)
    }

    fn suffixes(&mut self, mut of: NodeId) -> Parsed {
        loop {
            let from = self.ast.span(of);
            if self.take("[")? {
                let at = self.expression()?;
                self.need("]")?;
                of = self.push(Node::Index { of, at }, from.to(self.before))?;
            } else if self.take(".")? {
                let (name, at) = match self.token {
                    Token::Name(name) if !is_keyword(name) => (name, self.span),
                    Token::Quoted(name) => (name, self.span),
                    _ => return Err(self.unexpected("a name")),
                };
                self.advance()?;
                of = if self.take("(")? {
                    let arguments = self.list(")")?;
                    self.method(of, name, at, arguments, from.to(self.before))?
                } else {
                    let name = name.into();
                    self.push(Node::Select { of, name }, from.to(self.before))?
                };
            } else {
                return Ok(of);
            }
        }
    }

    /// Expressions up to a closing symbol, which is taken; a comma may stand at the end of a
    /// list, not of arguments.
    fn list(&mut self, close: &'static str) -> Result<Box<[NodeId]>, SyntaxError> {
        let mut all = Vec::new();
        while !self.is(close) {
            all.push(self.expression()?);
            if !self.take(",")? {
                break;
            }
            if close == ")" && self.is(close) {
                return Err(self.unexpected("an argument"));
            }
        }
        self.need(close)?;
        Ok(all.into_boxed_slice())
    }

    fn method(
        &mut self,
        target: NodeId,
        name: &str,
        at: Span,
        arguments: Box<[NodeId]>,
        span: Span,
    ) -> Parsed {
        let name = if name == "existsOne" {
            "exists_one"
        } else {
            name
        };
        let kind = MacroKind::ALL.iter().find(|(_, n)| *n == name);
        // `field.exists()` asks whether the field is there; it is no macro.
        let Some((kind, _)) = kind.filter(|_| !arguments.is_empty()) else {
            let node = Node::Call {
                name: name.into(),
                target: Some(target),
                arguments,
            };
            return self.push(node, span);
        };
        let (variable, test, body) = match (*kind, &*arguments) {
            (_, [variable, body]) => (*variable, None, *body),
            (MacroKind::Map, [variable, test, body]) => (*variable, Some(*test), *body),
            _ => {
                return Err(SyntaxError::new(
                    at,
                    format!("`{name}` takes a variable and an expression"),
                    format!("write list.{name}(x, …)"),
                ));
            }
        };
        let variable = match self.ast.node(variable) {
            Node::Name(name) => name.clone(),
            _ => {
                return Err(SyntaxError::new(
                    self.ast.span(variable),
                    format!("the first argument of `{name}` is the name of a variable"),
                    format!("write list.{name}(x, …)"),
                ));
            }
        };
        let node = Node::Macro {
            kind: *kind,
            range: target,
            variable,
            test,
            body,
        };
        self.push(node, span)
    }

    fn too_large(&self, digits: &str) -> SyntaxError {
        SyntaxError::new(
            self.span,
            format!("{digits} is too large for a number of 64 bits"),
            "write a smaller number, or a double: 1e30",
        )
    }

    fn quoted(&self, quoted: Quoted<'_>, bytes: bool) -> Result<Vec<u8>, SyntaxError> {
        unescape(quoted, bytes).map_err(|why| SyntaxError::new(self.span, why, ""))
    }

    fn primary(&mut self) -> Parsed {
        let from = self.span;
        let literal = match self.token {
            Token::Name("true") => Literal::Bool(true),
            Token::Name("false") => Literal::Bool(false),
            Token::Name("null") => Literal::Null,
            Token::Name(name) if name != "in" && !RESERVED.contains(&name) => {
                self.advance()?;
                return self.named(name, from);
            }
            // A name from the top, where there is no other place to begin.
            Token::Symbol([b'.', 0]) => {
                self.advance()?;
                let Token::Name(name) = self.token else {
                    return Err(self.unexpected("a name"));
                };
                if is_keyword(name) || RESERVED.contains(&name) {
                    return Err(self.unexpected("a name"));
                }
                self.advance()?;
                return self.named(name, from);
            }
            Token::Int(digits) => match whole(digits).and_then(|n| i64::try_from(n).ok()) {
                Some(number) => Literal::Int(number),
                None => return Err(self.too_large(digits)),
            },
            Token::Uint(digits) => match whole(digits) {
                Some(number) => Literal::Uint(number),
                None => return Err(self.too_large(digits)),
            },
            Token::Double(digits) => match digits.parse::<f64>() {
                Ok(number) if number.is_finite() => Literal::Double(number),
                _ => return Err(self.too_large(digits)),
            },
            Token::Text(quoted) => {
                let bytes = self.quoted(quoted, false)?;
                Literal::Text(String::from_utf8_lossy(&bytes).into())
            }
            Token::Bytes(quoted) => Literal::Bytes(self.quoted(quoted, true)?.into()),
            Token::Symbol([b'(', 0]) => {
                self.advance()?;
                let inner = self.expression()?;
                self.need(")")?;
                return Ok(inner);
            }
            Token::Symbol([b'[', 0]) => {
                self.advance()?;
                let all = self.list("]")?;
                return self.push(Node::List(all), from.to(self.before));
            }
            Token::Symbol([b'{', 0]) => return self.map(from),
            _ => return Err(self.unexpected("a field, a value or a list")),
        };
        self.advance()?;
        self.push(Node::Literal(literal), from)
    }

    fn named(&mut self, name: &str, from: Span) -> Parsed {
        if !self.take("(")? {
            return self.push(Node::Name(name.into()), from);
        }
        let arguments = self.list(")")?;
        let span = from.to(self.before);
        if name != "has" {
            let node = Node::Call {
                name: name.into(),
                target: None,
                arguments,
            };
            return self.push(node, span);
        }
        let asked = match &*arguments {
            [one] => match self.ast.node(*one) {
                Node::Select { of, name } => Some((*of, name.clone())),
                _ => None,
            },
            _ => None,
        };
        match asked {
            Some((of, name)) => self.push(Node::Has { of, name }, span),
            None => Err(SyntaxError::new(
                span,
                "has() asks whether one field is there",
                "write has(http.request.query), and http.request.header(\"name\").exists() of a header",
            )),
        }
    }

    fn map(&mut self, from: Span) -> Parsed {
        self.advance()?;
        let mut pairs = Vec::new();
        while !self.is("}") {
            let key = self.expression()?;
            self.need(":")?;
            pairs.push((key, self.expression()?));
            if !self.take(",")? {
                break;
            }
        }
        self.need("}")?;
        self.push(Node::Map(pairs.into()), from.to(self.before))
    }
}

/// A symbol as it is written.
fn shown(symbol: [u8; 2]) -> String {
    let written = symbol.iter().take_while(|b| **b != 0);
    written.map(|b| char::from(*b)).collect()
}

fn is_keyword(name: &str) -> bool {
    matches!(name, "in" | "true" | "false" | "null")
}
