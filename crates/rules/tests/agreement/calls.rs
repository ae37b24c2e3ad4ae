//! Calls, out of the table of functions: one that is new there is written without a word here.

use crate::pool;
use crate::writer::{Of, Writer};
use bailiwick_rules::check::{FUNCTIONS, Function, Sig};

impl Writer<'_> {
    /// A call that gives a value of that type.
    pub(crate) fn call_giving(&mut self, of: Of, depth: usize) -> Option<String> {
        let gives = |sig: Sig| match sig {
            Sig::Any => of == Of::Dyn,
            sig => Of::sig(sig) == [of],
        };
        let all: Vec<_> = (0..FUNCTIONS.len())
            .filter(|n| gives(FUNCTIONS[*n].gives))
            .collect();
        (!all.is_empty()).then(|| {
            let place = self.random.pick(&all);
            self.call(place, depth)
        })
    }

    /// Any call at all, asked whether its value is that of another part.
    pub(crate) fn any_call(&mut self, depth: usize) -> String {
        let place = self.random.below(FUNCTIONS.len());
        let call = self.call(place, depth);
        let gives = Of::sig(FUNCTIONS[place].gives);
        if gives == [Of::Bool] {
            return call;
        }
        let of = self.random.pick(gives);
        let ordered = matches!(of, Of::Int | Of::Uint | Of::Double | Of::Text | Of::Bytes)
            || matches!(of, Of::Time | Of::Duration);
        let relation = match ordered && self.random.one_in(2) {
            true => self.random.pick(&["<", "<=", ">", ">="]),
            false => self.random.pick(&["==", "!="]),
        };
        format!("{call} {relation} {}", self.operand(of, depth.min(1)))
    }

    /// The call of that place in the table.
    pub(crate) fn call(&mut self, place: usize, depth: usize) -> String {
        let overload = &FUNCTIONS[place];
        let member = match (overload.member, overload.global) {
            (true, true) => self.random.one_in(2),
            (member, _) => member,
        };
        self.calls.push((place, member));
        let depth = depth.saturating_sub(1);
        let takes = overload.takes.iter().enumerate();
        let mut given: Vec<_> = takes
            .map(|(n, sig)| self.given(overload.function, overload.takes, n, *sig, depth))
            .collect();
        let name = overload.function.name();
        if member {
            let target = given.remove(0);
            return format!("{target}.{name}({})", given.join(", "));
        }
        format!("{name}({})", given.join(", "))
    }

    /// An argument. Where a literal must be a pattern, an address or a time, it mostly is one.
    fn given(
        &mut self,
        function: Function,
        takes: &[Sig],
        place: usize,
        sig: Sig,
        depth: usize,
    ) -> String {
        let from: &[&str] = match (function, place, sig) {
            (Function::Matches, 1, _) => &pool::REGEXES,
            (Function::Glob, 1, _) => &pool::GLOBS,
            (Function::Domain, 1, _) => &pool::DOMAINS,
            (Function::Cidr, 0, Sig::Text) => &pool::NETWORKS,
            (Function::IsCidr, 0, _) => &pool::NETWORKS,
            (Function::Ip | Function::IsIp, 0, Sig::Text) => &pool::ADDRESSES,
            (Function::ContainsIp, 1, Sig::Text) => &pool::ADDRESSES,
            (Function::Timestamp, 0, Sig::Text) => &pool::TIMES,
            (Function::Duration, 0, Sig::Text) => &pool::DURATIONS,
            (_, 1, Sig::Text) if takes[0] == Sig::Time => &pool::ZONES,
            _ => &[],
        };
        let small = takes[0] == Sig::Text && sig == Sig::Int && place > 0;
        if small && !self.random.one_in(6) {
            return (self.random.below(8) as i64 - 1).to_string();
        }
        if from.is_empty() {
            let of = self.random.pick(Of::sig(sig));
            return self.argument(of, depth);
        }
        match self.random.below(8) {
            // A literal would be refused before there is an event.
            0 => format!("dyn({})", self.text()),
            1 => self.operand_that_is_no_literal(depth),
            _ => {
                let text = self.random.pick(from);
                self.quote(text)
            }
        }
    }

    fn operand_that_is_no_literal(&mut self, depth: usize) -> String {
        format!("({} + {})", self.text(), self.operand(Of::Text, depth))
    }
}
