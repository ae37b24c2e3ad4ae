//! The JSON Schema of a policy file, for editors. It is made from the table of keys and says no
//! more than the table; what only the loader can judge (a path, a host) is a plain string in it.

use crate::keys::{HTTP_KEYS, KEYS, Key, Kind, SECTIONS};
use crate::{Inspect, SecretPlace};
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_event::fields::EventType;
use bailiwick_rules::pack::{RuleKey, RuleKind};
use bailiwick_rules::{Action, Confidence, Severity};
use serde_json::{Map, Value, json};

/// The JSON Schema (draft 2020-12) of a policy file.
#[must_use]
pub fn schema() -> Value {
    let mut top = Map::new();
    for key in KEYS.iter().filter(|k| k.section().is_empty()) {
        top.insert(key.name().to_owned(), property(key));
    }
    for (section, doc) in SECTIONS {
        let keys = KEYS.iter().filter(|k| k.section() == *section);
        let mut table = object(keys);
        table["description"] = json!(doc);
        top.insert((*section).to_owned(), table);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Bailiwick policy",
        "type": "object",
        "additionalProperties": false,
        "properties": top,
    })
}

fn object<'a>(keys: impl Iterator<Item = &'a Key>) -> Value {
    let properties: Map<String, Value> = keys.map(|k| (k.name().to_owned(), property(k))).collect();
    json!({ "type": "object", "additionalProperties": false, "properties": properties })
}

fn property(key: &Key) -> Value {
    let list = || json!({ "type": "array", "items": { "type": "string", "minLength": 1 }, "uniqueItems": true });
    let table = |names: &str| json!({ "type": "object", "additionalProperties": { "type": "string" }, "propertyNames": { "pattern": names } });
    let mut schema = match key.kind {
        Kind::Policies
        | Kind::HostNames
        | Kind::OrdinaryNames
        | Kind::Packs
        | Kind::PublicKeys
        | Kind::Paths
        | Kind::Files
        | Kind::Resolvers
        | Kind::Hosts { .. }
        | Kind::Publish
        | Kind::RequestPaths => list(),
        Kind::Names => {
            let mut schema = list();
            schema["items"]["pattern"] = json!(r"^([A-Za-z_][A-Za-z0-9_]*\*?|\*)$");
            schema
        }
        Kind::Methods => {
            let mut schema = list();
            schema["items"]["pattern"] = json!("^[A-Z-]+$");
            schema
        }
        Kind::Keys => {
            let mut schema = list();
            schema["items"]["enum"] = KEYS.iter().map(|k| k.path).collect();
            schema
        }
        Kind::Mappings => table("^[^/:@ ]+$"),
        Kind::Inspections => {
            let words: Vec<_> = Inspect::ALL.iter().map(|(_, name)| *name).collect();
            json!({ "oneOf": [
                { "enum": words },
                { "type": "object", "additionalProperties": { "enum": words } },
            ] })
        }
        Kind::Variables => table("^[A-Za-z_][A-Za-z0-9_]*$"),
        Kind::HttpRules => {
            let mut rule = object(HTTP_KEYS.iter());
            rule["required"] = json!(["host"]);
            json!({ "type": "array", "items": rule })
        }
        Kind::Secrets => secrets(),
        Kind::Rules => rules(RuleKind::Rule),
        Kind::Detections => rules(RuleKind::Detection),
        Kind::Host => json!({ "type": "string", "minLength": 1 }),
        Kind::Layers => {
            let mut schema = list();
            schema["items"]["enum"] = json!(crate::LAYERS);
            schema
        }
        Kind::Capabilities => {
            let mut schema = list();
            let names = KernelSource::granted().map(KernelSource::name);
            schema["items"]["enum"] = names.collect();
            schema
        }
        Kind::Protection => json!({ "enum": ["enforce", "sweep", "off"] }),
        Kind::HostPrograms => json!({ "enum": ["protect", "report", "off"] }),
        Kind::Beyond => json!({ "enum": ["deny", "allow"] }),
        Kind::Bytes => {
            json!({ "type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]{1,6})?\s*([kKMGT]B|[KMGT]iB|B)\s*$" })
        }
        Kind::Time => {
            json!({ "type": "string", "pattern": r"^\s*([0-9]+(\.[0-9]{1,6})?\s*(ms|s|m|h|d)\s*)+$" })
        }
        Kind::Count => json!({ "type": "integer", "minimum": 1 }),
        Kind::Cpus => json!({ "type": "number", "minimum": 0.001, "maximum": 4096 }),
    };
    schema["description"] = json!(format!("{} Without it: {}.", key.doc, key.default));
    schema
}

