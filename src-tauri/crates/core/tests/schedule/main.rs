//! The next-fire maths, seen from outside: named cases, words, and a brute-force oracle.

#![expect(clippy::unwrap_used, reason = "a test without input has failed")]

mod croner_comparison;
mod cases;
mod errors;
mod expander;
mod oracle;
mod patterns;
mod places;
mod generator;
mod words;
mod zone_files;
