//! A rule's `logsource` to the event type that stands for it. A product or service narrows what
//! the rule is about, so one that is not known is a reason to skip it and never ignored.

use super::mapping::{SOURCES, Source};
use super::skipped::{Reason, Skipped};
use super::yaml::{At, Node, Value};

pub(super) fn resolve(rule: &Node) -> Result<&'static Source, Skipped> {
    let Some(node) = rule.get("logsource") else {
        let why = "the rule has no logsource".to_owned();
        return Err(Skipped::new(rule.at, Reason::Rule(why)));
    };
    let Value::Map(_) = &node.value else {
        let why = "logsource is a map of category, product and service".to_owned();
        return Err(Skipped::new(node.at, Reason::Rule(why)));
    };
    let skip = |at: At, why: String| Err(Skipped::new(at, Reason::Logsource(why)));
    let part = |name: &str| match node.get(name).map(|part| (part.at, &part.value)) {
        None | Some((_, Value::Null)) => Ok(None),
        Some((at, Value::Text(text))) => Ok(Some((at, &**text))),
        Some((at, _)) => {
            let why = format!("{name} of a logsource is a text");
            Err(Skipped::new(at, Reason::Rule(why)))
        }
    };
    match part("product")? {
        None | Some((_, "linux")) => {}
        Some((at, product)) => {
            return skip(
                at,
                format!(
                    "the rule is about {product}; only rules for linux or for no product in particular are carried over"
                ),
            );
        }
    }
    if let Some((at, service)) = part("service")? {
        return skip(at, format!("the service {service:?} has no counterpart"));
    }
    let Some((at, category)) = part("category")? else {
        return skip(node.at, "the logsource has no category".to_owned());
    };
    match SOURCES.iter().find(|source| source.category == category) {
        Some(source) => Ok(source),
        None => skip(at, format!("the category {category:?} has no counterpart")),
    }
}
