//! Percent-encoding of a part of a URL.

use std::fmt::Write as _;

/// Encodes every byte but letters, digits and `-._~` (RFC 3986, 2.3).
#[must_use]
pub fn percent_encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("BUG: writing to a string does not fail");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_stay() {
        assert_eq!(percent_encode("a-1._~Z"), "a-1._~Z");
        assert_eq!(percent_encode("ä /?&%"), "%C3%A4%20%2F%3F%26%25");
    }
}
