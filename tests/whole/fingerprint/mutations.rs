//! Random mutations of an approved call: text, bytes, arguments, environment and sandbox.
//!
//! Every mutation differs from the input. Pitfall: changing ASCII letters only. Comparisons fail on lookalikes,
//! invisible characters and bytes that are not UTF-8.

use std::ffi::{OsStr, OsString};

use rouse_core::tool::SandboxMode;
use rouse_testkit::Dice;
use serde_json::Value;

use super::approved_run::Variables;

/// Invisible characters, lookalikes and terminators.
const DECEPTIVE: [char; 14] = [
    '\0', '\t', '\r', '\n', '\u{1b}', '\u{a0}', '\u{ad}', '\u{200b}', '\u{202e}', '\u{2044}',
    '\u{301}', '\u{430}', '\u{ff0f}', '\u{feff}',
];

fn letter(dice: &mut Dice) -> char {
    match dice.below(4) {
        0 => *dice.pick(&DECEPTIVE),
        1 => loop {
            let any = u32::try_from(dice.between(0x80, 0x10_ffff)).expect("small");
            if let Some(letter) = char::from_u32(any) {
                break letter;
            }
        },
        _ => char::from(u8::try_from(dice.between(0x20, 0x7e)).expect("a letter")),
    }
}

/// Inserts, removes or replaces an item. Never returns the input.
fn mutate<T: Clone + PartialEq>(
    dice: &mut Dice,
    input: &[T],
    item: impl Fn(&mut Dice) -> T,
) -> Vec<T> {
    loop {
        let mut other = input.to_vec();
        let at = dice.below(other.len());
        match dice.below(3) {
            0 if !other.is_empty() => other[at] = item(dice),
            1 if !other.is_empty() => drop(other.remove(at)),
            _ => other.insert(at, item(dice)),
        }
        if other != input {
            return other;
        }
    }
}

pub(super) fn text(dice: &mut Dice, input: &str) -> String {
    let letters: Vec<char> = input.chars().collect();
    mutate(dice, &letters, letter).into_iter().collect()
}

/// Any byte at any position. Often replaces a byte above 0x7F by another such byte.
pub(super) fn bytes(dice: &mut Dice, input: &[u8]) -> Vec<u8> {
    let high: Vec<usize> = (0..input.len()).filter(|at| input[*at] > 0x7f).collect();
    if high.is_empty() || dice.once_in(2) {
        return mutate(dice, input, |dice| u8::try_from(dice.below(256)).expect("a byte"));
    }
    let (mut other, at) = (input.to_vec(), *dice.pick(&high));
    let by = u8::try_from(dice.between(1, 127)).expect("a byte");
    other[at] = 0x80 | (other[at].wrapping_add(by) & 0x7f);
    other
}

/// Changes a value or a name at any depth.
pub(super) fn arguments(dice: &mut Dice, input: &Value) -> Value {
    match input {
        Value::Object(fields) if !fields.is_empty() => {
            let mut fields = fields.clone();
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = dice.pick(&names).clone();
            let other = arguments(dice, &fields[&name]);
            if dice.once_in(12) {
                drop(fields.insert(text(dice, &name), other))
            } else {
                drop(fields.insert(name, other))
            }
            Value::Object(fields)
        }
        Value::String(was) => text(dice, was).into(),
        Value::Bool(was) => (!was).into(),
        Value::Number(was) => (was.as_i64().unwrap_or_default() + dice.between(1, 600)).into(),
        other => text(dice, &other.to_string()).into(),
    }
}

/// An OS string, of any bytes where the system allows.
#[cfg(unix)]
pub(super) fn os_string(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    OsString::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
pub(super) fn os_string(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Environment values exclude the NUL byte.
fn environment_value(dice: &mut Dice, input: &OsStr) -> OsString {
    loop {
        let other = os_string(&bytes(dice, input.as_encoded_bytes()));
        if !other.as_encoded_bytes().contains(&0) && other != input {
            return other;
        }
    }
}

/// Changes, removes, adds or renames a variable of the sandbox environment.
pub(super) fn environment(dice: &mut Dice, input: &Variables) -> Variables {
    let mut other = input.clone();
    let at = dice.below(other.len());
    match dice.below(6) {
        0 => drop(other.remove(at)),
        1 => other.push(("LC_MORE".into(), environment_value(dice, OsStr::new("more")))),
        2 => {
            // Only `LC_` names may have any suffix.
            let mut own = other.iter_mut().rev();
            let own = own.find(|(name, _)| name.to_string_lossy().starts_with("LC_"));
            let (name, _) = own.expect("there is one");
            let end = environment_value(dice, &os_string(&name.as_encoded_bytes()[3..]));
            *name = os_string(&[b"LC_", end.as_encoded_bytes()].concat());
        }
        _ => other[at].1 = environment_value(dice, &other[at].1.clone()),
    }
    other
}

/// Another sandbox.
pub(super) fn sandbox(dice: &mut Dice, host: &str) -> SandboxMode {
    let here = host.to_owned();
    let hosts = match dice.below(4) {
        0 => Vec::new(),
        1 => vec![here, text(dice, host)],
        2 => vec![here, "b.example".to_owned(), text(dice, "c.example")],
        _ => vec![text(dice, host)],
    };
    match dice.below(4) {
        0 => SandboxMode::OpenedByPerson { hosts },
        _ => SandboxMode::Sandboxed { hosts },
    }
}

#[test]
fn mutation_differs_and_covers_all_byte_kinds() {
    let mut dice = Dice::new(1);
    let (mut high, mut no_text) = (0, 0);
    for _ in 0..2_000 {
        assert_ne!(text(&mut dice, "süß"), "süß");
        let other = bytes(&mut dice, "süß".as_bytes());
        assert_ne!(other, "süß".as_bytes());
        high += usize::from(other.iter().any(|byte| *byte > 0x7f));
        no_text += usize::from(String::from_utf8(other).is_err());
    }
    assert!(high > 1_000 && no_text > 500, "{high} with high bytes, {no_text} that are no text");
}
