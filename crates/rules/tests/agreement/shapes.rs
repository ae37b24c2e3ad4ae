//! What rules mostly ask, in the forms that are made fast: a place in the event, and a literal
//! beside it.

use crate::pool::{self, DOUBLES, INTS, UINTS};
use crate::writer::{Of, Writer};
use bailiwick_event::fields::FieldType;
use bailiwick_rules::expr::MacroKind;

const RELATIONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

impl Writer<'_> {
    /// A question in such a form; none where such an event has nothing to ask it of.
    pub(crate) fn shape(&mut self, depth: usize) -> Option<String> {
        match self.random.below(16) {
            0 | 1 => self.text_equals(),
            2 => self.number_compared(),
            3 => self.truth_of_field(),
            4 | 5 => self.part_of_text(),
            6 | 7 => self.text_in_list(),
            8 => self.length_compared(),
            9 => self.in_network(),
            10 | 11 => self.over_texts(depth),
            12 => {
                let field = self.field(FieldType::Texts)?;
                Some(format!("{} in {field}", self.text()))
            }
            13 | 14 => self.presence(),
            _ => self.pattern(),
        }
    }

    /// A text in the event.
    fn place(&mut self) -> Option<String> {
        let place = match self.random.below(6) {
            0 => self.header(0),
            1 => self.json(1),
            2 | 3 => self.variable(Of::Text).map(str::to_owned),
            _ => None,
        };
        let place = match place {
            Some(place) => place,
            None => self.field(FieldType::Text)?.to_owned(),
        };
        Some(match self.random.below(8) {
            0..=2 => format!("{place}.lowerAscii()"),
            3 if self.random.one_in(4) => format!("{place}.lowerAscii().lowerAscii()"),
            3 if self.random.one_in(3) => format!("{place}.upperAscii()"),
            _ => place,
        })
    }

    /// A literal beside such a place, now and then in lower case as the place may be.
    fn beside(&mut self) -> String {
        let mut text = pool::text(self.random);
        if self.random.one_in(3) {
            text = text.to_ascii_lowercase();
        }
        // Beyond the length up to which a text is looked for where it lies.
        if self.random.one_in(40) {
            text = text.repeat(70);
        }
        self.quote(&text)
    }

    fn either_side(&mut self, a: &str, relation: &str, b: &str) -> String {
        match self.random.one_in(2) {
            true => format!("{a} {relation} {b}"),
            false => format!("{b} {relation} {a}"),
        }
    }

    fn relation(&mut self) -> &'static str {
        self.random.pick(&RELATIONS)
    }

    fn text_equals(&mut self) -> Option<String> {
        let (place, beside) = (self.place()?, self.beside());
        let relation = match self.random.one_in(6) {
            true => self.relation(),
            false => self.random.pick(&["==", "!="]),
        };
        Some(self.either_side(&place, relation, &beside))
    }

    /// A number as a literal of any of the types.
    pub(crate) fn number(&mut self) -> String {
        match self.random.below(4) {
            0 => format!("{}u", self.random.pick(&UINTS)),
            1 => {
                let sign = if self.random.one_in(4) { "-" } else { "" };
                format!("{sign}{:?}", self.random.pick(&DOUBLES))
            }
            _ => self.random.pick(&INTS).to_string(),
        }
    }

    fn number_compared(&mut self) -> Option<String> {
        let ty = self.random.pick(&[FieldType::Int, FieldType::Double]);
        let (field, number, relation) = (self.field(ty)?, self.number(), self.relation());
        if self.random.one_in(3) {
            let count = self.random.below(12);
            let all: Vec<_> = (0..count)
                .map(|_| self.random.pick(&INTS).to_string())
                .collect();
            return Some(format!("{field} in [{}]", all.join(", ")));
        }
        Some(self.either_side(field, relation, &number))
    }

    fn truth_of_field(&mut self) -> Option<String> {
        let field = self.field(FieldType::Bool)?;
        Some(match self.random.below(3) {
            0 => field.to_owned(),
            _ => {
                let (relation, value) = (self.relation(), self.random.pick(&["true", "false"]));
                self.either_side(field, relation, value)
            }
        })
    }

    fn part_of_text(&mut self) -> Option<String> {
        let (place, beside) = (self.place()?, self.beside());
        let name = self.random.pick(&["contains", "startsWith", "endsWith"]);
        Some(format!("{place}.{name}({beside})"))
    }

    fn text_in_list(&mut self) -> Option<String> {
        let place = self.place()?;
        let count = self.random.below(14);
        let all: Vec<_> = (0..count).map(|_| self.beside()).collect();
        Some(format!("{place} in [{}]", all.join(", ")))
    }

    fn length_compared(&mut self) -> Option<String> {
        let relation = self.relation();
        let small = self.random.below(6).to_string();
        let (asked, number) = match self.random.below(4) {
            0 => (format!("size({})", self.field(FieldType::Texts)?), small),
            1 => {
                let place = self.place()?;
                let asked = self.random.pick(&["size", "entropy"]);
                let number = match (asked, self.random.one_in(2)) {
                    (_, true) => small,
                    _ => self.number(),
                };
                (format!("{asked}({place})"), number)
            }
            2 => (format!("{}.size()", self.place()?), small),
            _ => {
                let number = self.random.below(3).to_string();
                (format!("size(secrets({}))", self.place()?), number)
            }
        };
        Some(self.either_side(&asked, relation, &number))
    }

    fn in_network(&mut self) -> Option<String> {
        let place = self.place()?;
        let network = self.random.pick(&pool::NETWORKS);
        Some(match self.random.below(3) {
            0 => format!("isIP({place})"),
            1 => format!("cidr(\"{network}\").containsIP({place})"),
            _ => format!("cidr(\"{network}\").containsIP(ip({place}))"),
        })
    }

    fn over_texts(&mut self, depth: usize) -> Option<String> {
        let field = self.field(FieldType::Texts)?;
        let kinds = [MacroKind::All, MacroKind::Exists, MacroKind::ExistsOne];
        let kind = self.random.pick(&kinds).name();
        let name = self.random.pick(&pool::VARIABLES);
        self.scope.push((name, Of::Text));
        let body = self.asked_of(name, depth);
        self.scope.pop();
        Some(format!("{field}.{kind}({name}, {body})"))
    }

    /// What is asked of an element.
    fn asked_of(&mut self, name: &str, depth: usize) -> String {
        let beside = self.beside();
        match self.random.below(8) {
            0 => format!("{name} == {beside}"),
            1 => format!("{name}.lowerAscii().startsWith({beside})"),
            2 => format!("{name} in [{beside}, {}]", self.text()),
            3 => format!("size({name}) > {}", self.random.below(6)),
            4 => format!("cidr(\"10.0.0.0/8\").containsIP({name})"),
            5 => format!("{name}.contains({beside}) || {name} == {}", self.text()),
            _ => self.write(Of::Bool, depth.min(2)),
        }
    }

    fn presence(&mut self) -> Option<String> {
        if let Some(path) = self.json(0).filter(|_| self.random.one_in(2)) {
            // The last key stands after a dot there, as has() wants it.
            let key = self.random.pick(&pool::KEYS);
            return Some(format!("has({path}{})", self.dotted(key)));
        }
        if let Some(header) = self.header(1).filter(|_| self.random.one_in(3)) {
            return Some(format!("{header}.exists()"));
        }
        let types = [
            FieldType::Text,
            FieldType::Int,
            FieldType::Texts,
            FieldType::Headers,
            FieldType::Tree,
            FieldType::Time,
        ];
        let ty = self.random.pick(&types);
        let field = self.field(ty)?;
        Some(match self.random.one_in(2) {
            true => format!("has({field})"),
            false => format!("{field}.exists()"),
        })
    }

    fn pattern(&mut self) -> Option<String> {
        let place = self.place()?;
        Some(match self.random.below(3) {
            0 => {
                let regex = self.random.pick(&pool::REGEXES);
                format!("{place}.matches({})", self.quote(regex))
            }
            1 => {
                let glob = self.random.pick(&pool::GLOBS);
                format!("{place}.glob({})", self.quote(glob))
            }
            _ => format!("{place}.domain(\"{}\")", self.random.pick(&pool::DOMAINS)),
        })
    }
}
