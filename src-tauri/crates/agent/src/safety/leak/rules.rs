//! What secrets look like: the rules of `rules.toml`.
//!
//! Owns how a rule is read and when it is looked at: one pass over the text finds the keywords of all rules, and a rule's
//! expression runs only around its own, as far as it can reach. Expressions run in linear time and are compiled when they
//! are first needed: all two hundred at once would take longer than a start of Rouse. One could get it wrong by cutting
//! the text around a keyword: an expression would take the cut for the end of a word.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex_automata::meta::Regex;
use regex_automata::util::syntax;
use regex_automata::{Input, Span};
use serde::Deserialize;

use super::Finding;
use super::view::View;

/// What stands between a name and its value: the rest of the name, a sign and quotes, also where JSON escapes them.
const BETWEEN: &str =
    r#"[ \t\w.-]{0,20}[\s'"\\]{0,4}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=\\]{0,6}"#;

/// How far a rule may reach that has no bound of its own.
const FARTHEST: usize = 16 << 10;

/// A keyword that is no part of the secret may stand so far from it.
const NEAR: usize = 256;

/// Bits for each byte that a value beside a name has at least, where its rule says nothing.
const DULLEST: f64 = 2.0;

/// The rules, read when a text is looked at for the first time.
pub(super) static RULES: LazyLock<Rules> =
    LazyLock::new(|| Rules::read(include_str!("rules.toml")).expect("BUG: rules.toml is tested"));

/// All rules, and where to look at which.
pub(super) struct Rules {
    rules: Vec<Rule>,
    keywords: AhoCorasick,
    /// The rules of each keyword.
    of_keyword: Vec<Vec<usize>>,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    shaped: Vec<Line>,
    beside: Vec<Line>,
    own_shaped: Vec<Line>,
    own_beside: Vec<Line>,
}

/// A line of it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
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

struct Rule {
    id: String,
    expression: String,
    allow: Vec<String>,
    entropy: f64,
    /// Whether the value is told by the name beside it, so that a word may stand there.
    is_beside: bool,
    certain: bool,
    /// Whether a keyword is always a part of what the expression matches.
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
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        let lines = [file.shaped, file.beside, file.own_shaped, file.own_beside];
        let mut rules = Vec::new();
        let mut of_word: HashMap<String, Vec<usize>> = HashMap::new();
        for line in lines.into_iter().flatten() {
            for keyword in &line.keywords {
                of_word.entry(keyword.clone()).or_default().push(rules.len());
            }
            rules.push(Rule::of(line)?);
        }
        let (words, of_keyword): (Vec<String>, Vec<Vec<usize>>) = of_word.into_iter().unzip();
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            // Every text is read by it, byte for byte.
            .kind(Some(AhoCorasickKind::DFA))
            .build(&words)
            .map_err(|error| error.to_string())?;
        Ok(Self { rules, keywords, of_keyword })
    }

    /// Adds what the rules find in `view`.
    pub(super) fn find(&self, view: &View<'_>, found: &mut Vec<Finding>) {
        let mut places: HashMap<usize, Vec<Span>> = HashMap::new();
        for hit in self.keywords.find_overlapping_iter(view.bytes()) {
            for rule in &self.of_keyword[hit.pattern().as_usize()] {
                let reach = self.rules[*rule].compiled().reach;
                let start = hit.start().saturating_sub(reach);
                let end = (hit.end() + reach).min(view.bytes().len());
                widen(places.entry(*rule).or_default(), Span { start, end });
            }
        }
        for (rule, spans) in places {
            for span in spans {
                self.rules[rule].find(view, span, found);
            }
        }
    }
}

/// Adds `span`, as a part of the last one where they touch, so that no byte is read twice.
fn widen(spans: &mut Vec<Span>, span: Span) {
    match spans.last_mut() {
        Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
        _ => spans.push(span),
    }
}

impl Rule {
    fn of(line: Line) -> Result<Self, String> {
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
            entropy: line.entropy.unwrap_or(if is_beside { DULLEST } else { 0.0 }),
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
            reach: reach(&self.expression) + if self.holds_its_keywords { 0 } else { NEAR },
        })
    }

    fn find(&self, view: &View<'_>, span: Span, found: &mut Vec<Finding>) {
        let compiled = self.compiled();
        let mut captures = compiled.regex.create_captures();
        let mut input = Input::new(view.bytes()).span(span);
        loop {
            compiled.regex.captures(input.clone(), &mut captures);
            let Some(whole) = captures.get_match() else { return };
            let groups = captures.group_len();
            let secret = (1..groups).find_map(|group| captures.get_group(group));
            let secret = secret.unwrap_or_else(|| whole.span());
            if self.is_secret(compiled, &view.bytes()[secret.range()]) {
                let at = view.in_text(secret.range());
                found.push(Finding { what: self.id.clone(), certain: self.certain, at });
            }
            // Not behind the whole match: its last byte may be the first of the next one.
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

/// The alphabet, and mostly one letter, are what people write where a secret would stand.
fn is_placeholder(secret: &[u8]) -> bool {
    let lower = secret.to_ascii_lowercase();
    lower.windows(26).any(|part| part == b"abcdefghijklmnopqrstuvwxyz")
        || secret.chunk_by(|one, next| one == next).any(|run| run.len() * 2 > secret.len())
}

/// Whether `expression` spells `word` out.
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

/// How many bytes the expression can match.
fn reach(expression: &str) -> usize {
    let parsed = syntax::parse_with(expression, &config());
    let longest = parsed.ok().and_then(|parsed| parsed.properties().maximum_len());
    longest.unwrap_or(FARTHEST).min(FARTHEST)
}

/// Bits for each byte.
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
    use crate::safety::leak::known::Known;
    use crate::safety::leak::{find, redacted};

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
        RULES.find(&View::of(text), &mut found);
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
    fn what_is_redacted_holds_no_half_of_the_secret() {
        let nothing = Known::new(std::iter::empty());
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
        let nothing = Known::new(std::iter::empty());
        for sample in samples() {
            let text = whole(&sample.found[0]);
            let json = serde_json::json!({"content": format!("first\n{text}\nlast")}).to_string();
            assert!(!find(&json, &nothing).is_empty(), "{}: {json}", sample.id);
        }
    }
}
