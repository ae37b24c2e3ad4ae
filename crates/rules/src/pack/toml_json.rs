//! A value of a TOML file as JSON: what an example's event is written in.

use serde_json::{Map, Value};
use toml::de::DeValue;

pub(super) fn to_json(value: &DeValue<'_>) -> Result<Value, String> {
    Ok(match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Integer(number) => {
            let parsed = i64::from_str_radix(number.as_str(), number.radix());
            Value::from(
                parsed.map_err(|_| format!("{number} is too large for a number of 64 bits"))?,
            )
        }
        DeValue::Float(number) => {
            let parsed = number.as_str().parse::<f64>().ok();
            let number = parsed.and_then(serde_json::Number::from_f64);
            Value::Number(number.ok_or("a number here is finite")?)
        }
        DeValue::Boolean(yes) => Value::from(*yes),
        DeValue::Datetime(_) => return Err("a time is written in nanoseconds since 1970".into()),
        DeValue::Array(all) => {
            let all: Result<Vec<_>, _> = all.iter().map(|item| to_json(item.get_ref())).collect();
            Value::Array(all?)
        }
        DeValue::Table(table) => {
            let mut map = Map::new();
            for (name, item) in table.iter() {
                map.insert(name.get_ref().to_string(), to_json(item.get_ref())?);
            }
            Value::Object(map)
        }
    })
}
