//! The schema of a server's tool for model providers.
//!
//! Owns the form that Anthropic, OpenAI-compatible servers and Gemini accept: an object at the root, no references, no
//! union types, only keywords that every wire knows. The result is never stricter than the server's schema, union types
//! and enums with several types aside: a model then uses the first type. Never changes what the server receives; the
//! server checks its own patterns and conditions. Pitfall: a reference to itself; the second level becomes `{}`.

mod problem;
mod keywords;
mod references;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use keywords::{enum_values, is_enum_only, is_kept, is_null_type, type_name};
pub(crate) use problem::SchemaProblem;
use references::{MAX_DEPTH, References};

/// The schema for model providers.
///
/// # Errors
/// The arguments are not an object, or a reference cannot be filled in.
pub(crate) fn normalise(schema: &Value) -> Result<Value, SchemaProblem> {
    let empty = Map::new();
    let root = match schema {
        Value::Object(fields) => fields,
        Value::Bool(true) => &empty,
        _ => return Err(SchemaProblem::NotObject),
    };
    let mut references = References::new(schema);
    let mut fields = references.expand(root, 0)?;
    check_object(&fields)?;
    merge_variants(&mut references, &mut fields, 0)?;
    fields.insert("type".to_owned(), "object".into());
    let mut normalised = normalise_fields(&mut references, &fields, 0)?;
    normalised.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    Ok(Value::Object(normalised))
}

/// A schema without a type may describe an object.
fn check_object(fields: &Map<String, Value>) -> Result<(), SchemaProblem> {
    let is_object = match fields.get("type") {
        None => true,
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        Some(_) => false,
    };
    if is_object { Ok(()) } else { Err(SchemaProblem::NotObject) }
}

/// Moves the properties of `anyOf` and `oneOf` into the object itself, as optional properties: Anthropic refuses both
/// keywords at the root.
fn merge_variants(
    references: &mut References<'_>,
    fields: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), SchemaProblem> {
    let variants = take_alternatives(fields);
    if depth >= MAX_DEPTH {
        return Ok(());
    }
    for variant in variants {
        let Value::Object(variant) = variant else { continue };
        if is_null_type(&variant) {
            continue;
        }
        let open = references.open_count();
        let mut variant = references.expand(&variant, depth + 1)?;
        check_object(&variant)?;
        merge_variants(references, &mut variant, depth + 1)?;
        references.close_to(open);
        let Some(Value::Object(offered)) = variant.remove("properties") else { continue };
        let properties = fields.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        let Value::Object(properties) = properties else { continue };
        for (name, schema) in offered {
            match properties.get_mut(&name) {
                Some(known) => *known = either(known.take(), schema),
                None => {
                    properties.insert(name, schema);
                }
            }
        }
    }
    Ok(())
}

/// Removes `anyOf` and `oneOf` and returns their members.
fn take_alternatives(fields: &mut Map<String, Value>) -> Vec<Value> {
    let mut members = Vec::new();
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(found)) = fields.shift_remove(key) {
            members.extend(found);
        }
    }
    members
}

/// A schema that accepts what `known` or `other` accepts.
fn either(known: Value, other: Value) -> Value {
    if known == other {
        return known;
    }
    Value::Object(Map::from_iter([("anyOf".to_owned(), Value::Array(vec![known, other]))]))
}

fn normalise_schema(
    references: &mut References<'_>,
    schema: &Value,
    depth: usize,
) -> Result<Value, SchemaProblem> {
    let Value::Object(fields) = schema else { return Ok(Value::Object(Map::new())) };
    if depth >= MAX_DEPTH {
        return Ok(Value::Object(Map::new()));
    }
    let open = references.open_count();
    let fields = references.expand(fields, depth)?;
    let normalised = normalise_fields(references, &fields, depth)?;
    references.close_to(open);
    Ok(Value::Object(normalised))
}

