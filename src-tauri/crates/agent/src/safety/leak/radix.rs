//! A value as numbers of another base: Ascii85, base85 (RFC 1924's letters, as Python and git write it), Z85, uuencode and
//! base58.
//!
//! Owns those spellings. It refuses to read such texts back, as `encoded` does with others: nearly every text is one. Four
//! bytes become five letters there, so of a value inside a longer text only the groups that are wholly its own can be looked
//! for, in each of the four places it can begin at; base58 makes one number of a whole text, so only the value by itself
//! can. One could get it wrong by looking for a single group: five letters are in any text by chance.

use super::known::base64_cores;

/// The fewest letters by which such a spelling is recognised.
pub(super) const SHORTEST: usize = 10;
/// Letters of a group that is shared with what stands beside the value.
pub(super) const EDGE: usize = 4;

/// ZeroMQ RFC 32.
const Z85: &[u8; 85] =
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
const RFC_1924: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Bitcoin's, the usual one.
const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// What `value` is written as when it is written alone.
pub(super) fn alone(value: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::from(digits_of_85().map(|digit| base85(value, digit)));
    all.push(base58(value));
    all
}

/// What `value` is written as inside a longer text, as far as it depends on the value alone.
pub(super) fn cores(value: &[u8]) -> Vec<Vec<u8>> {
    let groups = |from: usize| {
        let own = value.get(from..).unwrap_or_default();
        &own[..own.len() / 4 * 4]
    };
    let of_85 = digits_of_85();
    let cores = (0..4).flat_map(|from| of_85.map(|digit| base85(groups(from), digit)));
    cores.chain(uuencoded(value)).collect()
}

type Digit = fn(u8) -> u8;

fn digits_of_85() -> [Digit; 3] {
    // Ascii85 counts from `!` on.
    [|at| b'!' + at, |at| RFC_1924[usize::from(at)], |at| Z85[usize::from(at)]]
}

/// Four bytes as five letters; of a last group of fewer bytes one letter more than those.
fn base85(bytes: &[u8], digit: Digit) -> Vec<u8> {
    let group = |bytes: &[u8]| {
        let mut four = [0; 4];
        four[..bytes.len()].copy_from_slice(bytes);
        let number = u32::from_be_bytes(four);
        let place = |power: u32| (number / 85_u32.pow(power) % 85) as u8;
        (0..5).rev().map(|power| digit(place(power))).take(bytes.len() + 1).collect::<Vec<u8>>()
    };
    bytes.chunks(4).flat_map(group).collect()
}

/// The letters of base64 in uuencode's alphabet, which counts from the blank on, with a backtick for the blank, as most write
/// it, and with the blank.
fn uuencoded(bytes: &[u8]) -> Vec<Vec<u8>> {
    let letter = |letter: u8, zero: u8| match letter {
        b'A' => zero,
        b'B'..=b'Z' => letter - b'A' + b' ',
        b'a'..=b'z' => letter - b'a' + 26 + b' ',
        b'0'..=b'9' => letter - b'0' + 52 + b' ',
        b'+' => 62 + b' ',
        _ => 63 + b' ',
    };
    let cores = base64_cores(bytes);
    let written =
        |zero: u8| cores.iter().map(move |core| core.iter().map(|of| letter(*of, zero)).collect());
    written(b'`').chain(written(b' ')).collect()
}

/// The whole value as one number of base 58, a `1` for each zero byte before it.
fn base58(value: &[u8]) -> Vec<u8> {
    let zeros = value.iter().take_while(|byte| **byte == 0).count();
    let mut digits: Vec<u8> = Vec::new();
    for byte in &value[zeros..] {
        let mut carry = u32::from(*byte);
        for digit in &mut digits {
            carry += u32::from(*digit) << 8;
            *digit = (carry % 58) as u8;
            carry /= 58;
        }
        while carry > 0 {
            digits.push((carry % 58) as u8);
            carry /= 58;
        }
    }
    let letters = digits.iter().rev().map(|digit| BASE58[usize::from(*digit)]);
    std::iter::repeat_n(b'1', zeros).chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Python's `base64.a85encode` and `b85encode`, ZeroMQ's example, `codecs.encode(…, "uu")` and Bitcoin's base58 write it.
    #[test]
    fn they_are_written_as_others_write_them() {
        let [ascii, rfc, z85] = digits_of_85();
        let text = |letters: Vec<u8>| String::from_utf8(letters).expect("letters");
        assert_eq!(text(base85(b"hello world", ascii)), "BOu!rD]j7BEbo7");
        assert_eq!(text(base85(b"hello world", rfc)), "Xk~0{Zy<MXa%^M");
        let example = [0x86, 0x4f, 0xd2, 0x6f, 0xb5, 0x59, 0xf7, 0x5b];
        assert_eq!(text(base85(&example, z85)), "HelloWorld");
        assert_eq!(text(uuencoded(b"hello world!")[0].clone()), ":&5L;&\\@=V]R;&0A");
        assert_eq!(text(base58(b"Hello World!")), "2NEpo7TZRRrLZSi2U");
        assert_eq!(text(base58(&[0, 0, 1])), "112");
    }
}
