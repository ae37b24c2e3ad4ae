//! Events with random values. They are made from the table of fields, so that a field which is new
//! there has a value here.

use crate::pool::{self, DOUBLES, HEADERS, INTS, KEYS};
use crate::random::Random;
use bailiwick_event::fields::{EventType, Field, FieldType, Record};
use serde_json::{Map, Value};

/// An event as a line of JSON. Each field is absent now and then, those too that every such event
/// has.
pub(crate) fn line(random: &mut Random, event_type: EventType) -> String {
    let mut whole = Map::new();
    let families = event_type.families();
    for info in Field::ALL.iter().filter(|f| families.contains(&f.family)) {
        let value = match info.field {
            Field::CommonType => Value::from(event_type.name()),
            _ if random.one_in(10) => continue,
            _ => value(random, info.ty),
        };
        let mut at = &mut whole;
        let (way, last) = info.path.rsplit_once('.').unwrap();
        for part in way.split('.') {
            let inner = at.entry(part).or_insert_with(|| Value::Object(Map::new()));
            at = inner.as_object_mut().unwrap();
        }
        at.insert(last.to_owned(), value);
    }
    Value::Object(whole).to_string()
}

/// The event of a line; what a line cannot say, a number that is none, is put in now and then.
pub(crate) fn record<'l>(random: &mut Random, line: &'l str) -> Record<'l> {
    let mut record = Record::read(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    if random.one_in(6) {
        record.dns_request.label_entropy = Some(f64::NAN);
        record.model_response.cost = Some(-f64::NAN);
    }
    record
}

fn value(random: &mut Random, ty: FieldType) -> Value {
    match ty {
        FieldType::Text => Value::from(pool::text(random)),
        FieldType::Int => Value::from(random.pick(&INTS)),
        FieldType::Double => Value::from(random.pick(&DOUBLES)),
        FieldType::Bool => Value::from(random.one_in(2)),
        FieldType::Time => Value::from(match random.below(4) {
            0 => random.pick(&INTS),
            1 => 1_795_163_400_000_000_000,
            2 => -1_800_500_000_000,
            _ => i64::from(i32::MAX) * 977_000_001,
        }),
        FieldType::Texts => (0..random.below(5)).map(|_| pool::text(random)).collect(),
        FieldType::Pairs => {
            let pair = |random: &mut Random| {
                let name = random.pick(&KEYS).to_owned();
                (name, Value::from(pool::text(random)))
            };
            Value::Object((0..random.below(4)).map(|_| pair(random)).collect())
        }
        FieldType::Headers => {
            let pair = |random: &mut Random| {
                let name = random.pick(&HEADERS).to_owned();
                Value::from(vec![name, pool::text(random)])
            };
            (0..random.below(6)).map(|_| pair(random)).collect()
        }
        FieldType::Tree if random.one_in(8) => tree(random, 3),
        FieldType::Tree => object(random, 3),
    }
}

/// JSON in which the same place has values of many types.
fn tree(random: &mut Random, depth: usize) -> Value {
    let kinds = if depth == 0 { 8 } else { 14 };
    match random.below(kinds) {
        0 | 1 => Value::Null,
        2 => Value::from(random.one_in(2)),
        3 => Value::from(random.pick(&INTS)),
        4 => Value::from(random.pick(&pool::UINTS)),
        5 => Value::from(random.pick(&DOUBLES)),
        6 | 7 => Value::from(pool::text(random)),
        8 | 9 => (0..random.below(4))
            .map(|_| tree(random, depth - 1))
            .collect(),
        _ => object(random, depth),
    }
}

fn object(random: &mut Random, depth: usize) -> Value {
    let mut map = Map::new();
    for _ in 0..2 + random.below(4) {
        let key = random.pick(&KEYS).to_owned();
        map.insert(key, tree(random, depth - 1));
    }
    Value::Object(map)
}
