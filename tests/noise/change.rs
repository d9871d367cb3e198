//! Changing an input at random: its bytes, or the tree that they are.
//!
//! Of a hundred jobs with changed bytes eight are JSON still; the others only show that the reader of JSON stands. So
//! every other input that is JSON is changed as a tree.

use rouse_testkit::Dice;
use serde_json::{Value, json};

/// What breaks readers more often than chance would find it.
const WORDS: [&str; 30] = [
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

/// Values that are of the wrong kind nearly everywhere, or at an end of what is allowed.
fn odd_value(dice: &mut Dice) -> Value {
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

/// One of the corpus after a few changes.
pub(crate) fn changed(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let input = dice.pick(corpus).clone();
    match serde_json::from_slice::<Value>(&input) {
        Ok(tree) if tree.is_object() || tree.is_array() => {
            if dice.once_in(2) {
                return changed_tree(dice, tree, corpus).to_string().into_bytes();
            }
            changed_bytes(dice, input, corpus)
        }
        _ => changed_bytes(dice, input, corpus),
    }
}

/// A tree with values that were left out, replaced, exchanged, buried, or taken from another file.
fn changed_tree(dice: &mut Dice, mut tree: Value, corpus: &[Vec<u8>]) -> Value {
    for _ in 0..=dice.below(3) {
        let places = places(&tree);
        let place = dice.pick(&places).clone();
        match dice.below(6) {
            0 => leave_out(&mut tree, &place),
            1 => {
                let other = dice.pick(&places).clone();
                let (one, two) = (tree.pointer(&place).cloned(), tree.pointer(&other).cloned());
                put(&mut tree, &place, two);
                put(&mut tree, &other, one);
            }
            2 => {
                // As deep as readers allow, and deeper.
                let depth = *dice.pick(&[1, 2, 30, 200]);
                let mut value = tree.pointer(&place).cloned().unwrap_or_default();
                for _ in 0..depth {
                    value = if dice.once_in(2) { json!([value]) } else { json!({ "kind": value }) };
                }
                put(&mut tree, &place, Some(value));
            }
            3 => {
                let bytes: &Vec<u8> = dice.pick(corpus);
                let other: Value = serde_json::from_slice(bytes).unwrap_or_default();
                let from = dice.pick(&self::places(&other)).clone();
                put(&mut tree, &place, other.pointer(&from).cloned());
            }
            _ => {
                let value = odd_value(dice);
                put(&mut tree, &place, Some(value));
            }
        }
    }
    tree
}

/// The JSON pointers of all values in a tree, its own first.
fn places(tree: &Value) -> Vec<String> {
    let mut places = vec![String::new()];
    let mut inside = |key: &str, value: &Value| {
        let key = key.replace('~', "~0").replace('/', "~1");
        places.extend(self::places(value).iter().map(|place| format!("/{key}{place}")));
    };
    match tree {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| inside(key, value)),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(n, value)| inside(&n.to_string(), value));
        }
        _ => {}
    }
    places
}

/// Puts a value where there is a place for it still.
fn put(tree: &mut Value, place: &str, value: Option<Value>) {
    if let (Some(found), Some(value)) = (tree.pointer_mut(place), value) {
        *found = value;
    }
}

fn leave_out(tree: &mut Value, place: &str) {
    let Some((parent, key)) = place.rsplit_once('/') else { return };
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

fn changed_bytes(dice: &mut Dice, mut input: Vec<u8>, corpus: &[Vec<u8>]) -> Vec<u8> {
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
                let word = dice.pick(&WORDS).bytes();
                input.splice(at..end, word);
            }
        }
    }
    input
}

#[test]
fn a_changed_tree_is_a_tree_that_is_not_the_same() {
    let tree = json!({ "a": [1, { "b/c": 2 }], "d~": null });
    assert_eq!(places(&tree), ["", "/a", "/a/0", "/a/1", "/a/1/b~1c", "/d~0"]);
    let mut smaller = tree.clone();
    leave_out(&mut smaller, "/a/1/b~1c");
    leave_out(&mut smaller, "/d~0");
    leave_out(&mut smaller, "/a/0");
    assert_eq!(smaller, json!({ "a": [{}] }));
    let mut dice = Dice::new(1);
    let corpus = [tree.to_string().into_bytes()];
    let same = (0..200).filter(|_| changed_tree(&mut dice, tree.clone(), &corpus) == tree);
    assert!(same.count() < 60, "hardly anything changes");
}
