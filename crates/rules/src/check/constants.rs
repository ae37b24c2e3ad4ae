//! Patterns and names that stand in the text of a condition are read when it is checked: a regular
//! expression with a mistake in it must not wait for the event that it was meant for.

use super::Function;
use crate::eval::{Pattern, network, pattern, time};
use crate::expr::{Ast, Literal, Node, NodeId};

/// Whether the constants among a function's arguments are what it takes; the pattern among them.
pub(super) fn check(
    ast: &Ast,
    function: Function,
    arguments: &[NodeId],
) -> Result<Option<(NodeId, Pattern)>, (NodeId, String)> {
    let text = |place: usize| {
        let id = *arguments.get(place)?;
        match ast.node(id) {
            Node::Literal(Literal::Text(text)) => Some((id, &**text)),
            _ => None,
        }
    };
    let place = match function {
        Function::Matches | Function::Glob => 1,
        Function::Domain if arguments.len() == 2 => 1,
        Function::Cidr | Function::Ip | Function::Timestamp | Function::Duration => 0,
        Function::ContainsIp => 1,
        _ => return Ok(None),
    };
    let Some((id, text)) = text(place) else {
        return Ok(None);
    };
    let checked = match function {
        Function::Matches => pattern::regex(text).map(|pattern| Some((id, pattern))),
        Function::Glob => pattern::glob(text).map(|pattern| Some((id, pattern))),
        Function::Domain => network::Domain::parse(text).map(|_| None),
        Function::Cidr => network::Cidr::parse(text).map(|_| None),
        Function::Ip | Function::ContainsIp => network::ip(text).map(|_| None),
        Function::Timestamp => time::parse_timestamp(text).map(|_| None),
        _ => time::parse_duration(text).map(|_| None),
    };
    checked.map_err(|why| (id, why))
}
