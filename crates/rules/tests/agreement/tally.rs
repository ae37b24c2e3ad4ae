//! What occurred, and how often. What must occur is read from the tables of the crate, so that
//! what is new there and never written fails the test.

use bailiwick_event::fields::Field;
use bailiwick_rules::check::FUNCTIONS;
use bailiwick_rules::eval::ErrorKind;
use bailiwick_rules::expr::{Ast, BinaryOp, Literal, MacroKind, Node, NodeId, UnaryOp};
use std::collections::BTreeMap;

const NODES: [&str; 24] = [
    "node null",
    "node bool",
    "node int",
    "node uint",
    "node double",
    "node text",
    "node bytes",
    "node type",
    "node name",
    "node field",
    "node select",
    "node has",
    "node has field",
    "node header",
    "node has header",
    "node index",
    "node !",
    "node -",
    "node &&",
    "node ||",
    "node ?:",
    "node call",
    "node list",
    "node map",
];

/// How often each thing occurred in conditions that were evaluated.
pub(crate) struct Tally {
    counts: BTreeMap<String, u64>,
    calls: Vec<[u64; 2]>,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let names = NODES.iter().map(|name| (*name).to_owned());
        let operators = BinaryOp::ALL
            .iter()
            .map(|op| format!("operator {}", op.symbol()));
        let macros = MacroKind::ALL
            .iter()
            .map(|(_, name)| format!("macro {name}"));
        let kinds = ErrorKind::ALL
            .iter()
            .filter(|k| **k != ErrorKind::TooExpensive);
        let errors = kinds.map(|kind| format!("error {kind:?}"));
        let fields = Field::ALL.iter().map(|info| format!("field {}", info.path));
        let others = [
            "macro map with a test",
            "outcome true",
            "outcome false",
            "outcome failed",
        ];
        let others = others
            .into_iter()
            .chain(["lowered whole", "left to the evaluator in part"]);
        let all = names
            .chain(operators)
            .chain(macros)
            .chain(errors)
            .chain(fields);
        Self {
            counts: all
                .chain(others.map(str::to_owned))
                .map(|name| (name, 0))
                .collect(),
            calls: vec![[0; 2]; FUNCTIONS.len()],
        }
    }

    pub(crate) fn add(&mut self, name: &str, times: u64) {
        match self.counts.get_mut(name) {
            Some(count) => *count += times,
            None => panic!("{name:?} is not among what is counted"),
        }
    }

    pub(crate) fn calls(&mut self, calls: &[(usize, bool)], times: u64) {
        for (place, member) in calls {
            self.calls[*place][usize::from(*member)] += times;
        }
    }

    /// Counts the parts of a condition.
    pub(crate) fn parts(&mut self, ast: &Ast, id: NodeId, times: u64) {
        let name = match ast.node(id) {
            Node::Literal(literal) => match literal {
                Literal::Null => "node null",
                Literal::Bool(_) => "node bool",
                Literal::Int(_) => "node int",
                Literal::Uint(_) => "node uint",
                Literal::Double(_) => "node double",
                Literal::Text(_) => "node text",
                Literal::Bytes(_) => "node bytes",
                Literal::Type(_) => "node type",
            },
            Node::Name(_) => "node name",
            Node::Field(field) => {
                self.add(&format!("field {}", field.info().path), times);
                "node field"
            }
            Node::Select { .. } => "node select",
            Node::Has { .. } => "node has",
            Node::HasField(_) => "node has field",
            Node::Header { .. } => "node header",
            Node::HasHeader { .. } => "node has header",
            Node::Index { .. } => "node index",
            Node::Unary(UnaryOp::Not, _) => "node !",
            Node::Unary(UnaryOp::Negate, _) => "node -",
            Node::Binary(op, ..) => {
                self.add(&format!("operator {}", op.symbol()), times);
                ""
            }
            Node::And(_) => "node &&",
            Node::Or(_) => "node ||",
            Node::Ternary { .. } => "node ?:",
            Node::Call { name, .. } => panic!("`{name}` is still a call after the check"),
            Node::Apply { .. } => "node call",
            Node::List(_) => "node list",
            Node::Map(_) => "node map",
            Node::Macro { kind, test, .. } => {
                self.add(&format!("macro {}", kind.name()), times);
                if test.is_some() {
                    self.add("macro map with a test", times);
                }
                ""
            }
        };
        if !name.is_empty() {
            self.add(name, times);
        }
        let mut below = Vec::new();
        ast.children(id, |child| below.push(child));
        below
            .into_iter()
            .for_each(|child| self.parts(ast, child, times));
    }

    /// Every count with its name; of a call with the way in which it was written.
    pub(crate) fn table(&self) -> Vec<(String, u64)> {
        let mut table: Vec<_> = self.counts.iter().map(|(n, c)| (n.clone(), *c)).collect();
        for (overload, counts) in FUNCTIONS.iter().zip(&self.calls) {
            let takes: Vec<_> = overload.takes.iter().map(|s| s.ty().to_string()).collect();
            let name = overload.function.name();
            for (there, style, count) in [
                (overload.global, "function", counts[0]),
                (overload.member, "method", counts[1]),
            ] {
                if there {
                    table.push((format!("{style} {name}({})", takes.join(", ")), count));
                }
            }
        }
        table
    }
}
