//! Parts that are true or false.

use crate::pool::{self, INTS, KEYS};
use crate::writer::{Of, Writer};
use bailiwick_rules::eval::ErrorKind;
use bailiwick_rules::expr::MacroKind;

/// Types whose values have an order.
const ORDERED: [Of; 8] = [
    Of::Bool,
    Of::Int,
    Of::Uint,
    Of::Double,
    Of::Text,
    Of::Bytes,
    Of::Time,
    Of::Duration,
];

impl Writer<'_> {
    pub(crate) fn truth(&mut self, depth: usize) -> String {
        let below = depth.saturating_sub(1);
        if depth == 0 {
            return self.plain_truth();
        }
        match self.random.below(24) {
            0..=7 => match self.shape(below) {
                Some(shape) => shape,
                None => self.plain_truth(),
            },
            8..=10 => self.junction(" && ", below),
            11..=13 => self.junction(" || ", below),
            14 => format!("!{}", self.argument(Of::Bool, below)),
            15 => self.equality(below),
            16 => self.order(below),
            17 => self.membership(below),
            18 | 19 => self.over(below),
            20 => self.has(below),
            21 => self.provoked(),
            _ => self.any_call(below),
        }
    }

    fn plain_truth(&mut self) -> String {
        match self.random.below(6) {
            0 => self.random.pick(&["true", "false"]).to_owned(),
            1 => match self.variable(Of::Bool) {
                Some(name) => name.to_owned(),
                None => "dyn(true)".to_owned(),
            },
            _ => match self.shape(0) {
                Some(shape) => shape,
                None => "false".to_owned(),
            },
        }
    }

    fn junction(&mut self, between: &str, depth: usize) -> String {
        let count = 2 + self.random.below(3);
        let all: Vec<_> = (0..count).map(|_| self.argument(Of::Bool, depth)).collect();
        all.join(between)
    }

    fn equality(&mut self, depth: usize) -> String {
        let relation = self.random.pick(&["==", "!="]);
        let of = self.random.pick(&Of::ALL);
        let number = |of| matches!(of, Of::Int | Of::Uint | Of::Double);
        let other = match number(of) && self.random.one_in(2) {
            true => self.random.pick(&[Of::Int, Of::Uint, Of::Double]),
            false => of,
        };
        let left = self.argument(of, depth);
        format!("{left} {relation} {}", self.argument(other, depth))
    }

    fn order(&mut self, depth: usize) -> String {
        let relation = self.random.pick(&["<", "<=", ">", ">="]);
        let of = self.random.pick(&ORDERED);
        let left = self.argument(of, depth);
        format!("{left} {relation} {}", self.argument(of, depth))
    }

    fn membership(&mut self, depth: usize) -> String {
        let (element, list) = self.random.pick(&[
            (Of::Int, Of::Ints),
            (Of::Double, Of::Ints),
            (Of::Text, Of::Texts),
            (Of::Dyn, Of::Mixed),
            (Of::Text, Of::Mixed),
            (Of::Text, Of::Pairs),
            (Of::Text, Of::Numbers),
            (Of::Text, Of::Headers),
            (Of::Text, Of::Dyn),
        ]);
        let element = match element {
            Of::Text if self.random.one_in(2) => {
                let key = self.random.pick(&[pool::KEYS[0], "b", "host", "x-token"]);
                self.quote(key)
            }
            of => self.argument(of, depth),
        };
        format!("{element} in {}", self.argument(list, depth))
    }

    /// A macro that says true or false.
    fn over(&mut self, depth: usize) -> String {
        let kinds = [MacroKind::All, MacroKind::Exists, MacroKind::ExistsOne];
        let kind = self.random.pick(&kinds);
        let (range, name, body) = self.over_range(&[Of::Bool], depth);
        let called = match kind {
            MacroKind::ExistsOne if self.random.one_in(2) => "existsOne",
            kind => kind.name(),
        };
        format!("{range}.{called}({name}, {})", body.join(", "))
    }

    /// What a macro goes over, the name of its variable, and parts in which that is known.
    pub(crate) fn over_range(
        &mut self,
        parts: &[Of],
        depth: usize,
    ) -> (String, &'static str, Vec<String>) {
        let (list, element) = self.random.pick(&[
            (Of::Ints, Of::Int),
            (Of::Texts, Of::Text),
            (Of::Mixed, Of::Dyn),
            (Of::Pairs, Of::Text),
            (Of::Headers, Of::Text),
            (Of::Dyn, Of::Dyn),
        ]);
        let range = self.argument(list, depth.min(1));
        let name = self.random.pick(&pool::VARIABLES);
        self.scope.push((name, element));
        let parts = parts.iter().map(|of| self.argument(*of, depth)).collect();
        self.scope.pop();
        (range, name, parts)
    }

    fn has(&mut self, depth: usize) -> String {
        let of = self
            .random
            .pick(&[Of::Pairs, Of::Numbers, Of::Headers, Of::Dyn]);
        let map = self.operand(of, depth);
        let key = self.random.pick(&[KEYS[0], "b", "x-y", "host"]);
        format!("has({map}{})", self.dotted(key))
    }

    /// What fails in each of the ways in which something can.
    fn provoked(&mut self) -> String {
        let kind = self.random.pick(&ErrorKind::ALL);
        let number = self.random.pick(&INTS);
        let text = self.text();
        match kind {
            ErrorKind::NoSuchField => match self.header(0) {
                Some(header) => format!("{header}.size() > 0"),
                None => format!("common.session == {text}"),
            },
            ErrorKind::NoSuchKey => format!("{{{text}: 1, 'k': 2}}.a == 1"),
            ErrorKind::NoSuchElement => format!("[1, 2, 3][{}] == 2", self.random.below(5)),
            ErrorKind::NoSuchOverload => format!("dyn({text}) < dyn({number})"),
            ErrorKind::DivisionByZero => match self.random.below(4) {
                0 => format!("{number} % {} != 1", self.random.below(2)),
                1 => format!("2u / {}u == 2u", self.random.below(2)),
                _ => format!("{number} / {} == 1", self.random.below(2)),
            },
            ErrorKind::Overflow => format!("{number} + {} > 0", self.random.pick(&INTS)),
            ErrorKind::BadConversion => format!("int({text}) > 0"),
            ErrorKind::BadArgument => format!("{text}.charAt(3) == 'a'"),
            ErrorKind::RepeatedKey => format!("{{{text}: 1, 'a': 2}}.a == 1"),
            // The one that these conditions are too small for.
            ErrorKind::TooExpensive => format!("[{text}].exists(x, x == 'a')"),
        }
    }
}
