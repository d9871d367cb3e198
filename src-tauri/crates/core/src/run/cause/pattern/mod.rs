//! Text patterns of event triggers: regular expressions with a bounded cost.
//!
//! Owns the bounds. Every finished run searches every listener's pattern on the task that starts all jobs, so a search
//! must be cheap for any pattern and any text. A small pattern compiles to a DFA: a lookup per byte. A pattern with a
//! large DFA (`a.{0,80}b`), or a word boundary in non-ASCII text, is simulated state by state (`steps`) with every step
//! counted. All searches of an event share a [`SearchBudget`]; an exhausted budget is an error, neither match nor
//! mismatch.
//! Pitfall: bounding the pattern alone; thousands of states times 64 KB take seconds.

mod steps;

use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input};

use steps::States;

/// The maximum characters of a pattern.
const MOST_CHARACTERS: usize = 1_000;
/// The maximum nesting of a pattern.
const MOST_LEVELS: u32 = 50;
/// The maximum memory of a compiled NFA.
pub const MOST_BYTES: usize = 2 << 20;
/// The maximum NFA states for which a DFA is tried; beyond, the DFA is nearly always too large.
const MOST_TABLE_STATES: usize = 400;
/// The maximum memory of a DFA.
const MOST_TABLE_BYTES: usize = 64 << 10;
/// The maximum working memory of determinisation; bounds the time.
const MOST_WORK_BYTES: usize = 64 << 10;
/// The maximum steps of all searches of an event. A step takes a few nanoseconds.
const MOST_STEPS: usize = 4_000_000;
/// The maximum steps of a search.
const MOST_STEPS_OF_ONE: usize = 2_000_000;
/// The maximum bytes that DFAs scan for an event.
const MOST_SCANNED_BYTES: usize = 64 << 20;
const TOO_SLOW: &str = "The pattern is too slow for this text: it can match in too many ways. \
    Shorten the repetitions.";
const USED_UP: &str =
    "The patterns of all jobs are too slow for this text; the search for this pattern was aborted.";

/// Why a pattern is invalid. The message continues "the pattern".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// A syntax error.
    #[error("{0}")]
    Wrong(String),
    /// Over the memory bound.
    #[error("is too large when compiled: too many nested repetitions, or too long repetitions")]
    TooLarge,
}

/// The remaining cost of the searches of an event.
#[derive(Debug, Clone)]
pub struct SearchBudget {
    steps: usize,
    scanned_bytes: usize,
}

impl Default for SearchBudget {
    fn default() -> Self {
        Self { steps: MOST_STEPS, scanned_bytes: MOST_SCANNED_BYTES }
    }
}

impl SearchBudget {
    /// Runs a simulated search with a share of the steps.
    fn run_simulation(
        &mut self,
        search: impl FnOnce(&mut usize) -> Option<bool>,
    ) -> Result<bool, String> {
        let part = self.steps.min(MOST_STEPS_OF_ONE);
        let mut left = part;
        let found = search(&mut left);
        self.steps -= part - left;
        let why = if part < MOST_STEPS_OF_ONE { USED_UP } else { TOO_SLOW };
        found.ok_or_else(|| why.to_owned())
    }

    /// Accounts for a DFA search.
    fn charge_scan(&mut self, bytes: usize) -> Result<(), String> {
        self.scanned_bytes =
            self.scanned_bytes.checked_sub(bytes).ok_or_else(|| USED_UP.to_owned())?;
        Ok(())
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    dfa: Option<Dfa>,
    /// For texts that the DFA cannot search, or without a DFA.
    states: Option<States>,
}

type Dfa = dense::DFA<Vec<u32>>;

impl Pattern {
    /// Compiles a regular expression.
    ///
    /// # Errors
    /// The syntax error, or the exceeded bound.
    pub fn compile(text: &str) -> Result<Self, PatternError> {
        Self::compile_within(text, MOST_BYTES)
    }

    /// Compiles within `most_bytes`.
    ///
    /// # Errors
    /// The syntax error, or the exceeded bound.
    pub fn compile_within(text: &str, most_bytes: usize) -> Result<Self, PatternError> {
        let nfa = read(text, most_bytes)?;
        let dfa = (nfa.states().len() <= MOST_TABLE_STATES).then(|| compile_dfa(&nfa)).flatten();
        let gives_up = dfa.is_none() || nfa.look_set_any().contains_word_unicode();
        let states = gives_up.then(|| States::of(nfa));
        Ok(Self { dfa, states })
    }

    /// The message about an invalid regular expression; none when valid.
    #[must_use]
    pub fn complaint(text: &str) -> Option<String> {
        read(text, MOST_BYTES).err().map(|error| error.to_string())
    }

    /// The approximate memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let table = self.dfa.as_ref().map_or(0, Dfa::memory_usage);
        table + self.states.as_ref().map_or(0, States::bytes)
    }

    /// The states that a search may visit per byte; zero with a DFA.
    #[must_use]
    pub fn size(&self) -> usize {
        self.states.as_ref().filter(|_| self.dfa.is_none()).map_or(0, States::len)
    }

    /// Whether the pattern matches anywhere in `text`.
    ///
    /// # Errors
    /// Why the search was aborted: the share of the budget, or the whole budget, is used up.
    pub fn is_found_in(&self, text: &str, budget: &mut SearchBudget) -> Result<bool, String> {
        if let Some(table) = &self.dfa {
            budget.charge_scan(text.len())?;
            if let Some(is_found) = search_dfa(table, text) {
                return Ok(is_found);
            }
        }
        let states = self.states.as_ref().ok_or_else(|| TOO_SLOW.to_owned())?;
        budget.run_simulation(|left| states.is_match(text, left))
    }
}

fn read(text: &str, most_bytes: usize) -> Result<NFA, PatternError> {
    if text.chars().count() > MOST_CHARACTERS {
        return Err(PatternError::Wrong("must be at most 1,000 characters".to_owned()));
    }
    let limits = syntax::Config::new().nest_limit(MOST_LEVELS);
    let read = syntax::parse_with(text, &limits).map_err(syntax_error)?;
    let config = thompson::Config::new()
        .which_captures(WhichCaptures::None)
        .nfa_size_limit(Some(most_bytes.min(MOST_BYTES)));
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(&read);
    nfa.map_err(|_| PatternError::TooLarge)
}

/// The library's message draws the pattern with a marker; the last line is the message itself.
fn syntax_error(error: impl std::error::Error) -> PatternError {
    let drawn = error.to_string();
    let message = drawn.lines().last().unwrap_or_default().trim();
    let message = message.trim_start_matches("error: ");
    PatternError::Wrong(format!("is no regular expression: {message}"))
}

/// None when the DFA would be too large.
fn compile_dfa(nfa: &NFA) -> Option<Dfa> {
    let config = dense::Config::new()
        .start_kind(StartKind::Unanchored)
        .unicode_word_boundary(true)
        .dfa_size_limit(Some(MOST_TABLE_BYTES))
        .determinize_size_limit(Some(MOST_WORK_BYTES));
    // silent-ok: without a DFA the pattern is simulated.
    dense::Builder::new().configure(config).build_from_nfa(nfa).ok()
}

/// None when the text holds a character that the DFA cannot handle.
fn search_dfa(table: &Dfa, text: &str) -> Option<bool> {
    let input = Input::new(text).anchored(Anchored::No).earliest(true);
    // silent-ok: the caller falls back to the simulation.
    table.try_search_fwd(&input).ok().map(|found| found.is_some())
}