/// The fields of a schema whose references are filled in.
fn normalise_fields(
    references: &mut References<'_>,
    fields: &Map<String, Value>,
    depth: usize,
) -> Result<Map<String, Value>, SchemaProblem> {
    let name = type_name(fields);
    let mut kept = Map::new();
    if let Some(name) = name {
        kept.insert("type".to_owned(), name.into());
    }
    for (key, value) in fields.iter().filter(|(key, value)| is_kept(key, value)) {
        kept.insert(key.clone(), value.clone());
    }
    if let Some(values) = enum_values(fields, name) {
        kept.insert("enum".to_owned(), Value::Array(values));
    }
    match name {
        Some("object") => add_properties(references, fields, &mut kept, depth)?,
        Some("array") => {
            let items = fields.get("items").unwrap_or(&Value::Null);
            kept.insert("items".to_owned(), normalise_schema(references, items, depth + 1)?);
        }
        _ => {}
    }
    add_alternatives(references, fields, &mut kept, depth)?;
    Ok(kept)
}

fn add_properties(
    references: &mut References<'_>,
    fields: &Map<String, Value>,
    kept: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), SchemaProblem> {
    if let Some(Value::Object(named)) = fields.get("properties") {
        let mut properties = Map::new();
        for (name, schema) in named {
            properties.insert(name.clone(), normalise_schema(references, schema, depth + 1)?);
        }
        let listed = fields.get("required").and_then(Value::as_array);
        let mut required: Vec<Value> = Vec::new();
        for name in listed.into_iter().flatten() {
            let exists = name.as_str().is_some_and(|name| properties.contains_key(name));
            if exists && !required.contains(name) {
                required.push(name.clone());
            }
        }
        kept.insert("properties".to_owned(), Value::Object(properties));
        if !required.is_empty() {
            kept.insert("required".to_owned(), Value::Array(required));
        }
    }
    match fields.get("additionalProperties") {
        // A pattern of names is left out, so a ban of other names would refuse the names of the pattern.
        Some(Value::Bool(false)) if !fields.contains_key("patternProperties") => {
            kept.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        Some(schema @ Value::Object(_)) if !fields.contains_key("patternProperties") => {
            let schema = normalise_schema(references, schema, depth + 1)?;
            kept.insert("additionalProperties".to_owned(), schema);
        }
        _ => {}
    }
    Ok(())
}

/// Adds the alternatives of `anyOf` and `oneOf` as `anyOf`, the only form that Gemini knows. A single alternative becomes
/// part of the schema itself; alternatives one of which accepts everything are left out.
fn add_alternatives(
    references: &mut References<'_>,
    fields: &Map<String, Value>,
    kept: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), SchemaProblem> {
    let mut parts: Vec<Map<String, Value>> = Vec::new();
    let members = ["anyOf", "oneOf"].into_iter().filter_map(|key| fields.get(key)?.as_array());
    for member in members.flatten() {
        if member.as_object().is_some_and(is_null_type) {
            continue;
        }
        let Value::Object(part) = normalise_schema(references, member, depth + 1)? else {
            continue;
        };
        if part.is_empty() {
            return Ok(());
        }
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    if parts.len() > 1 && parts.iter().all(is_enum_only) && have_one_type(&parts) {
        parts = vec![merge_enums(&parts)];
    }
    if parts.len() > 1 {
        let parts = parts.into_iter().map(Value::Object).collect();
        kept.insert("anyOf".to_owned(), Value::Array(parts));
    } else if !kept.contains_key("properties") {
        for (key, value) in parts.into_iter().flatten() {
            kept.entry(key).or_insert(value);
        }
    }
    Ok(())
}

fn have_one_type(parts: &[Map<String, Value>]) -> bool {
    parts.windows(2).all(|pair| pair[0].get("type") == pair[1].get("type"))
}

/// One part with the values of all.
fn merge_enums(parts: &[Map<String, Value>]) -> Map<String, Value> {
    let mut values: Vec<Value> = Vec::new();
    for value in parts.iter().filter_map(|part| part.get("enum")?.as_array()).flatten() {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    let mut merged = parts[0].clone();
    merged.insert("enum".to_owned(), Value::Array(values));
    merged
}
