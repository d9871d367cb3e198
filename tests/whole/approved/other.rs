//! Other calls than the approved one, by chance: another text, other bytes, another environment, another room.
//!
//! Owns the ways to be different; each answers something that differs. One could get it wrong by changing letters of the
//! English alphabet only: what looks the same and is not, and bytes that are no text at all, are where a comparison fails.

use std::ffi::{OsStr, OsString};

use rouse_core::tool::SandboxMode;
use rouse_testkit::Dice;
use serde_json::Value;

use super::scene::Variables;

/// Letters that cannot be seen, that look like others, or that end a text where somebody reads it as one.
const TREACHEROUS: [char; 14] = [
    '\0', '\t', '\r', '\n', '\u{1b}', '\u{a0}', '\u{ad}', '\u{200b}', '\u{202e}', '\u{2044}',
    '\u{301}', '\u{430}', '\u{ff0f}', '\u{feff}',
];

fn letter(dice: &mut Dice) -> char {
    match dice.below(4) {
        0 => *dice.pick(&TREACHEROUS),
        1 => loop {
            let any = u32::try_from(dice.between(0x80, 0x10_ffff)).expect("small");
            if let Some(letter) = char::from_u32(any) {
                break letter;
            }
        },
        _ => char::from(u8::try_from(dice.between(0x20, 0x7e)).expect("a letter")),
    }
}

/// Something put in, taken away, or put in the place of another; never the same.
fn changed<T: Clone + PartialEq>(
    dice: &mut Dice,
    of: &[T],
    one: impl Fn(&mut Dice) -> T,
) -> Vec<T> {
    loop {
        let mut other = of.to_vec();
        let at = dice.below(other.len());
        match dice.below(3) {
            0 if !other.is_empty() => other[at] = one(dice),
            1 if !other.is_empty() => drop(other.remove(at)),
            _ => other.insert(at, one(dice)),
        }
        if other != of {
            return other;
        }
    }
}

pub(super) fn text(dice: &mut Dice, of: &str) -> String {
    let letters: Vec<char> = of.chars().collect();
    changed(dice, &letters, letter).into_iter().collect()
}

/// Any byte in any place, whether it makes a text or not; often one above the letters in the place of another such.
pub(super) fn bytes(dice: &mut Dice, of: &[u8]) -> Vec<u8> {
    let high: Vec<usize> = (0..of.len()).filter(|at| of[*at] > 0x7f).collect();
    if high.is_empty() || dice.once_in(2) {
        return changed(dice, of, |dice| u8::try_from(dice.below(256)).expect("a byte"));
    }
    let (mut other, at) = (of.to_vec(), *dice.pick(&high));
    // Any but the same.
    let by = u8::try_from(dice.between(1, 127)).expect("a byte");
    other[at] = 0x80 | (other[at].wrapping_add(by) & 0x7f);
    other
}

/// One value of the arguments changed, wherever it stands, or one more put in.
pub(super) fn arguments(dice: &mut Dice, of: &Value) -> Value {
    match of {
        Value::Object(fields) if !fields.is_empty() => {
            let mut fields = fields.clone();
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = dice.pick(&names).clone();
            let other = arguments(dice, &fields[&name]);
            match dice.once_in(12) {
                true => drop(fields.insert(text(dice, &name), other)),
                false => drop(fields.insert(name, other)),
            }
            Value::Object(fields)
        }
        Value::String(was) => text(dice, was).into(),
        Value::Bool(was) => (!was).into(),
        Value::Number(was) => (was.as_i64().unwrap_or_default() + dice.between(1, 600)).into(),
        other => text(dice, &other.to_string()).into(),
    }
}

/// A text of the system, of any bytes where it takes them.
#[cfg(unix)]
pub(super) fn raw(bytes: &[u8]) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    OsString::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
pub(super) fn raw(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// What an environment can hold: anything but the byte that ends it.
fn word(dice: &mut Dice, of: &OsStr) -> OsString {
    loop {
        let other = raw(&bytes(dice, of.as_encoded_bytes()));
        if !other.as_encoded_bytes().contains(&0) && other != of {
            return other;
        }
    }
}

/// A variable changed, gone, come or of another name; a command is told of all that are there.
pub(super) fn environment(dice: &mut Dice, of: &Variables) -> Variables {
    let mut other = of.clone();
    let at = dice.below(other.len());
    match dice.below(6) {
        0 => drop(other.remove(at)),
        1 => other.push(("LC_MORE".into(), word(dice, OsStr::new("more")))),
        2 => {
            // Of these names the end is anybody's.
            let mut own = other.iter_mut().rev();
            let own = own.find(|(name, _)| name.to_string_lossy().starts_with("LC_"));
            let (name, _) = own.expect("there is one");
            let end = word(dice, &raw(&name.as_encoded_bytes()[3..]));
            *name = raw(&[b"LC_", end.as_encoded_bytes()].concat());
        }
        _ => other[at].1 = word(dice, &other[at].1.clone()),
    }
    other
}

/// Another room around the call.
pub(super) fn room(dice: &mut Dice, host: &str) -> SandboxMode {
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
fn what_is_other_is_never_the_same_and_holds_bytes_of_every_kind() {
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
