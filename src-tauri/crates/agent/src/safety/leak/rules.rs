//! The shapes of secrets: the rules of `rules.toml`.
//!
//! Owns the matching. One pass over the text finds the keywords of all rules; the expression of a rule runs only around its
//! own keywords, within its reach. Expressions run in linear time and are compiled on first use: all two hundred at once
//! take longer than a start of Rouse. Pitfall: cutting the text around a keyword; a cut inside a word
//! looks like the end of the word.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Input, Span};
use serde::Deserialize;

use super::finding::LeakFinding;

/// Between a name and a value: the rest of the name, an operator and quotes, with or without escapes of JSON.
const BETWEEN: &str =
    r#"[ \t\w.-]{0,20}[\s'"\\]{0,4}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=\\]{0,6}"#;

/// The reach in bytes of an expression without a maximum length.
const MAX_REACH: usize = 16 << 10;

/// The distance in bytes of a keyword outside the expression.
const KEYWORD_DISTANCE: usize = 256;

/// The default minimum entropy of a value beside a name, in bits per byte.
const MIN_ENTROPY: f64 = 2.0;

/// The rules, parsed on first use.
pub(super) static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::read(include_str!("rules.toml")).expect("BUG: rules.toml is tested"));

/// All rules with their keywords.
pub(super) struct Rules {
    rules: Vec<LeakRule>,
    keywords: AhoCorasick,
    /// The rules of each keyword.
    of_keyword: Vec<Vec<usize>>,
}

/// The rules file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesFile {
    shaped: Vec<RuleEntry>,
    beside: Vec<RuleEntry>,
    own_shaped: Vec<RuleEntry>,
    own_beside: Vec<RuleEntry>,
}

/// An entry of the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleEntry {
    id: String,
    shape: Option<String>,
    name: Option<String>,
    value: Option<String>,
    keywords: Vec<String>,
    entropy: Option<f64>,
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    case: bool,
    #[serde(default)]
    likely: bool,
}

struct LeakRule {
    id: String,
    expression: String,
    allow: Vec<String>,
    entropy: f64,
    /// Whether a name beside the value is part of the rule. Then a value without digits counts as an ordinary word.
    is_beside: bool,
    certain: bool,
    /// Whether each keyword is a part of the expression.
    holds_its_keywords: bool,
    compiled: OnceLock<Compiled>,
}

struct Compiled {
    regex: Regex,
    allow: Vec<Regex>,
    reach: usize,
}

impl Rules {
    fn read(text: &str) -> Result<Self, String> {
        let file: RulesFile = toml::from_str(text).map_err(|error| error.to_string())?;
        let lines = [file.shaped, file.beside, file.own_shaped, file.own_beside];
        let mut rules = Vec::new();
        let mut of_word: HashMap<String, Vec<usize>> = HashMap::new();
        for line in lines.into_iter().flatten() {
            for keyword in &line.keywords {
                of_word.entry(keyword.clone()).or_default().push(rules.len());
            }
            rules.push(LeakRule::of(line)?);
        }
        let (words, of_keyword): (Vec<String>, Vec<Vec<usize>>) = of_word.into_iter().unzip();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            // The fastest kind, because the automaton reads every text.
            .kind(Some(AhoCorasickKind::DFA))
            .build(&words)
            .map_err(|error| error.to_string())?;
        Ok(Self { rules, keywords, of_keyword })
    }

    /// Adds the findings of all rules in `text`.
    pub(super) fn find(&self, text: &str, found: &mut Vec<LeakFinding>) {
        let mut places: HashMap<usize, Vec<Span>> = HashMap::new();
        for hit in self.keywords.find_overlapping_iter(text) {
            for rule in &self.of_keyword[hit.pattern().as_usize()] {
                let reach = self.rules[*rule].compiled().reach;
                let start = hit.start().saturating_sub(reach);
                let end = (hit.end() + reach).min(text.len());
                widen(places.entry(*rule).or_default(), Span { start, end });
            }
        }
        for (rule, spans) in places {
            for span in spans {
                self.rules[rule].find(text, span, found);
            }
        }
    }
}

/// Adds `span`, merged with a touching last span, so that no byte is read twice.
fn widen(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
        _ => spans.push(span),
    }
}

impl LeakRule {
    fn of(line: RuleEntry) -> Result<Self, String> {
        let is_beside = line.name.is_some();
        let expression = match (line.shape, line.name, line.value) {
            (Some(shape), None, None) => shape,
            (None, Some(name), Some(value)) if line.case => {
                format!(r"(?:(?i:{name})){BETWEEN}({value})(?:[^\w-]|$)")
            }
            (None, Some(name), Some(value)) => {
                format!(r"(?i)(?:{name}){BETWEEN}({value})(?:[^\w-]|$)")
            }
            _ => return Err(format!("{}: a shape, or a name and a value", line.id)),
        };
        Ok(Self {
            id: line.id,
            holds_its_keywords: line.keywords.iter().all(|word| is_in(word, &expression)),
            expression,
            allow: line.allow,
            entropy: line.entropy.unwrap_or(if is_beside { MIN_ENTROPY } else { 0.0 }),
            is_beside,
            certain: !line.likely && !is_beside,
            compiled: OnceLock::new(),
        })
    }

    fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| Compiled {
            regex: regex(&self.expression).expect("BUG: every rule is tested"),
            allow: self
                .allow
                .iter()
                .map(|allow| regex(allow).expect("BUG: every rule is tested"))
                .collect(),
            reach: reach(&self.expression)
                + if self.holds_its_keywords { 0 } else { KEYWORD_DISTANCE },
        })
    }

    fn find(&self, text: &str, span: Span, found: &mut Vec<LeakFinding>) {
        let compiled = self.compiled();
        let mut captures = compiled.regex.create_captures();
        let mut input = Input::new(text).span(span);
        loop {
            compiled.regex.captures(input.clone(), &mut captures);
            let Some(whole) = captures.get_match() else { return };
            let groups = captures.group_len();
            let secret = (1..groups).find_map(|group| captures.get_group(group));
            let secret = secret.unwrap_or_else(|| whole.span());
            if self.is_secret(compiled, &text.as_bytes()[secret.range()]) {
                let at =
                    text.floor_char_boundary(secret.start)..text.ceil_char_boundary(secret.end);
                found.push(LeakFinding { what: self.id.clone(), certain: self.certain, at });
            }
            // Not after the whole match: the last byte may be the first of the next match.
            let next = secret.end.max(whole.start() + 1);
            if next > span.end {
                return;
            }
            input.set_start(next);
        }
    }

    fn is_secret(&self, compiled: &Compiled, secret: &[u8]) -> bool {
        let is_word = self.is_beside && !secret.iter().any(u8::is_ascii_digit);
        !is_word
            && entropy(secret) > self.entropy
            && !is_placeholder(secret)
            && !compiled.allow.iter().any(|allow| allow.is_match(secret))
    }
}

/// Whether the value is the alphabet or mostly a single letter, as in examples.
fn is_placeholder(secret: &[u8]) -> bool {
    let lower = secret.to_ascii_lowercase();
    lower.windows(26).any(|part| part == b"abcdefghijklmnopqrstuvwxyz")
        || secret.chunk_by(|one, next| one == next).any(|run| run.len() * 2 > secret.len())
}

/// Whether `expression` holds `word` literally.
fn is_in(word: &str, expression: &str) -> bool {
    expression.to_ascii_lowercase().replace('\\', "").contains(word)
}

fn config() -> syntax::Config {
    syntax::Config::new().unicode(false).utf8(false)
}

fn regex(expression: &str) -> Result<Regex, String> {
    Regex::builder()
        .configure(Regex::config().utf8_empty(false))
        .syntax(config())
        .build(expression)
        .map_err(|error| error.to_string())
}

/// The most bytes that the expression can match.
fn reach(expression: &str) -> usize {
    let parsed = syntax::parse_with(expression, &config());
    let longest = parsed.ok().and_then(|parsed| parsed.properties().maximum_len());
    longest.unwrap_or(MAX_REACH).min(MAX_REACH)
}

/// The entropy in bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let size = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    let bits = |count: u32| {
        let share = f64::from(count) / size;
        -share * share.log2()
    };
    counts.into_iter().filter(|count| *count > 0).map(bits).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::safety::leak::{StoredValues, find};
    use crate::safety::redaction::redacted;

    #[derive(Deserialize)]
    struct Samples {
        samples: Vec<Sample>,
    }

    #[derive(Deserialize)]
    struct Sample {
        id: String,
        found: Vec<String>,
        left: Vec<String>,
    }

    fn samples() -> Vec<Sample> {
        toml::from_str::<Samples>(include_str!("samples.toml")).expect("samples").samples
    }

    fn names(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        RULES.find(text, &mut found);
        found.into_iter().map(|finding| finding.what).collect()
    }

    /// The parts that a `·` holds apart, together again.
    fn whole(sample: &str) -> String {
        sample.replace('·', "")
    }

    #[test]
    fn every_rule_has_a_name_of_its_own_and_samples() {
        let rules: BTreeSet<&str> = RULES.rules.iter().map(|rule| rule.id.as_str()).collect();
        assert_eq!(rules.len(), RULES.rules.len(), "a name stands twice");
        let sampled: Vec<Sample> = samples();
        let sampled: BTreeSet<&str> = sampled.iter().map(|sample| sample.id.as_str()).collect();
        assert_eq!(rules, sampled);
        assert!(rules.len() >= 200, "{}", rules.len());
    }

    #[test]
    fn every_expression_compiles() {
        for rule in &RULES.rules {
            for expression in rule.allow.iter().chain([&rule.expression]) {
                assert_eq!(regex(expression).err(), None, "{}", rule.id);
            }
        }
    }

    #[test]
    fn every_rule_finds_its_samples_and_leaves_the_others() {
        for sample in samples() {
            for found in &sample.found {
                let text = whole(found);
                assert!(names(&text).contains(&sample.id), "{}: {text}", sample.id);
            }
            for left in &sample.left {
                assert!(!names(left).contains(&sample.id), "{}: {left}", sample.id);
            }
        }
    }

    #[test]
    fn redaction_leaves_no_part_of_the_secret() {
        let nothing = StoredValues::new(std::iter::empty());
        for sample in samples() {
            for found in &sample.found {
                let text = whole(found);
                let told = redacted(&text, &find(&text, &nothing)).expect("found");
                let (first, second) = found.split_once('·').expect("a broken sample");
                let near: [String; 2] = [
                    first.chars().skip(first.chars().count().saturating_sub(8)).collect(),
                    second.chars().take(8).collect(),
                ];
                for near in near {
                    assert!(!told.contains(&near), "{}: {told}", sample.id);
                }
            }
        }
    }

    #[test]
    fn samples_are_found_within_json_and_addresses_and_pages() {
        let nothing = StoredValues::new(std::iter::empty());
        for sample in samples() {
            let text = whole(&sample.found[0]);
            let json = serde_json::json!({"content": format!("first\n{text}\nlast")}).to_string();
            assert!(!find(&json, &nothing).is_empty(), "{}: {json}", sample.id);
        }
    }
}
