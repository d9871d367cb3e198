//! Simulation of a pattern's NFA with every step counted.
//!
//! Owns the search: for each byte the set of live states, so the time is states times bytes, and a search without steps
//! left ends without a result. The library's own NFA searches cannot be aborted. Bytes at which no match can begin are
//! skipped in bulk.
//! Pitfall: beginning inside a character; an empty match would be found where the language has none.

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

/// Bytes skipped per step.
const BYTES_PER_STEP: usize = 16;
/// Steps for a word boundary, which reads the neighbouring characters.
const STEPS_PER_BOUNDARY: usize = 4;
/// Byte ranges tested per step.
const RANGES_PER_STEP: usize = 8;

/// The NFA of a pattern.
#[derive(Debug)]
pub(super) struct States {
    nfa: NFA,
    /// The bytes with which a match can begin; none for a pattern that matches the empty text.
    first_bytes: Option<Box<[bool; 256]>>,
}

impl States {
    pub(super) fn of(nfa: NFA) -> Self {
        Self { first_bytes: first_bytes(&nfa), nfa }
    }

    pub(super) fn len(&self) -> usize {
        self.nfa.states().len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.nfa.memory_usage() + size_of::<[bool; 256]>()
    }

    /// None when `left` steps do not suffice.
    pub(super) fn is_match(&self, text: &str, left: &mut usize) -> Option<bool> {
        let mut search =
            Simulation { nfa: &self.nfa, text: text.as_bytes(), todo: Vec::new(), left };
        let (mut here, mut next) = (StateSet::new(self.len()), StateSet::new(self.len()));
        let mut at = 0;
        loop {
            if here.states.is_empty()
                && !self.skip_to_candidate(text.as_bytes(), &mut at, search.left)?
            {
                return Some(false);
            }
            if text.is_char_boundary(at)
                && search.enter(self.nfa.start_anchored(), at, &mut here)?
            {
                return Some(true);
            }
            let Some(byte) = text.as_bytes().get(at) else { return Some(false) };
            for state in here.states.drain(..) {
                if let Some(then) = search.step(state, *byte)?
                    && search.enter(then, at + 1, &mut next)?
                {
                    return Some(true);
                }
            }
            here.clear();
            std::mem::swap(&mut here, &mut next);
            at += 1;
        }
    }

    /// Advances to the next byte with which a match can begin. False when there is none.
    fn skip_to_candidate(&self, text: &[u8], at: &mut usize, left: &mut usize) -> Option<bool> {
        let Some(first_bytes) = &self.first_bytes else { return Some(true) };
        let rest = text.get(*at..).unwrap_or_default();
        let next = rest.iter().position(|byte| first_bytes[usize::from(*byte)]);
        spend(left, next.unwrap_or(rest.len()) / BYTES_PER_STEP)?;
        *at += next.unwrap_or_default();
        Some(next.is_some())
    }
}

/// A set of states.
struct StateSet {
    /// States that consume a byte.
    states: Vec<StateID>,
    /// The round in which each state was last entered.
    entered: Vec<u32>,
    round: u32,
}

impl StateSet {
    fn new(states: usize) -> Self {
        Self { states: Vec::new(), entered: vec![0; states], round: 1 }
    }

    fn clear(&mut self) {
        self.states.clear();
        self.round += 1;
    }

    /// False when already in the set.
    fn insert(&mut self, state: StateID) -> bool {
        std::mem::replace(&mut self.entered[state.as_usize()], self.round) != self.round
    }
}

struct Simulation<'s> {
    nfa: &'s NFA,
    text: &'s [u8],
    todo: Vec<StateID>,
    left: &'s mut usize,
}

impl Simulation<'_> {
    /// Adds `first` and the epsilon closure. True with a match.
    fn enter(&mut self, first: StateID, at: usize, set: &mut StateSet) -> Option<bool> {
        self.todo.clear();
        self.todo.push(first);
        while let Some(id) = self.todo.pop() {
            spend(self.left, 1)?;
            if !set.insert(id) {
                continue;
            }
            match self.nfa.state(id) {
                State::Match { .. } => return Some(true),
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) => set.states.push(id),
                State::Look { look, next } => {
                    spend(self.left, STEPS_PER_BOUNDARY)?;
                    if self.nfa.look_matcher().matches(*look, self.text, at) {
                        self.todo.push(*next);
                    }
                }
                State::Union { alternates } => self.todo.extend(alternates.iter()),
                State::BinaryUnion { alt1, alt2 } => self.todo.extend([*alt1, *alt2]),
                State::Capture { next, .. } => self.todo.push(*next),
                State::Fail => {}
            }
        }
        Some(false)
    }

    /// The successor of a state for `byte`, if any.
    fn step(&mut self, state: StateID, byte: u8) -> Option<Option<StateID>> {
        let (ranges, then) = match self.nfa.state(state) {
            State::ByteRange { trans } => (1, trans.matches_byte(byte).then_some(trans.next)),
            State::Sparse(sparse) => (sparse.transitions.len(), sparse.matches_byte(byte)),
            State::Dense(dense) => (1, dense.matches_byte(byte)),
            _ => (0, None),
        };
        spend(self.left, 1 + ranges / RANGES_PER_STEP)?;
        Some(then)
    }
}

fn spend(left: &mut usize, steps: usize) -> Option<()> {
    match left.checked_sub(steps) {
        Some(rest) => *left = rest,
        None => {
            *left = 0;
            return None;
        }
    }
    Some(())
}

/// The bytes with which a match can begin, in any context.
fn first_bytes(nfa: &NFA) -> Option<Box<[bool; 256]>> {
    let mut entered = vec![false; nfa.states().len()];
    let mut todo = vec![nfa.start_anchored()];
    let mut bytes = Box::new([false; 256]);
    while let Some(id) = todo.pop() {
        if std::mem::replace(&mut entered[id.as_usize()], true) {
            continue;
        }
        match nfa.state(id) {
            State::Match { .. } => return None,
            State::ByteRange { trans } => mark(&mut bytes, |byte| trans.matches_byte(byte)),
            State::Sparse(sparse) => mark(&mut bytes, |byte| sparse.matches_byte(byte).is_some()),
            State::Dense(dense) => mark(&mut bytes, |byte| dense.matches_byte(byte).is_some()),
            State::Look { next, .. } | State::Capture { next, .. } => todo.push(*next),
            State::Union { alternates } => todo.extend(alternates.iter()),
            State::BinaryUnion { alt1, alt2 } => todo.extend([*alt1, *alt2]),
            State::Fail => {}
        }
    }
    Some(bytes)
}

fn mark(bytes: &mut [bool; 256], leads_on: impl Fn(u8) -> bool) {
    for (byte, marked) in (0..=u8::MAX).zip(bytes) {
        *marked |= leads_on(byte);
    }
}
