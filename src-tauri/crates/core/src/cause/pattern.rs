//! A pattern that is looked for in the texts of events.
//!
//! Every end of a run asks every listener, on the task that starts all jobs: a search must be cheap whatever the pattern
//! and whatever the text. A small pattern is made into a table when it is read, and a search is one look at each byte
//! then. One whose table would be large (`a.{0,80}b`), and the edge of a word (`\b`) where the text has letters beyond
//! ASCII, are looked for state by state (`steps`), where each step is counted: the time is at most that of the pattern's
//! states times the text's bytes, and all searches of one event together never take more than their `Effort`. Who has
//! used up his part is told so; that is neither yes nor no. One could get it wrong by bounding the pattern alone:
//! thousands of states times 64 KB are seconds.

mod steps;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use steps::States;

/// Most characters of a pattern.
const MOST_CHARACTERS: usize = 1_000;
/// How deep a pattern may be nested.
const MOST_LEVELS: u32 = 50;
/// Memory of a pattern that is read and has no table.
pub const MOST_BYTES: usize = 2 << 20;
/// States beyond which no table is tried: it would nearly always be too large.
const MOST_TABLE_STATES: usize = 400;
/// Memory of a table.
const MOST_TABLE_BYTES: usize = 64 << 10;
/// Memory that making the table takes besides; it bounds the time of it.
const MOST_WORK_BYTES: usize = 64 << 10;
/// Steps that all searches of one event may take together. One takes a few billionths of a second.
const MOST_STEPS: usize = 4_000_000;
/// Steps of one search.
const MOST_STEPS_OF_ONE: usize = 2_000_000;
/// Bytes that all tables may look at for one event.
const MOST_LOOKS: usize = 64 << 20;
const TOO_SLOW: &str = "Looking for its pattern takes too long in such a text: it can begin and go on in too many ways. \
    Make its repetitions shorter.";
const USED_UP: &str = "Looking for all the patterns takes too long in such a text; this one was not looked for to the end.";

/// Why a pattern cannot be looked for. The words go on after "the pattern".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It is written wrongly.
    #[error("{0}")]
    Wrong(String),
    /// It takes more memory than it may.
    #[error(
        "is too large once it is read: it has too many repetitions inside each other, or too long ones"
    )]
    TooLarge,
}

/// What the searches of one event may still cost.
#[derive(Debug, Clone)]
pub struct Effort {
    steps: usize,
    looks: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self { steps: MOST_STEPS, looks: MOST_LOOKS }
    }
}

impl Effort {
    /// One search state by state, with the part of the steps that it may take.
    fn step(&mut self, search: impl FnOnce(&mut usize) -> Option<bool>) -> Result<bool, String> {
        let part = self.steps.min(MOST_STEPS_OF_ONE);
        let mut left = part;
        let found = search(&mut left);
        self.steps -= part - left;
        let why = if part < MOST_STEPS_OF_ONE { USED_UP } else { TOO_SLOW };
        found.ok_or_else(|| why.to_owned())
    }

    /// One search with a table.
    fn look(&mut self, bytes: usize) -> Result<(), String> {
        self.looks = self.looks.checked_sub(bytes).ok_or_else(|| USED_UP.to_owned())?;
        Ok(())
    }
}

/// A pattern that can be looked for.
#[derive(Debug)]
pub struct Pattern {
    table: Option<Table>,
    /// For texts at which the table gives up, or where there is none.
    states: Option<States>,
}

type Table = dense::DFA<Vec<u32>>;

impl Pattern {
    /// Reads a regular expression.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile(text: &str) -> Result<Self, PatternError> {
        Self::compile_within(text, MOST_BYTES)
    }

    /// The same in at most so many bytes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile_within(text: &str, most_bytes: usize) -> Result<Self, PatternError> {
        let nfa = read(text, most_bytes)?;
        let table = (nfa.states().len() <= MOST_TABLE_STATES).then(|| table_of(&nfa)).flatten();
        let gives_up = table.is_none() || nfa.look_set_any().contains_word_unicode();
        let states = gives_up.then(|| States::of(nfa));
        Ok(Self { table, states })
    }

    /// What is wrong with a regular expression, in words.
    #[must_use]
    pub fn complaint(text: &str) -> Option<String> {
        read(text, MOST_BYTES).err().map(|error| error.to_string())
    }

    /// What it takes of the memory, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let table = self.table.as_ref().map_or(0, Table::memory_usage);
        table + self.states.as_ref().map_or(0, States::bytes)
    }

    /// How many states a search may have to look at for each byte; none when it is one look.
    #[must_use]
    pub fn size(&self) -> usize {
        self.states.as_ref().filter(|_| self.table.is_none()).map_or(0, States::len)
    }

    /// Whether it is found anywhere in `text`.
    ///
    /// # Errors
    /// Why that cannot be said, in words: the search has taken its part of the `effort`, or all of it is used up.
    pub fn is_found_in(&self, text: &str, effort: &mut Effort) -> Result<bool, String> {
        if let Some(table) = &self.table {
            effort.look(text.len())?;
            if let Some(is_found) = is_in(table, text) {
                return Ok(is_found);
            }
        }
        let states = self.states.as_ref().ok_or_else(|| TOO_SLOW.to_owned())?;
        effort.step(|left| states.are_found_in(text, left))
    }
}

fn read(text: &str, most_bytes: usize) -> Result<NFA, PatternError> {
    if text.chars().count() > MOST_CHARACTERS {
        return Err(PatternError::Wrong("must be at most 1,000 characters".to_owned()));
    }
    let limits = syntax::Config::new().nest_limit(MOST_LEVELS);
    let read = syntax::parse_with(text, &limits).map_err(said)?;
    let config = thompson::Config::new()
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(Some(most_bytes.min(MOST_BYTES)));
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(&read);
    nfa.map_err(|_| PatternError::TooLarge)
}

/// The library draws the pattern with a mark below it; the last line says what is wrong.
fn said(error: impl std::error::Error) -> PatternError {
    let drawn = error.to_string();
    let said = drawn.lines().last().unwrap_or_default().trim();
    let said = said.trim_start_matches("error: ");
    PatternError::Wrong(format!("is no regular expression: {said}"))
}

/// None when it would be large.
fn table_of(nfa: &NFA) -> Option<Table> {
    let config = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .unicode_word_boundary(true)
        .dfa_size_limit(Some(MOST_TABLE_BYTES))
        .determinize_size_limit(Some(MOST_WORK_BYTES));
    // silent-ok: what has no table is looked for state by state.
    dense::Builder::new().configure(config).build_from_nfa(nfa).ok()
}

/// None when the text has a character at which the table gives up.
fn is_in(table: &Table, text: &str) -> Option<bool> {
    let input = Input::new(text).anchored(Anchored::No).earliest(true);
    // silent-ok: the caller has another way.
    table.try_search_fwd(&input).ok().map(|found| found.is_some())
}
