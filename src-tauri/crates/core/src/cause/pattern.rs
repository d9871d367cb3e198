//! A pattern that is looked for in the texts of events.
//!
//! Every end of a run asks every listener, on the task that starts all jobs: a search must be cheap whatever the pattern
//! and whatever the text. So a pattern is made into a table when it is read, and is refused when that table would be
//! large; a search is one look at each byte then, and there is nothing to warm up. Only the edge of a word (`\b`) needs
//! more where the text has letters beyond ASCII: a table without the edges says first whether it can be there at all, and
//! what is left is searched slowly, as long as the effort for this event lasts. One could get it wrong by bounding the
//! pattern alone: thousands of states times 64 KB are seconds.

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::meta::Regex;
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Hir, HirKind, Look};

/// Most characters of a pattern.
const MOST_CHARACTERS: usize = 1_000;
/// How deep a pattern may be nested.
const MOST_LEVELS: u32 = 50;
/// Memory of a pattern that is read and not yet a table.
const MOST_READ_BYTES: usize = 1 << 20;
/// Memory of its table.
const MOST_TABLE_BYTES: usize = 1 << 20;
/// Memory that making the table takes besides; it bounds the time of it.
const MOST_WORK_BYTES: usize = 512 << 10;
/// States times bytes that all slow searches of one event may look at together.
const MOST_STEPS: usize = 3_000_000;
const TOO_LARGE: &str =
    "is too large once it is read: it has too many repetitions inside each other, or too long ones";
const TOO_SLOW: &str = "Looking for its pattern takes too long in such a text. Leave out the `\\b`, or write `(?-u:\\b)`.";

/// What the slow searches of one event may still cost.
#[derive(Debug, Clone)]
pub struct Effort(usize);

impl Default for Effort {
    fn default() -> Self {
        Self(MOST_STEPS)
    }
}

impl Effort {
    fn spend(&mut self, steps: usize) -> Result<(), String> {
        self.0 = self.0.checked_sub(steps).ok_or_else(|| TOO_SLOW.to_owned())?;
        Ok(())
    }
}

/// A pattern that can be looked for.
#[derive(Debug)]
pub struct Pattern {
    table: Table,
    /// For texts at which the table gives up.
    words: Option<Box<Words>>,
}

type Table = dense::DFA<Vec<u32>>;

/// A pattern with edges of words, for texts that are not ASCII.
#[derive(Debug)]
struct Words {
    /// Finds at least whatever the pattern finds.
    without_edges: Table,
    exact: Regex,
    states: usize,
}

impl Pattern {
    /// Reads a regular expression.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn compile(text: &str) -> Result<Self, String> {
        if text.chars().count() > MOST_CHARACTERS {
            return Err("must be at most 1,000 characters".to_owned());
        }
        let limits = syntax::Config::new().nest_limit(MOST_LEVELS);
        let read = syntax::parse_with(text, &limits).map_err(|error| said(&error.to_string()))?;
        let nfa = states_of(&read)?;
        let words = nfa.look_set_any().contains_word_unicode();
        let words = words.then(|| Words::of(&read, nfa.states().len())).transpose()?;
        Ok(Self { table: table_of(&nfa)?, words: words.map(Box::new) })
    }

    /// Whether it is found anywhere in `text`.
    ///
    /// # Errors
    /// Why that cannot be said, in words: the searches of this event have taken all their `effort`.
    pub fn is_found_in(&self, text: &str, effort: &mut Effort) -> Result<bool, String> {
        match (is_in(&self.table, text), &self.words) {
            (Some(is_found), _) => Ok(is_found),
            (None, Some(words)) => words.are_found_in(text, effort),
            (None, None) => Err(TOO_SLOW.to_owned()),
        }
    }
}

impl Words {
    fn of(read: &Hir, states: usize) -> Result<Self, String> {
        let without_edges = table_of(&states_of(&without_edges(read))?)?;
        let config = Regex::config().nfa_size_limit(Some(MOST_READ_BYTES)).hybrid(false);
        let exact = Regex::builder().configure(config).build_from_hir(read);
        Ok(Self { without_edges, exact: exact.map_err(|_| TOO_LARGE.to_owned())?, states })
    }

    fn are_found_in(&self, text: &str, effort: &mut Effort) -> Result<bool, String> {
        if is_in(&self.without_edges, text) == Some(false) {
            return Ok(false);
        }
        effort.spend(self.states.saturating_mul(text.len()))?;
        Ok(self.exact.is_match(text))
    }
}

/// The library draws the pattern with a mark below it; the last line says what is wrong.
fn said(drawn: &str) -> String {
    let said = drawn.lines().last().unwrap_or_default().trim();
    format!("is no regular expression: {}", said.trim_start_matches("error: "))
}

fn states_of(read: &Hir) -> Result<NFA, String> {
    let config = thompson::Config::new()
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(Some(MOST_READ_BYTES));
    thompson::Compiler::new()
        .configure(config)
        .build_from_hir(read)
        .map_err(|_| TOO_LARGE.to_owned())
}

fn table_of(nfa: &NFA) -> Result<Table, String> {
    let config = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .unicode_word_boundary(true)
        .dfa_size_limit(Some(MOST_TABLE_BYTES))
        .determinize_size_limit(Some(MOST_WORK_BYTES));
    let table = dense::Builder::new().configure(config).build_from_nfa(nfa);
    table.map_err(|_| TOO_LARGE.to_owned())
}

/// None when the text has a character at which the table gives up.
fn is_in(table: &Table, text: &str) -> Option<bool> {
    let input = Input::new(text).anchored(Anchored::No).earliest(true);
    // silent-ok: the caller has another way.
    table.try_search_fwd(&input).ok().map(|found| found.is_some())
}

/// The same without looking whether a word begins or ends.
fn without_edges(read: &Hir) -> Hir {
    match read.kind() {
        HirKind::Look(
            Look::WordUnicode
            | Look::WordUnicodeNegate
            | Look::WordStartUnicode
            | Look::WordEndUnicode
            | Look::WordStartHalfUnicode
            | Look::WordEndHalfUnicode,
        ) => Hir::empty(),
        HirKind::Repetition(repetition) => {
            Hir::repetition(repetition.with(without_edges(&repetition.sub)))
        }
        HirKind::Capture(capture) => without_edges(&capture.sub),
        HirKind::Concat(parts) => Hir::concat(parts.iter().map(without_edges).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.iter().map(without_edges).collect()),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => read.clone(),
    }
}
