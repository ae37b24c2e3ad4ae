//! A condition as a tree. Nodes lie in one list and name each other by number, a child before its
//! parent: to read a rule takes few allocations, and to drop one never recurses.

use crate::check::Function;
use bailiwick_event::fields::Field;
use std::ops::Range;

/// Bytes of the text of a condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last.
    pub end: u32,
}

impl Span {
    /// The range of bytes.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// From the start of one to the end of another.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start,
            end: other.end,
        }
    }
}

/// A node's number in its tree.
pub type NodeId = u32;

/// A value that stands in the text.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names are the types of the language")]
pub enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Box<str>),
    Bytes(Box<[u8]>),
    /// The name of a type; only after the check.
    Type(&'static str),
}

/// An operator with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the operators")]
pub enum UnaryOp {
    Not,
    Negate,
}

/// An operator with two operands; `&&` and `||` are nodes of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the operators")]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
}

impl BinaryOp {
    /// Every operator.
    pub const ALL: [Self; 12] = [
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Divide,
        Self::Modulo,
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessEqual,
        Self::Greater,
        Self::GreaterEqual,
        Self::In,
    ];

    /// As it is written.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::In => "in",
        }
    }

    /// How strongly it binds: relations 3, sums 4, products 5.
    #[must_use]
    pub fn precedence(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => 4,
            Self::Multiply | Self::Divide | Self::Modulo => 5,
            _ => 3,
        }
    }
}

/// A macro over the elements of a list or the keys of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the macros")]
pub enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

impl MacroKind {
    /// Every macro, and its name.
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::All, "all"),
        (Self::Exists, "exists"),
        (Self::ExistsOne, "exists_one"),
        (Self::Filter, "filter"),
        (Self::Map, "map"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// One part of a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A value.
    Literal(Literal),
    /// A name that is no field: a variable of a macro.
    Name(Box<str>),
    /// A field of the event; only after the check.
    Field(Field),
    /// `of.name`.
    Select {
        /// What it is taken of.
        of: NodeId,
        /// The name.
        name: Box<str>,
    },
    /// `has(of.name)`.
    Has {
        /// What it is asked of.
        of: NodeId,
        /// The name.
        name: Box<str>,
    },
    /// `has(field)`, and `field.exists()`; only after the check.
    HasField(Field),
    /// `http.request.header(name)`; only after the check.
    Header {
        /// The field that holds the headers.
        field: Field,
        /// The name.
        name: NodeId,
    },
    /// `http.request.header(name).exists()`; only after the check.
    HasHeader {
        /// The field that holds the headers.
        field: Field,
        /// The name.
        name: NodeId,
    },
    /// `of[at]`.
    Index {
        /// The list or map.
        of: NodeId,
        /// The place or key.
        at: NodeId,
    },
    /// An operator with one operand.
    Unary(UnaryOp, NodeId),
    /// An operator with two operands.
    Binary(BinaryOp, NodeId, NodeId),
    /// `a && b && …`, at least two.
    And(Box<[NodeId]>),
    /// `a || b || …`, at least two.
    Or(Box<[NodeId]>),
    /// `test ? then : otherwise`.
    Ternary {
        /// The test.
        test: NodeId,
        /// What holds where it is true.
        then: NodeId,
        /// What holds where it is false.
        otherwise: NodeId,
    },
    /// `target.name(arguments)` or `name(arguments)`.
    Call {
        /// The function's name.
        name: Box<str>,
        /// What stands before the dot.
        target: Option<NodeId>,
        /// What stands between the parentheses.
        arguments: Box<[NodeId]>,
    },
    /// A call whose function is known; only after the check. What stood before the dot is the
    /// first argument.
    Apply {
        /// The function.
        function: Function,
        /// Whether the first argument stands before a dot.
        member: bool,
        /// The arguments.
        arguments: Box<[NodeId]>,
    },
    /// `[a, b, …]`.
    List(Box<[NodeId]>),
    /// `{key: value, …}`.
    Map(Box<[(NodeId, NodeId)]>),
    /// `range.all(variable, body)` and its like.
    Macro {
        /// Which.
        kind: MacroKind,
        /// What it goes over.
        range: NodeId,
        /// The name of each element.
        variable: Box<str>,
        /// The test of `map` with three arguments.
        test: Option<NodeId>,
        /// What is evaluated for each element.
        body: NodeId,
    },
}

/// A condition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ast {
    pub(crate) nodes: Vec<Node>,
    pub(crate) spans: Vec<Span>,
    pub(crate) root: NodeId,
}

impl Ast {
    /// The whole condition.
    #[must_use]
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// Where a node stands in the text.
    #[must_use]
    pub fn span(&self, id: NodeId) -> Span {
        self.spans[id as usize]
    }

    /// How many nodes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node; a parsed condition has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a node.
    pub fn push(&mut self, node: Node, span: Span) -> NodeId {
        let id = NodeId::try_from(self.nodes.len()).unwrap_or(NodeId::MAX);
        self.nodes.push(node);
        self.spans.push(span);
        id
    }

    /// The nodes right below a node.
    pub fn children(&self, id: NodeId, mut each: impl FnMut(NodeId)) {
        match self.node(id) {
            Node::Literal(_) | Node::Name(_) | Node::Field(_) | Node::HasField(_) => {}
            Node::Select { of, .. } | Node::Has { of, .. } | Node::Unary(_, of) => each(*of),
            Node::Header { name, .. } | Node::HasHeader { name, .. } => each(*name),
            Node::Index { of: a, at: b } | Node::Binary(_, a, b) => {
                each(*a);
                each(*b);
            }
            Node::And(all)
            | Node::Or(all)
            | Node::List(all)
            | Node::Apply { arguments: all, .. } => all.iter().copied().for_each(each),
            Node::Ternary {
                test,
                then,
                otherwise,
            } => {
                each(*test);
                each(*then);
                each(*otherwise);
            }
            Node::Call {
                target, arguments, ..
            } => target
                .iter()
                .chain(arguments.iter())
                .copied()
                .for_each(each),
            Node::Map(pairs) => {
                for (key, value) in pairs {
                    each(*key);
                    each(*value);
                }
            }
            Node::Macro {
                range, test, body, ..
            } => {
                each(*range);
                test.iter().copied().for_each(&mut each);
                each(*body);
            }
        }
    }
}
