//! Ids by prefix or suffix, and errors for unknown names.
//!
//! Ids of the same minute share a prefix; their suffixes differ. Pitfall: accepting an empty text or a few letters
//! would select an object by accident.

use rouse_core::text::nearest;

use super::error::CliError;

/// Fewer characters select nothing.
const MIN_PART: usize = 4;

/// The id in `ids` that equals, starts with or ends with `wanted`. Returns `wanted` itself if none does.
pub(crate) fn complete_id(wanted: &str, ids: &[String]) -> Result<String, CliError> {
    if ids.iter().any(|id| id == wanted) || wanted.chars().count() < MIN_PART {
        return Ok(wanted.to_owned());
    }
    let is_match = |id: &&String| id.starts_with(wanted) || id.ends_with(wanted);
    match ids.iter().filter(is_match).collect::<Vec<_>>().as_slice() {
        [] => Ok(wanted.to_owned()),
        [id] => Ok((*id).clone()),
        [first, second, ..] => Err(CliError::input(format!(
            "`{wanted}` is ambiguous: {first} or {second}; add more characters"
        ))),
    }
}

/// The only id behind `name`; an error if there are several.
pub(crate) fn single_id(name: &str, ids: &[&str]) -> Result<Option<String>, CliError> {
    match ids {
        [] => Ok(None),
        [id] => Ok(Some((*id).to_owned())),
        ids => {
            Err(CliError::input(format!("`{name}` is ambiguous: {}; use an id", ids.join(", "))))
        }
    }
}

/// Whether the text has the form of a full id.
pub(crate) fn is_full_id(wanted: &str) -> bool {
    wanted.len() == 36 && wanted.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

/// The error for an unknown name: suggests a similar name of `known`, and `list_command`.
pub(crate) fn unknown_name<'k>(
    kind: &str,
    wanted: &str,
    known: impl IntoIterator<Item = &'k str>,
    list_command: &str,
) -> CliError {
    let others = known.into_iter().filter(|known| *known != wanted);
    let suggestion =
        nearest(wanted, others).map(|name| format!(" Did you mean \u{201c}{name}\u{201d}?"));
    let suggestion = suggestion.unwrap_or_default();
    CliError::not_found(format!("There is no {kind} {wanted}.{suggestion} See all: {list_command}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_name_suggests_similar_name() {
        let error =
            |wanted| unknown_name("skill", wanted, ["fetch", "report"], "rouse skills list");
        let similar = "There is no skill fecth. Did you mean \u{201c}fetch\u{201d}? See all: rouse skills list";
        assert_eq!(error("fecth").lines(), [similar]);
        // An object of another kind has this name.
        let same = "There is no skill fetch. See all: rouse skills list";
        assert_eq!(error("fetch").lines(), [same]);
        assert_eq!(error("x").lines(), ["There is no skill x. See all: rouse skills list"]);
    }

    #[test]
    fn prefix_or_suffix_selects_only_a_single_id() {
        let ids = ["0199-aaaa-1234", "0199-bbbb-5678"].map(str::to_owned);
        let id = |wanted: &str| complete_id(wanted, &ids).ok();
        assert_eq!(id("5678").as_deref(), Some("0199-bbbb-5678"));
        assert_eq!(id("0199-a").as_deref(), Some("0199-aaaa-1234"));
        assert_eq!(id("0199"), None);
        for unknown in ["", "678", "nobody"] {
            assert_eq!(id(unknown).as_deref(), Some(unknown));
        }
    }
}
