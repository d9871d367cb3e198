//! The QR code of a pairing link, for a terminal and for a page.
//!
//! Owns one size of code: version 4 with error correction L, 33 modules wide, for links of at most 78 bytes (ISO/IEC
//! 18004). A link has at most 74 bytes. Never chooses a mask: readers accept any, and mask 2 suits these links best.
//! Pitfall: a code without its white border; cameras do not find it.

/// Modules on each side.
const SIZE: usize = 33;

/// White modules around the code.
const BORDER: usize = 4;

/// Bytes of data.
const DATA_BYTES: usize = 80;

/// Bytes of error correction.
const CORRECTION_BYTES: usize = 20;

/// The most bytes of a text: two bytes hold its length and its kind.
const MAX_TEXT: usize = DATA_BYTES - 2;

/// The format bits of error correction L with mask 2.
const FORMAT: u16 = 0x7DAA;

/// The centre of the alignment pattern.
const ALIGNMENT: usize = 26;

/// The QR code of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingQr {
    /// Dark modules, row by row; none for a module without a value yet.
    modules: [[Option<bool>; SIZE]; SIZE],
}

impl PairingQr {
    /// The code of `text`; none for more than 78 bytes.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let mut code = Self { modules: [[None; SIZE]; SIZE] };
        code.draw_patterns();
        code.draw_format();
        code.draw_bytes(&codewords(text));
        Some(code)
    }

    /// Lines of block characters for a terminal with a dark background. Two modules share a character.
    #[must_use]
    pub fn terminal(&self) -> String {
        let is_light = |x: usize, y: usize| !self.is_dark_with_border(x, y);
        let side = SIZE + 2 * BORDER;
        let mut lines = String::new();
        for y in (0..side).step_by(2) {
            for x in 0..side {
                lines.push(match (is_light(x, y), y + 1 < side && is_light(x, y + 1)) {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    (false, false) => ' ',
                });
            }
            lines.push('\n');
        }
        lines
    }

    /// A picture for a page, dark on white.
    #[must_use]
    pub fn svg(&self) -> String {
        let side = SIZE + 2 * BORDER;
        let mut path = String::new();
        for y in 0..side {
            for x in (0..side).filter(|x| self.is_dark_with_border(*x, y)) {
                path.push_str(&format!("M{x} {y}h1v1h-1z"));
            }
        }
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h{side}v{side}h-{side}z"/><path fill="#000" d="{path}"/></svg>"##
        )
    }

    /// Whether a module is dark; the border counts from 0.
    fn is_dark_with_border(&self, x: usize, y: usize) -> bool {
        let inside = |at: usize| at.checked_sub(BORDER).filter(|at| *at < SIZE);
        let at = inside(x).zip(inside(y));
        at.is_some_and(|(x, y)| self.modules[y][x] == Some(true))
    }

    fn set(&mut self, x: usize, y: usize, is_dark: bool) {
        self.modules[y][x] = Some(is_dark);
    }

    /// Draws the patterns by which a camera finds the code.
    fn draw_patterns(&mut self) {
        for at in 0..SIZE {
            self.set(6, at, at % 2 == 0);
            self.set(at, 6, at % 2 == 0);
        }
        for (centre_x, centre_y) in [(3, 3), (SIZE - 4, 3), (3, SIZE - 4)] {
            for y in 0..SIZE {
                for x in 0..SIZE {
                    let distance = x.abs_diff(centre_x).max(y.abs_diff(centre_y));
                    if distance <= 4 {
                        self.set(x, y, distance != 2 && distance != 4);
                    }
                }
            }
        }
        for y in ALIGNMENT - 2..=ALIGNMENT + 2 {
            for x in ALIGNMENT - 2..=ALIGNMENT + 2 {
                self.set(x, y, x.abs_diff(ALIGNMENT).max(y.abs_diff(ALIGNMENT)) != 1);
            }
        }
    }

    /// Draws the format twice, and the module that is always dark.
    fn draw_format(&mut self) {
        let bit = |at: usize| (FORMAT >> at) & 1 == 1;
        for at in 0..6 {
            self.set(8, at, bit(at));
        }
        self.set(8, 7, bit(6));
        self.set(8, 8, bit(7));
        self.set(7, 8, bit(8));
        for at in 9..15 {
            self.set(14 - at, 8, bit(at));
        }
        for at in 0..8 {
            self.set(SIZE - 1 - at, 8, bit(at));
        }
        for at in 8..15 {
            self.set(8, SIZE - 15 + at, bit(at));
        }
        self.set(8, SIZE - 8, true);
    }

    /// Draws the bits in columns of two, upwards and downwards by turns, with mask 2.
    fn draw_bytes(&mut self, bytes: &[u8]) {
        let mut bits =
            bytes.iter().copied().flat_map(|byte| (0..8_u32).rev().map(move |at| (byte >> at) & 1));
        // Column 6 is a pattern, so the columns to its left move by one.
        let columns = (7..SIZE).rev().step_by(2).chain([5, 3, 1]);
        for (turn, right) in columns.enumerate() {
            for step in 0..SIZE {
                let y = if turn % 2 == 0 { SIZE - 1 - step } else { step };
                for x in [right, right - 1] {
                    if self.modules[y][x].is_none() {
                        let bit = bits.next().unwrap_or(0) == 1;
                        self.set(x, y, bit != (x % 3 == 0));
                    }
                }
            }
        }
    }
}

