//! Which run, question or grant a person means: by a whole id, or by its beginning or its end; and what is said of a word
//! that nothing is known by.
//!
//! Ids that were made in the same minute begin alike, so their ends tell them apart. It refuses what could be several. One
//! could get it wrong by taking nothing at all, or a letter or two, for the only one there is.

use rouse_core::near::nearest;
use rouse_gateway::{ErrorCode, RpcError};

use crate::exit::Failure;

/// Fewer characters would name something by accident.
const LEAST: usize = 4;

/// The one of `ids` that `wanted` is, begins or ends. None of them is `wanted` itself, for which the gateway has words.
pub(crate) fn meant(wanted: &str, ids: &[String]) -> Result<String, Failure> {
    if ids.iter().any(|id| id == wanted) || wanted.chars().count() < LEAST {
        return Ok(wanted.to_owned());
    }
    let is_meant = |id: &&String| id.starts_with(wanted) || id.ends_with(wanted);
    match ids.iter().filter(is_meant).collect::<Vec<_>>().as_slice() {
        [] => Ok(wanted.to_owned()),
        [one] => Ok((*one).clone()),
        [first, second, ..] => {
            Err(Failure::input(format!("`{wanted}` could be {first} or {second}; give more of it")))
        }
    }
}

/// The one of these, which all bear the name `name`; none where there is none.
pub(crate) fn only(name: &str, ids: &[&str]) -> Result<Option<String>, Failure> {
    match ids {
        [] => Ok(None),
        [one] => Ok(Some((*one).to_owned())),
        several => Err(Failure::input(format!(
            "`{name}` could be any of {}; give the id of one",
            several.join(", ")
        ))),
    }
}

/// Whether this is an id as Rouse makes them, which needs no looking up.
pub(crate) fn is_whole(wanted: &str) -> bool {
    wanted.len() == 36 && wanted.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// That there is no such thing, with the one of `known` that is spelled like it, and where all of them stand.
pub(crate) fn unknown<'k>(
    what: &str,
    wanted: &str,
    known: impl IntoIterator<Item = &'k str>,
    see: &str,
) -> Failure {
    let others = known.into_iter().filter(|known| *known != wanted);
    let meant =
        nearest(wanted, others).map(|name| format!(" Did you mean \u{201c}{name}\u{201d}?"));
    let meant = meant.unwrap_or_default();
    not_found(format!("There is no {what} {wanted}.{meant} See all of them: {see}"))
}

/// What is not there, with the exit code that the gateway's own "there is none" has.
pub(crate) fn not_found(words: String) -> Failure {
    Failure::Client(RpcError::new(ErrorCode::NotFound, words).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spelled_like_a_word_that_nothing_is_known_by_is_told() {
        let said = |wanted| unknown("skill", wanted, ["fetch", "report"], "rouse skills list");
        let near = "There is no skill fecth. Did you mean \u{201c}fetch\u{201d}? See all of them: rouse skills list";
        assert_eq!(said("fecth").lines(), [near]);
        // What is called so is something else than what was asked for.
        let other = "There is no skill fetch. See all of them: rouse skills list";
        assert_eq!(said("fetch").lines(), [other]);
        assert_eq!(said("x").lines(), ["There is no skill x. See all of them: rouse skills list"]);
    }

    #[test]
    fn a_beginning_or_an_end_names_one_and_never_one_of_several() {
        let ids = ["0199-aaaa-1234", "0199-bbbb-5678"].map(str::to_owned);
        let meant = |wanted: &str| meant(wanted, &ids).ok();
        assert_eq!(meant("5678").as_deref(), Some("0199-bbbb-5678"));
        assert_eq!(meant("0199-a").as_deref(), Some("0199-aaaa-1234"));
        assert_eq!(meant("0199"), None);
        for unknown in ["", "678", "nobody"] {
            assert_eq!(meant(unknown).as_deref(), Some(unknown));
        }
    }
}
