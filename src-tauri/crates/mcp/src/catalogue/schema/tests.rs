use serde_json::json;

use super::*;

/// The normalised schema of a single property `x`.
fn property(schema: &Value) -> Value {
    let whole = json!({"type": "object", "properties": {"x": schema}});
    normalise(&whole).expect("a schema")["properties"]["x"].clone()
}

#[test]
fn root_becomes_object_with_properties() {
    let empty = json!({"type": "object", "properties": {}});
    for schema in [
        json!({}),
        json!(true),
        json!({"type": "object"}),
        json!({"type": ["null", "object"], "$schema": "x", "$id": "y", "$comment": "z"}),
        json!({"properties": {}, "required": ["gone"], "$defs": {"a": {}}, "definitions": {}}),
        json!({"type": "object", "properties": []}),
    ] {
        assert_eq!(normalise(&schema), Ok(empty.clone()), "{schema}");
    }
}

#[test]
fn root_other_than_object_is_refused() {
    for schema in [
        json!({"type": "string"}),
        json!({"type": ["array", "null"]}),
        json!({"type": 5}),
        json!(false),
        json!(null),
        json!([]),
        json!({"anyOf": [{"type": "object"}, {"type": "array"}]}),
        json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}),
    ] {
        assert_eq!(normalise(&schema), Err(SchemaProblem::NotObject), "{schema}");
    }
}

#[test]
fn keywords_are_kept_or_dropped_by_their_form() {
    let kept = json!({
        "type": "string", "title": "T", "description": "D", "format": "date", "minLength": 1,
        "maxLength": 9, "default": "d", "examples": ["e"], "enum": ["d", "e"],
    });
    assert_eq!(property(&kept), kept);
    let number = json!({
        "type": "number", "minimum": -1, "maximum": 2.5, "exclusiveMinimum": -2, "multipleOf": 0.5,
    });
    assert_eq!(property(&number), number);
    for (schema, normalised) in [
        (
            json!({"type": "string", "pattern": "(?=a)", "not": {}, "if": {}}),
            json!({"type": "string"}),
        ),
        (
            json!({"type": "number", "exclusiveMinimum": true, "multipleOf": 0}),
            json!({"type": "number"}),
        ),
        (json!({"type": "string", "minLength": "1", "title": 5}), json!({"type": "string"})),
        (json!({"type": "string", "default": null, "nullable": true}), json!({"type": "string"})),
        (json!({"type": "string", "properties": {}, "required": ["a"]}), json!({"type": "string"})),
        (json!({"type": "file", "description": "D"}), json!({"description": "D"})),
    ] {
        assert_eq!(property(&schema), normalised, "{schema}");
    }
}

#[test]
fn nested_forms_are_normalised() {
    let object = json!({"type": "object", "properties": {"a": {}}});
    for (schema, normalised) in [
        (json!(true), json!({})),
        (json!(false), json!({})),
        (json!({"type": "array"}), json!({"type": "array", "items": {}})),
        (json!({"type": "array", "items": true}), json!({"type": "array", "items": {}})),
        (
            json!({"items": [{"type": "string"}, {"type": "null"}]}),
            json!({"type": "array", "items": {}}),
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
        ),
        (
            json!({"properties": {"a": true}, "required": ["a", "a", "b", 5]}),
            json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}),
        ),
        (json!({"properties": {"a": true}, "required": "a"}), object.clone()),
        (json!({"properties": {"a": true}, "additionalProperties": true}), object),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({"type": "object", "additionalProperties": false}),
        ),
        (
            json!({"type": "object", "additionalProperties": false, "patternProperties": {"^x": {}}}),
            json!({"type": "object"}),
        ),
        (
            json!({"additionalProperties": {"type": ["integer", "null"]}}),
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
        ),
    ] {
        assert_eq!(property(&schema), normalised, "{schema}");
    }
}

#[test]
fn union_type_becomes_its_first_type() {
    for (types, first) in [
        (json!(["string", "null"]), json!({"type": "string"})),
        (json!(["null", "integer", "string"]), json!({"type": "integer"})),
        (json!(["null"]), json!({})),
        (json!("null"), json!({})),
        (json!([]), json!({})),
    ] {
        assert_eq!(property(&json!({"type": types})), first, "{types}");
    }
}

#[test]
fn const_and_enum_become_enum_of_one_type() {
    for (schema, normalised) in [
        (json!({"const": "a"}), json!({"type": "string", "enum": ["a"]})),
        (json!({"type": "integer", "const": 5}), json!({"type": "integer", "enum": [5]})),
        (json!({"enum": ["a", null, "a", "b"]}), json!({"type": "string", "enum": ["a", "b"]})),
        (json!({"enum": [true, "a"]}), json!({"enum": [true, "a"]})),
        (
            json!({"type": ["string", "integer"], "enum": ["a", 1]}),
            json!({"type": "string", "enum": ["a"]}),
        ),
        (json!({"type": "number", "enum": [1, 2.5]}), json!({"type": "number", "enum": [1, 2.5]})),
        (json!({"type": "string", "enum": []}), json!({"type": "string"})),
        (json!({"enum": "a"}), json!({})),
    ] {
        assert_eq!(property(&schema), normalised, "{schema}");
    }
}

