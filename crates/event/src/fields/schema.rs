//! The JSON Schema of a recorded event, from the table of fields.

use super::{EventType, Field, FieldType};
use serde_json::{Map, Value, json};

/// The schema of one line of a corpus (JSON Schema 2020-12).
#[must_use]
pub fn record_schema() -> Value {
    let mut root = object();
    for info in Field::ALL {
        let mut place = String::new();
        for part in info.path.split('.') {
            let properties = root.pointer_mut(&format!("{place}/properties"));
            if let Some(Value::Object(properties)) = properties {
                properties.entry(part).or_insert_with(object);
            }
            place = format!("{place}/properties/{part}");
        }
        let mut leaf = of(info.ty);
        leaf["description"] = info.doc.into();
        if let Some(at) = root.pointer_mut(&place) {
            *at = leaf;
        }
    }
    if let Some(ty) = root.pointer_mut("/properties/common/properties/type") {
        let names: Vec<_> = EventType::ALL.iter().map(|ty| ty.name()).collect();
        ty["enum"] = json!(names);
    }
    if let Some(common) = root.pointer_mut("/properties/common") {
        common["required"] = json!(["type"]);
    }
    let mut whole = Map::new();
    whole.insert(
        "$schema".into(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    whole.insert("title".into(), "A recorded event".into());
    if let Value::Object(root) = root {
        whole.extend(root);
    }
    whole.insert("required".into(), json!(["common"]));
    Value::Object(whole)
}

fn object() -> Value {
    json!({"type": "object", "additionalProperties": false, "properties": {}})
}

fn of(ty: FieldType) -> Value {
    match ty {
        FieldType::Text => json!({"type": "string"}),
        FieldType::Int => json!({"type": "integer"}),
        FieldType::Time => json!({"type": "integer", "title": "nanoseconds since the Unix epoch"}),
        FieldType::Double => json!({"type": "number"}),
        FieldType::Bool => json!({"type": "boolean"}),
        FieldType::Texts => json!({"type": "array", "items": {"type": "string"}}),
        FieldType::Pairs => {
            json!({"type": "object", "additionalProperties": {"type": "string"}})
        }
        FieldType::Headers => json!({
            "type": "array",
            "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
        }),
        FieldType::Tree => json!({}),
    }
}
