//! JSON as it is taken from files: whole, no key twice, nested no deeper than an answer can carry.
//!
//! `serde_json` alone takes the last of two equal keys, so that a file could show one job and mean another.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What is stored comes back inside an answer, which is deeper and has a limit of its own.
const MOST_LEVELS: usize = 40;

/// Reads one whole document.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let document =
        Level(MOST_LEVELS).deserialize(&mut reader).map_err(|error| error.to_string())?;
    reader.end().map_err(|error| error.to_string())?;
    Ok(document)
}

/// The jobs of an export, of a bare list, or a single job.
pub(super) fn jobs_of(document: Value) -> Option<Vec<Value>> {
    match document {
        Value::Array(jobs) => Some(jobs),
        Value::Object(mut object) => match object.remove("jobs") {
            Some(Value::Array(jobs)) => Some(jobs),
            Some(_) => None,
            None => object.contains_key("schedule").then(|| vec![Value::Object(object)]),
        },
        _ => None,
    }
}

/// A value that may have so many levels.
struct Level(usize);

impl Level {
    fn below<E: Error>(&self) -> Result<usize, E> {
        self.0.checked_sub(1).ok_or_else(|| E::custom("it is nested too deeply"))
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<Value, E> {
        Ok(Value::Bool(yes))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        let number = Number::from_f64(number).ok_or_else(|| E::custom("a number is too large"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        if text.contains('\0') {
            return Err(E::custom("a text holds a NUL character"));
        }
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Level(below))? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let below = self.below()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key.contains('\0') {
                return Err(A::Error::custom("a key holds a NUL character"));
            }
            if map.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` stands twice")));
            }
            let value = entries.next_value_seed(Level(below))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}