#[test]
fn alternatives_become_any_of_or_one_schema() {
    let (text, number) = (json!({"type": "string"}), json!({"type": "number"}));
    for (schema, normalised) in [
        (
            json!({"anyOf": [text, {"type": "null"}], "description": "D"}),
            json!({"type": "string", "description": "D"}),
        ),
        (json!({"oneOf": [text, number]}), json!({"anyOf": [text, number]})),
        (json!({"oneOf": [text, text]}), text.clone()),
        (json!({"anyOf": [text, true]}), json!({})),
        (
            json!({"anyOf": [{"const": "a"}, {"const": "b"}, {"const": null}]}),
            json!({"type": "string", "enum": ["a", "b"]}),
        ),
        (
            json!({"properties": {"a": text}, "anyOf": [{"required": ["a"]}]}),
            json!({"type": "object", "properties": {"a": text}}),
        ),
        (
            json!({"allOf": [text], "description": "D"}),
            json!({"type": "string", "description": "D"}),
        ),
    ] {
        assert_eq!(property(&schema), normalised, "{schema}");
    }
}

#[test]
fn root_all_of_is_merged() {
    let schema = json!({
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["b"]},
        ],
        "description": "D",
    });
    let merged = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "number"}},
        "required": ["a", "b"],
        "description": "D",
    });
    assert_eq!(normalise(&schema), Ok(merged));
}

#[test]
fn root_alternatives_become_optional_properties() {
    let schema = json!({
        "properties": {"id": {"type": "string"}},
        "required": ["id", "kind"],
        "oneOf": [
            {"properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["path"]},
            {"properties": {"kind": {"const": "page"}, "path": {"type": "integer"}}, "required": ["path"]},
            {"required": ["id"]},
            {"type": "null"},
            {"anyOf": [{"properties": {"deep": {"type": "boolean"}}}]},
        ],
    });
    let merged = json!({
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "kind": {"type": "string", "enum": ["file", "page"]},
            "path": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "deep": {"type": "boolean"},
        },
        "required": ["id", "kind"],
    });
    assert_eq!(normalise(&schema), Ok(merged));
}

#[test]
fn local_references_are_filled_in() {
    let schema = json!({
        "$ref": "#/$defs/Arguments",
        "$defs": {
            "Arguments": {"type": "object", "properties": {
                "day": {"$ref": "#/definitions/Day", "description": "Own words"},
                "days": {"type": "array", "items": {"$ref": "#/definitions/Day"}},
                "any": {"$ref": "#/$defs/Any"},
            }},
            "Any": true,
        },
        "definitions": {"Day": {"type": "string", "format": "date", "description": "A day"}},
    });
    let filled = json!({"type": "object", "properties": {
        "day": {"type": "string", "format": "date", "description": "Own words"},
        "days": {"type": "array", "items": {"type": "string", "format": "date", "description": "A day"}},
        "any": {},
    }});
    assert_eq!(normalise(&schema), Ok(filled));
}

#[test]
fn recursive_reference_is_cut() {
    let tree = json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    }});
    let schema = json!({"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}, "root": {"$ref": "#"}},
        "$defs": {"Tree": tree, "Loop": {"allOf": [{"$ref": "#/$defs/Loop"}]}}});
    let cut = json!({"type": "object", "properties": {
        "tree": {"type": "object", "properties": {
            "name": {"type": "string"},
            "children": {"type": "array", "items": {}},
        }},
        "root": {},
    }});
    assert_eq!(normalise(&schema), Ok(cut));
    let looped = json!({"$ref": "#/$defs/Loop", "$defs": schema["$defs"]});
    assert_eq!(normalise(&looped), Ok(json!({"type": "object", "properties": {}})));
}

#[test]
fn remote_and_missing_references_are_refused() {
    for reference in ["https://a.example/schema.json", "other.json#/a", ""] {
        let problem = SchemaProblem::RemoteReference(reference.to_owned());
        assert_eq!(normalise(&json!({"$ref": reference})), Err(problem));
    }
    let nested = json!({"properties": {"x": {"$ref": "#/$defs/gone"}}});
    let problem = SchemaProblem::MissingReference("#/$defs/gone".to_owned());
    assert_eq!(normalise(&nested), Err(problem));
}

#[test]
fn multiplying_references_are_refused() {
    let mut defs = Map::new();
    for level in 0..20 {
        let next = json!({"$ref": format!("#/$defs/level{}", level + 1)});
        let schema = json!({"type": "object", "properties": {"a": next, "b": next}});
        defs.insert(format!("level{level}"), schema);
    }
    defs.insert("level20".to_owned(), json!({"type": "string"}));
    let schema = json!({"$ref": "#/$defs/level0", "$defs": defs});
    assert_eq!(normalise(&schema), Err(SchemaProblem::TooLarge));
}

#[test]
fn deep_schema_is_cut_at_the_limit() {
    let deep = (0..50).fold(json!({"type": "string"}), |inner, _| json!({"items": inner}));
    let schema = json!({"properties": {"x": deep}});
    let normalised = normalise(&schema).expect("a schema");
    let mut levels = 0;
    let mut part = &normalised["properties"]["x"];
    while part["type"] == "array" {
        levels += 1;
        part = &part["items"];
    }
    assert_eq!((levels, part), (31, &json!({})));
}