/// The schema of `[[secrets]]`.
fn secrets() -> Value {
    let of = |(name, _, doc): &(&str, &str, &str)| {
        let mut schema = match *name {
            "hosts" => json!({ "type": "array", "items": { "type": "string" }, "minItems": 1 }),
            "in" => {
                let places = SecretPlace::ALL.map(|(_, name)| name);
                json!({ "type": "array", "items": { "enum": places } })
            }
            "from" => json!({ "oneOf": [
                { "const": "env" },
                { "type": "object", "minProperties": 1, "maxProperties": 1, "properties": {
                    "env": { "type": "string" },
                    "file": { "type": "string" },
                    "command": { "type": "array", "items": { "type": "string" } },
                }, "additionalProperties": false },
            ] }),
            _ => json!({ "type": "string", "minLength": 1 }),
        };
        schema["description"] = json!(doc);
        ((*name).to_owned(), schema)
    };
    let properties: Map<String, Value> = crate::secrets::KEYS.iter().map(of).collect();
    json!({ "type": "array", "items": {
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": ["name", "from", "hosts"],
    } })
}

/// The schema of `[[rules]]` or `[[detections]]`, from the engine's own table of keys.
fn rules(kind: RuleKind) -> Value {
    let ids: Vec<_> = EventType::ALL.iter().map(|ty| ty.name()).collect();
    let names =
        |all: &mut dyn Iterator<Item = &'static str>| json!({ "enum": all.collect::<Vec<_>>() });
    let of = |key: &RuleKey| {
        let mut schema = match key.name {
            "on" => json!({ "enum": ids }),
            "action" => names(&mut Action::ALL.iter().map(|(_, name)| *name)),
            "severity" => names(&mut Severity::ALL.iter().map(|(_, name)| *name)),
            "confidence" => names(&mut Confidence::ALL.iter().map(|(_, name)| *name)),
            "priority" => json!({ "type": "integer" }),
            "enabled" => json!({ "type": "boolean" }),
            // A date of TOML has no type of JSON.
            "expires" => json!({}),
            "tags" => json!({ "type": "array", "items": { "type": "string" } }),
            "examples" | "rewrite" => json!({ "type": "array", "items": { "type": "object" } }),
            _ => json!({ "type": "string", "minLength": 1 }),
        };
        schema["description"] = json!(key.doc);
        (key.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = kind.keys().iter().map(of).collect();
    let needed: Vec<_> = kind
        .keys()
        .iter()
        .filter(|key| key.needed)
        .map(|key| key.name)
        .collect();
    let table = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "required": needed,
    });
    json!({ "type": "array", "items": table })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_table_is_in_the_schema_with_its_text() {
        let schema = schema();
        for key in KEYS {
            let pointer = match key.section() {
                "" => format!("/properties/{}", key.name()),
                section => format!("/properties/{section}/properties/{}", key.name()),
            };
            let found = schema
                .pointer(&pointer)
                .unwrap_or_else(|| panic!("{pointer}"));
            assert!(
                found["description"].as_str().unwrap().starts_with(key.doc),
                "{pointer}"
            );
        }
        let rule = schema
            .pointer("/properties/network/properties/http/items")
            .unwrap();
        assert_eq!(rule["required"], json!(["host"]));
        assert_eq!(
            rule["properties"].as_object().unwrap().len(),
            HTTP_KEYS.len()
        );
    }
}
