//! Parts of every type.

use crate::pool::{self, INTS, KEYS, UINTS};
use crate::writer::{Of, Writer};
use bailiwick_event::fields::FieldType;

const TYPES: [&str; 14] = [
    "bool",
    "int",
    "uint",
    "double",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "google.protobuf.Timestamp",
    "google.protobuf.Duration",
    "net.IP",
    "net.CIDR",
];

impl Writer<'_> {
    /// A part of that type.
    pub(crate) fn write(&mut self, of: Of, depth: usize) -> String {
        let exhausted = self.left == 0;
        self.left = self.left.saturating_sub(1);
        let depth = if exhausted { 0 } else { depth };
        if let Some(name) = self.variable(of).filter(|_| !self.random.one_in(3)) {
            return name.to_owned();
        }
        let below = depth.saturating_sub(1);
        if depth > 0 && self.random.one_in(12) {
            let test = self.argument(Of::Bool, below);
            let then = self.operand(of, below);
            return format!("{test} ? {then} : {}", self.operand(of, below));
        }
        if of == Of::Bool {
            return self.truth(depth);
        }
        if depth > 0
            && self.random.one_in(3)
            && let Some(call) = self.call_giving(of, below)
        {
            return call;
        }
        if depth > 0 && self.random.one_in(2) {
            return self.made(of, below);
        }
        self.leaf(of)
    }

    /// What an operator, an index or a macro makes.
    fn made(&mut self, of: Of, depth: usize) -> String {
        match of {
            Of::Int if self.random.one_in(4) => self.element("Ints", depth),
            Of::Int | Of::Double if self.random.one_in(5) => {
                format!("-{}", self.argument(of, depth))
            }
            Of::Int | Of::Uint => self.sum(of, &["+", "-", "*", "/", "%"], of, depth),
            Of::Double => self.sum(of, &["+", "-", "*", "/"], of, depth),
            Of::Text if self.random.one_in(3) => self.element("Texts", depth),
            Of::Text if self.random.one_in(2) => {
                let key = self.random.pick(&KEYS);
                format!("{}{}", self.operand(Of::Pairs, depth), self.dotted(key))
            }
            Of::Texts if self.random.one_in(3) => {
                let name = self.random.pick(&["host", "x-token"]);
                format!("{}[\"{name}\"]", self.operand(Of::Headers, depth))
            }
            Of::Ints | Of::Texts | Of::Mixed if self.random.one_in(2) => self.mapped(of, depth),
            Of::Text | Of::Bytes | Of::Ints | Of::Texts | Of::Mixed => {
                self.sum(of, &["+"], of, depth)
            }
            Of::Time => self.sum(of, &["+", "-"], Of::Duration, depth),
            Of::Duration if self.random.one_in(2) => self.sum(Of::Time, &["-"], Of::Time, depth),
            Of::Duration => self.sum(of, &["+", "-"], of, depth),
            Of::Dyn => match self.random.below(6) {
                0 => self.element("Mixed", depth),
                1 => {
                    let op = self.random.pick(&["+", "-", "*", "/", "%"]);
                    self.sum(Of::Dyn, &[op], Of::Dyn, depth)
                }
                2 => format!("-{}", self.operand(Of::Dyn, depth)),
                3 => self.mapped(Of::Mixed, depth),
                _ => {
                    let other = self.random.pick(&Of::ALL);
                    format!("dyn({})", self.write(other, depth))
                }
            },
            of => self.leaf(of),
        }
    }

    fn sum(&mut self, left: Of, ops: &[&str], right: Of, depth: usize) -> String {
        let op = self.random.pick(ops);
        let left = self.argument(left, depth);
        format!("{left} {op} {}", self.argument(right, depth))
    }

    fn element(&mut self, list: &str, depth: usize) -> String {
        let list = match list {
            "Ints" => Of::Ints,
            "Texts" => Of::Texts,
            _ => Of::Mixed,
        };
        let list = self.operand(list, depth);
        let at = match self.random.below(8) {
            0 => self.argument(Of::Int, depth),
            1 => format!("{}u", self.random.below(3)),
            2 => self.random.pick(&["0.0", "1.0", "0.5"]).to_owned(),
            _ => self.random.below(3).to_string(),
        };
        format!("{list}[{at}]")
    }

    /// A list that `filter` or `map` makes.
    fn mapped(&mut self, of: Of, depth: usize) -> String {
        let element = match of {
            Of::Ints => Of::Int,
            Of::Texts => Of::Text,
            _ => Of::Dyn,
        };
        let below = depth.saturating_sub(1);
        if self.random.one_in(3) {
            let range = self.operand(of, below);
            let name = self.random.pick(&pool::VARIABLES);
            self.scope.push((name, element));
            let body = self.argument(Of::Bool, below);
            self.scope.pop();
            return format!("{range}.filter({name}, {body})");
        }
        if self.random.one_in(2) {
            let (range, name, parts) = self.over_range(&[Of::Bool, element], below);
            return format!("{range}.map({name}, {})", parts.join(", "));
        }
        let (range, name, parts) = self.over_range(&[element], below);
        format!("{range}.map({name}, {})", parts.join(", "))
    }

    fn some(&mut self, of: Of, most: usize) -> String {
        let count = self.random.below(most);
        let all: Vec<_> = (0..count).map(|_| self.leaf(of)).collect();
        all.join(", ")
    }

    /// A map's parts, with a key that stands twice now and then.
    fn pairs(&mut self, of: Of) -> String {
        let count = self.random.below(4);
        let mut all = Vec::new();
        for n in 0..count {
            let name = match n {
                0 | 1 if !self.random.one_in(8) => ["a", "host", "b"][n],
                _ => self.random.pick(&["b", "c", "x-y", "a"]),
            };
            all.push(format!("{}: {}", self.quote(name), self.leaf(of)));
        }
        format!("{{{}}}", all.join(", "))
    }

    /// A literal or a field.
    pub(crate) fn leaf(&mut self, of: Of) -> String {
        let ty = match of {
            Of::Int => Some(FieldType::Int),
            Of::Double => Some(FieldType::Double),
            Of::Text => Some(FieldType::Text),
            Of::Time => Some(FieldType::Time),
            Of::Texts => Some(FieldType::Texts),
            Of::Pairs => Some(FieldType::Pairs),
            Of::Headers => Some(FieldType::Headers),
            Of::Dyn => Some(FieldType::Tree),
            _ => None,
        };
        if let Some(ty) = ty.filter(|_| self.random.one_in(2)) {
            let place = match (ty, self.random.below(4)) {
                (FieldType::Text, 0) => self.header(0),
                (FieldType::Tree, 1..) => self.json(0),
                _ => None,
            };
            let place = place.or_else(|| self.field(ty).map(str::to_owned));
            if let Some(place) = place {
                return place;
            }
        }
        match of {
            Of::Null => "null".to_owned(),
            Of::Bool => self.random.pick(&["true", "false"]).to_owned(),
            Of::Int => self.random.pick(&INTS).to_string(),
            Of::Uint => format!("{}u", self.random.pick(&UINTS)),
            Of::Double if self.random.one_in(8) => "0.0 / 0.0".to_owned(),
            Of::Double if self.random.one_in(10) => "-1.0 / 0.0".to_owned(),
            Of::Double => {
                let sign = if self.random.one_in(4) { "-" } else { "" };
                format!("{sign}{:?}", self.random.pick(&pool::DOUBLES))
            }
            Of::Text => self.text(),
            Of::Bytes if self.random.one_in(3) => "b\"\\xff\\\\a\\\"\\101\"".to_owned(),
            Of::Bytes => format!("b{}", self.random.pick(&["'a'", "'é'", "''", "r'\\x'"])),
            Of::Time => format!("timestamp(\"{}\")", self.random.pick(&pool::TIMES)),
            Of::Duration => format!("duration(\"{}\")", self.random.pick(&pool::DURATIONS)),
            Of::Type => self.random.pick(&TYPES).to_owned(),
            Of::Ip => format!("ip(\"{}\")", self.random.pick(&pool::ADDRESSES)),
            Of::Cidr => format!("cidr(\"{}\")", self.random.pick(&pool::NETWORKS)),
            Of::Ints => format!("[{}]", self.some(Of::Int, 5)),
            Of::Texts => format!("[{}]", self.some(Of::Text, 5)),
            Of::Mixed => {
                let types = [Of::Null, Of::Bool, Of::Int, Of::Uint, Of::Double, Of::Text];
                let count = self.random.below(4);
                let all: Vec<_> = (0..count)
                    .map(|_| {
                        let of = self.random.pick(&types);
                        format!("dyn({})", self.leaf(of))
                    })
                    .collect();
                format!("[{}]", all.join(", "))
            }
            Of::Pairs => self.pairs(Of::Text),
            Of::Numbers => self.pairs(Of::Int),
            Of::Headers => self.pairs(Of::Texts),
            Of::Dyn => {
                let types = [Of::Null, Of::Bool, Of::Int, Of::Uint, Of::Text, Of::Ints];
                let other = self.random.pick(&types);
                format!("dyn({})", self.leaf(other))
            }
        }
    }
}