/// The bytes of the code: kind, length, text, filling, error correction.
fn codewords(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).expect("BUG: the text is too long for a code");
    let nibbles = |byte: u8| [byte >> 4, byte & 15];
    // 4 stands for bytes; 0 ends the text.
    let mut halves = vec![4_u8];
    halves.extend(nibbles(length));
    halves.extend(text.bytes().flat_map(nibbles));
    halves.push(0);
    let bytes = halves.chunks(2).map(|pair| (pair[0] << 4) | pair[1]);
    let mut data: Vec<u8> =
        bytes.chain([0xEC, 0x11].into_iter().cycle()).take(DATA_BYTES).collect();
    data.extend(correction(&data));
    data
}

/// The remainder of the division by the generator (Reed–Solomon over 256 elements).
fn correction(data: &[u8]) -> [u8; CORRECTION_BYTES] {
    let generator = generator();
    let mut remainder = [0_u8; CORRECTION_BYTES];
    for &byte in data {
        let factor = byte ^ remainder[0];
        remainder.rotate_left(1);
        remainder[CORRECTION_BYTES - 1] = 0;
        for (value, coefficient) in remainder.iter_mut().zip(generator) {
            *value ^= product(coefficient, factor);
        }
    }
    remainder
}

/// The coefficients of the generator below the highest power, from the highest on.
fn generator() -> [u8; CORRECTION_BYTES] {
    let mut coefficients = [0_u8; CORRECTION_BYTES];
    coefficients[CORRECTION_BYTES - 1] = 1;
    let mut root = 1_u8;
    for _ in 0..CORRECTION_BYTES {
        for at in 0..CORRECTION_BYTES {
            let next = coefficients.get(at + 1).copied().unwrap_or(0);
            coefficients[at] = product(coefficients[at], root) ^ next;
        }
        root = product(root, 2);
    }
    coefficients
}

/// The product in the field of 256 elements with the polynomial 0x11D.
fn product(left: u8, right: u8) -> u8 {
    (0..8_u32).rev().fold(0, |sum: u8, at| {
        let carry = if sum & 0x80 == 0 { 0 } else { 0x1D };
        let added = if (right >> at) & 1 == 0 { 0 } else { left };
        (sum << 1) ^ carry ^ added
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "https://t.me/anna_rouse_bot?start=abcdefghijklmnopqrst-_";

    /// The rows of the code of `LINK`, as another program draws and a reader decodes them.
    const ROWS: [u64; SIZE] = [
        0x1FC83F77F,
        0x105B0D541,
        0x174E54C5D,
        0x175A1A45D,
        0x1745EFE5D,
        0x1054FC041,
        0x1FD55557F,
        0x0001A0E00,
        0x1F7D6A7AA,
        0x08183FE47,
        0x1C5B01DFA,
        0x028E57B54,
        0x1F7A085B8,
        0x0925EFA43,
        0x1CE8F0802,
        0x04A593EA4,
        0x07D5586B2,
        0x1A243FC8B,
        0x1BC7390DA,
        0x190A758D4,
        0x15CA085B2,
        0x153DCFEEB,
        0x17F0E8C0A,
        0x1329B1B4C,
        0x1275781F9,
        0x00141371D,
        0x1FDB35F56,
        0x104246F14,
        0x1752385F1,
        0x1751D3BBB,
        0x1750E4B40,
        0x105982ECC,
        0x1FD5787D2,
    ];

    #[test]
    fn modules_equal_a_code_that_a_reader_decodes() {
        let code = PairingQr::new(LINK).expect("a short link");
        for (row, expected) in code.modules.iter().zip(ROWS) {
            let bits =
                row.iter().fold(0_u64, |bits, dark| (bits << 1) | u64::from(*dark == Some(true)));
            assert_eq!(format!("{bits:033b}"), format!("{expected:033b}"));
        }
        assert!(code.modules.iter().flatten().all(Option::is_some));
    }

    #[test]
    fn longest_link_fits_and_longer_text_does_not() {
        assert!(PairingQr::new(&"x".repeat(MAX_TEXT)).is_some());
        assert_eq!(PairingQr::new(&"x".repeat(MAX_TEXT + 1)), None);
    }

    #[test]
    fn terminal_code_has_a_light_border() {
        let shown = PairingQr::new(LINK).expect("a short link").terminal();
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 21);
        assert!(lines.iter().all(|line| line.chars().count() == SIZE + 2 * BORDER));
        assert_eq!(lines[0], "█".repeat(SIZE + 2 * BORDER));
        assert!(lines[2].starts_with("████ ▄▄▄▄▄ █"), "{}", lines[2]);
    }

    #[test]
    fn svg_draws_each_dark_module() {
        let code = PairingQr::new(LINK).expect("a short link");
        let dark = code.modules.iter().flatten().filter(|dark| **dark == Some(true)).count();
        let svg = code.svg();
        assert_eq!(svg.matches("h1v1h-1z").count(), dark);
        assert!(svg.starts_with("<svg ") && svg.contains("M4 4h1") && svg.ends_with("</svg>"));
    }
}
