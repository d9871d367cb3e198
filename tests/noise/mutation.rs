//! Random mutation of an input: its bytes or its JSON tree.
//!
//! Of a hundred jobs with changed bytes only eight are still JSON; the others test just the JSON parser. So every
//! other JSON input is mutated as a tree.

use rouse_testkit::Dice;
use serde_json::{Value, json};

/// Texts that break parsers more often than chance.
const TRICKY_TEXTS: [&str; 30] = [
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "-1",
    "0",
    "1e999",
    "9223372036854775808",
    "-9223372036854775808",
    "4294967296",
    "\\u0000",
    "\\ud800",
    "\u{feff}",
    "\u{202e}",
    "é",
    "\u{1f600}",
    "*/0",
    "*/59",
    "L",
    "W",
    "#5",
    "99",
    "31 2",
    "Z",
    "+24:00",
    "Pacific/Apia",
    "Mars/Base",
    "\r\n",
    "\0",
];

/// Values of a wrong type, or at a boundary.
fn boundary_value(dice: &mut Dice) -> Value {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(0),
        json!(1.5),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(4_294_967_296_u64),
        json!(""),
        json!("x".repeat(5_000)),
        json!("every"),
        json!("* * * * *"),
        json!("Mars/Base"),
        json!([]),
        json!({}),
        json!([[], {}, null]),
    ];
    dice.pick(&values).clone()
}

/// Mutates a random input of the corpus.
pub(crate) fn mutate(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let input = dice.pick(corpus).clone();
    match serde_json::from_slice::<Value>(&input) {
        Ok(tree) if tree.is_object() || tree.is_array() => {
            if dice.once_in(2) {
                return mutate_tree(dice, tree, corpus).to_string().into_bytes();
            }
            mutate_bytes(dice, input, corpus)
        }
        _ => mutate_bytes(dice, input, corpus),
    }
}

/// Removes, replaces, swaps, nests or transplants values of a tree.
fn mutate_tree(dice: &mut Dice, mut tree: Value, corpus: &[Vec<u8>]) -> Value {
    for _ in 0..=dice.below(3) {
        let pointers = pointers(&tree);
        let pointer = dice.pick(&pointers).clone();
        match dice.below(6) {
            0 => remove_value(&mut tree, &pointer),
            1 => {
                let other = dice.pick(&pointers).clone();
                let (first, second) =
                    (tree.pointer(&pointer).cloned(), tree.pointer(&other).cloned());
                replace_value(&mut tree, &pointer, second);
                replace_value(&mut tree, &other, first);
            }
            2 => {
                // Up to and beyond the depth limit of parsers.
                let depth = *dice.pick(&[1, 2, 30, 200]);
                let mut value = tree.pointer(&pointer).cloned().unwrap_or_default();
                for _ in 0..depth {
                    value = if dice.once_in(2) { json!([value]) } else { json!({ "kind": value }) };
                }
                replace_value(&mut tree, &pointer, Some(value));
            }
            3 => {
                let bytes: &Vec<u8> = dice.pick(corpus);
                let other: Value = serde_json::from_slice(bytes).unwrap_or_default();
                let from = dice.pick(&self::pointers(&other)).clone();
                replace_value(&mut tree, &pointer, other.pointer(&from).cloned());
            }
            _ => {
                let value = boundary_value(dice);
                replace_value(&mut tree, &pointer, Some(value));
            }
        }
    }
    tree
}

/// The JSON pointers of all values, the root first.
fn pointers(tree: &Value) -> Vec<String> {
    let mut pointers = vec![String::new()];
    let mut inside = |key: &str, value: &Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        pointers.extend(self::pointers(value).iter().map(|pointer| format!("/{key}{pointer}")));
    };
    match tree {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| inside(key, value)),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(n, value)| inside(&n.to_string(), value));
        }
        _ => {}
    }
    pointers
}

/// Replaces the value at a pointer, if it still exists.
fn replace_value(tree: &mut Value, pointer: &str, value: Option<Value>) {
    if let (Some(found), Some(value)) = (tree.pointer_mut(pointer), value) {
        *found = value;
    }
}

fn remove_value(tree: &mut Value, pointer: &str) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    match tree.pointer_mut(parent) {
        Some(Value::Object(fields)) => {
            drop(fields.remove(&key.replace("~1", "/").replace("~0", "~")));
        }
        Some(Value::Array(values)) => {
            if let Some(n) = key.parse().ok().filter(|n| *n < values.len()) {
                values.remove(n);
            }
        }
        _ => {}
    }
}

fn mutate_bytes(dice: &mut Dice, mut input: Vec<u8>, corpus: &[Vec<u8>]) -> Vec<u8> {
    for _ in 0..=dice.below(4) {
        let at = dice.below(input.len() + 1);
        let end = (at + dice.below(24)).min(input.len());
        match dice.below(7) {
            0 if at < input.len() => input[at] ^= 1 << dice.below(8),
            1 => drop(input.drain(at..end)),
            2 => {
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece.repeat(1 + dice.below(40)));
            }
            3 => {
                let other = dice.pick(corpus);
                let from = dice.below(other.len() + 1);
                let to = (from + dice.below(64)).min(other.len());
                input.splice(at..end, other[from..to].iter().copied());
            }
            4 => input.truncate(at),
            _ => {
                let text = dice.pick(&TRICKY_TEXTS).bytes();
                input.splice(at..end, text);
            }
        }
    }
    input
}

#[test]
fn mutated_tree_differs() {
    let tree = json!({ "a": [1, { "b/c": 2 }], "d~": null });
    assert_eq!(pointers(&tree), ["", "/a", "/a/0", "/a/1", "/a/1/b~1c", "/d~0"]);
    let mut smaller = tree.clone();
    remove_value(&mut smaller, "/a/1/b~1c");
    remove_value(&mut smaller, "/d~0");
    remove_value(&mut smaller, "/a/0");
    assert_eq!(smaller, json!({ "a": [{}] }));
    let mut dice = Dice::new(1);
    let corpus = [tree.to_string().into_bytes()];
    let same = (0..200).filter(|_| mutate_tree(&mut dice, tree.clone(), &corpus) == tree);
    assert!(same.count() < 60, "too few mutations change the tree");
}
