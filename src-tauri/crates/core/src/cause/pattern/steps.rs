//! Looking for a pattern state by state, with every step counted.
//!
//! The classic simulation: for each byte the set of states in which a match that is under way can be, so the time is
//! states times bytes, and a search that has used up its steps ends without an answer. The library has the states and the
//! rules of edges; its own searches of this kind cannot be stopped, and one whose cost is only estimated beforehand
//! refuses what people write. Where no match is under way, all bytes with which none can begin are passed over. One could
//! get it wrong by beginning inside of a character: an empty match would be found where the language has none.

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

/// How many bytes can be passed over for one step.
const PASSED_AT_ONCE: usize = 16;
/// To see whether a word begins or ends, the letters around are read.
const STEPS_OF_AN_EDGE: usize = 4;
/// How many ranges of bytes can be looked through for one step.
const RANGES_AT_ONCE: usize = 8;

/// The states of a pattern.
#[derive(Debug)]
pub(super) struct States {
    nfa: NFA,
    /// With which bytes a match can begin; none for a pattern that can be found without a byte.
    beginnings: Option<Box<[bool; 256]>>,
}

impl States {
    pub(super) fn of(nfa: NFA) -> Self {
        Self { beginnings: beginnings(&nfa), nfa }
    }

    pub(super) fn len(&self) -> usize {
        self.nfa.states().len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.nfa.memory_usage() + size_of::<[bool; 256]>()
    }

    /// None when there are not so many steps `left`.
    pub(super) fn are_found_in(&self, text: &str, left: &mut usize) -> Option<bool> {
        let mut search = Search { nfa: &self.nfa, text: text.as_bytes(), todo: Vec::new(), left };
        let (mut here, mut next) = (Set::new(self.len()), Set::new(self.len()));
        let mut at = 0;
        loop {
            if here.states.is_empty() && !self.pass_over(text.as_bytes(), &mut at, search.left)? {
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

    /// To the next byte with which a match can begin. False when there is none.
    fn pass_over(&self, text: &[u8], at: &mut usize, left: &mut usize) -> Option<bool> {
        let Some(beginnings) = &self.beginnings else { return Some(true) };
        let rest = text.get(*at..).unwrap_or_default();
        let next = rest.iter().position(|byte| beginnings[usize::from(*byte)]);
        spend(left, next.unwrap_or(rest.len()) / PASSED_AT_ONCE)?;
        *at += next.unwrap_or_default();
        Some(next.is_some())
    }
}

/// States, each once.
struct Set {
    /// Those that wait for a byte.
    states: Vec<StateID>,
    /// Which were entered in which round.
    entered: Vec<u32>,
    round: u32,
}

impl Set {
    fn new(states: usize) -> Self {
        Self { states: Vec::new(), entered: vec![0; states], round: 1 }
    }

    fn clear(&mut self) {
        self.states.clear();
        self.round += 1;
    }

    /// False for one that is in it already.
    fn insert(&mut self, state: StateID) -> bool {
        std::mem::replace(&mut self.entered[state.as_usize()], self.round) != self.round
    }
}

struct Search<'s> {
    nfa: &'s NFA,
    text: &'s [u8],
    todo: Vec<StateID>,
    left: &'s mut usize,
}

impl Search<'_> {
    /// Adds `first` and all that is reached from it without a byte. True when that is a match.
    fn enter(&mut self, first: StateID, at: usize, set: &mut Set) -> Option<bool> {
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
                    spend(self.left, STEPS_OF_AN_EDGE)?;
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

    /// Where `byte` leads from a state, if anywhere.
    fn step(&mut self, state: StateID, byte: u8) -> Option<Option<StateID>> {
        let (ranges, then) = match self.nfa.state(state) {
            State::ByteRange { trans } => (1, trans.matches_byte(byte).then_some(trans.next)),
            State::Sparse(sparse) => (sparse.transitions.len(), sparse.matches_byte(byte)),
            State::Dense(dense) => (1, dense.matches_byte(byte)),
            _ => (0, None),
        };
        spend(self.left, 1 + ranges / RANGES_AT_ONCE)?;
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

/// The bytes with which a match can begin, whatever stands around it.
fn beginnings(nfa: &NFA) -> Option<Box<[bool; 256]>> {
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
