//! Text patterns of event triggers: matches, and bounds of the cost.

use proptest::prelude::*;
use rouse_core::UnixMs;
use rouse_core::cause::{Cause, Pattern, SearchBudget};

const NOW: UnixMs = UnixMs(1_767_225_600_000);

fn is_found(pattern: &str, text: &str) -> bool {
    let read = Pattern::compile(pattern).unwrap_or_else(|reason| panic!("{pattern} {reason}"));
    read.is_found_in(&Cause::wake(text, NOW).text, &mut SearchBudget::default())
        .expect("cheap enough")
}

#[test]
fn hostile_pattern_has_proportionate_cost() {
    // With backtracking these would take longer than the universe has been there.
    let text = "a".repeat(200_000);
    assert_eq!(Cause::wake(&text, NOW).text.len(), 64 << 10);
    for pattern in ["(a+)+$b", "(a|aa)+c", "(.*a){20}z", "^(([a-z])+.)+[A-Z]([a-z])+$"] {
        assert!(!is_found(pattern, &text), "{pattern}");
    }
    assert!(Pattern::compile(&"(".repeat(500)).is_err());
    assert!(Pattern::compile(&format!("{}a{}", "(".repeat(200), ")".repeat(200))).is_err());
}

#[test]
fn pattern_beyond_the_memory_bound_is_refused() {
    for pattern in [r"(?:\w{1,100}){1,9}z", "(?:.{0,400}){0,40}x", r"(?:\b\w{0,50}){0,40}x"] {
        let refusal = Pattern::compile(pattern).expect_err(pattern).to_string();
        assert!(refusal.contains("too large"), "{pattern}: {refusal}");
        assert_eq!(Pattern::complaint(pattern), Some(refusal));
    }
}

#[test]
fn search_that_could_take_seconds_is_aborted() {
    let text = Cause::wake(&"ab".repeat(50_000), NOW).text;
    for pattern in [
        "(?:[a-z]{0,50}){0,40}X",
        "(?:[a-z]{0,50}){0,40}(?:X|Y)Z",
        "(?:a|b)*a(?:a|b){900}c",
        r"[\s\S]{0,500}b[\s\S]{0,500}Q",
    ] {
        let read = Pattern::compile(pattern).expect(pattern);
        let refusal = read.is_found_in(&text, &mut SearchBudget::default()).expect_err(pattern);
        assert!(refusal.contains("too slow"), "{pattern}: {refusal}");
    }
}

#[test]
fn ten_thousand_dfa_searches_are_bounded() {
    let text = Cause::wake(&"ab ".repeat(50_000), NOW).text;
    let plain = Pattern::compile("invoice").expect("a pattern");
    let mut budget = SearchBudget::default();
    let answers: Vec<_> = (0..1_100).map(|_| plain.is_found_in(&text, &mut budget)).collect();
    assert!(answers[..1_000].iter().all(|answer| *answer == Ok(false)), "a thousand are usual");
    assert!(answers[1_099].is_err(), "over 64 MB in an event");
}

#[test]
fn large_ordinary_pattern_is_found() {
    let text = "Urgent: the plant is dry, ASAP please, and wait for a reply. Grüße, Zoë";
    for (pattern, found) in [
        (r"\b(plant|tree)\b.{0,80}\b(dry|ill)\b", true),
        (r"\b(plant|tree)\b.{0,80}\b(wet|red)\b", false),
        ("(?i)(urgent|asap).{0,40}(reply)", true),
        ("(urgent|asap).{0,40}(reply)", false),
        (r"(?i)\b(urgent|asap)\b.{0,200}\b(zoë|jörg)\b", true),
        (r"(?i)\b(urgent|asap)\b.{0,200}\b(zo|jörg)\b", false),
        (r"(?s)^.{0,300}Zoë$", true),
        (r"\w{1,20}: the (\w+\s){1,5}dry,", true),
        (r"[\s\S]{0,100}Grüße[\s\S]{6,500}$", false),
        ("(?:a|b)*a(?:a|b){30}", false),
    ] {
        assert_eq!(is_found(pattern, text), found, "{pattern}");
    }
}

#[test]
fn search_over_its_bound_is_an_error() {
    // Each place can be the beginning, and as many beginnings are under way as the pattern is long.
    let hostile = Pattern::compile("(?:a|b)*a(?:a|b){400}c").expect("a pattern");
    let cause = Cause::wake(&"ab".repeat(50_000), NOW);
    let mut budget = SearchBudget::default();
    let refusal = hostile.is_found_in(&cause.text, &mut budget).expect_err("too much");
    assert!(refusal.contains("too slow"), "{refusal}");
    // The others still have theirs.
    let ordinary = Pattern::compile("(urgent|asap).{0,40}(reply)").expect("a pattern");
    assert_eq!(ordinary.is_found_in("asap, I wait for a reply", &mut budget), Ok(true));
    assert_eq!(ordinary.is_found_in(&cause.text, &mut budget), Ok(false));
    let answers: Vec<_> = (0..20).map(|_| hostile.is_found_in(&cause.text, &mut budget)).collect();
    let refusal = answers[19].as_ref().expect_err("nothing is left");
    assert!(refusal.contains("patterns of all jobs"), "{refusal}");
    // A pattern with a table needs no steps.
    let plain = Pattern::compile("^abab").expect("a pattern");
    assert_eq!(plain.is_found_in(&cause.text, &mut budget), Ok(true));
}

#[test]
fn ordinary_large_pattern_searches_the_longest_text() {
    let text = "The quick brown fox jumps over urgent lazy dogs; Grüße. ".repeat(1_500);
    for (pattern, found) in [
        ("(urgent|asap).{0,40}(reply)", false),
        (r"(?i)\b(invoice|grüße)\b.{0,80}\b(fällig|overdue)\b", false),
        (r"(?i)\b(invoice|grüße)\b.{0,80}\b(the|overdue)\b", true),
        (r"\w{1,30}@\w{1,30}\.com", false),
    ] {
        assert_eq!(is_found(pattern, &text), found, "{pattern}");
    }
}

#[test]
fn common_patterns_are_found() {
    let text = "Übung um 7: Brötchen für Jörg, disk at 97 %, ERROR 42 from a.b@example.org\nbye";
    for (pattern, found) in [
        ("brot|br(ö|oe)tchen", false),
        ("(?i)brot|br(ö|oe)tchen", true),
        (r"\bÜbung\b", true),
        (r"\bbung\b", false),
        (r"(?i)\berror \d+\b", true),
        (r"^\w+ um \d:", true),
        (r"(?m)^bye$", true),
        (r"^bye$", false),
        (r"disk at (9[0-9]|100) ?%", true),
        (r"(?i)[a-z0-9.+-]+@[a-z0-9-]+\.[a-z]+", true),
        (r"https?://\S+", false),
        (r"(?s)Jörg.*bye", true),
        (r"Jörg.*bye", false),
        (r"\Brg\b", true),
        (r"\p{Lu}{5}", true),
        (r"(?i)\b(invoice|rechnung|facture)\b.*\b(due|fällig)\b", false),
        (r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z?\b", false),
        (r"\b(?:\d{1,3}\.){3}\d{1,3}\b", false),
        ("", true),
    ] {
        assert_eq!(is_found(pattern, text), found, "{pattern}");
    }
}

#[test]
fn searches_of_one_event_share_a_budget() {
    // Edges of words in a text that is not English are looked for in a slower way.
    let cause = Cause::wake(&"äx ".repeat(5_000), NOW);
    let pattern = Pattern::compile(r"(?:\p{Greek}|x)\B\bx|\bx\b").expect("a pattern");
    let mut budget = SearchBudget::default();
    let answers: Vec<_> = (0..300).map(|_| pattern.is_found_in(&cause.text, &mut budget)).collect();
    assert_eq!(answers.first(), Some(&Ok(false)));
    let refusal = answers.last().expect("an answer").as_ref().expect_err("too much");
    assert!(refusal.contains("too slow"), "{refusal}");
    // The others go on: theirs is a look at each byte.
    let plain = Pattern::compile("x ä").expect("a pattern");
    assert_eq!(plain.is_found_in(&cause.text, &mut budget), Ok(true));
}

proptest! {
    #[test]
    fn any_pattern_is_compiled_or_refused(pattern in any::<String>(), text in any::<String>()) {
        if let Ok(pattern) = Pattern::compile(&pattern) {
            prop_assert!(pattern.is_found_in(&text, &mut SearchBudget::default()).is_ok());
        }
    }

    #[test]
    fn literal_matches_exactly_where_it_occurs(text in "[a-c]{0,12}", part in "[a-c]{1,3}") {
        prop_assert_eq!(is_found(&part, &text), text.contains(&part));
    }

    #[test]
    fn pattern_without_a_table_matches_like_regex(
        pattern in r"(\^|\\b|)([a-cä]|\.|\\w|\[äb\]|\(a\|b\)|\\b|\\B|\(\?-u:\\B\)){0,4}[*+?]?.\{0,90\}([a-c]|\\b|){0,3}(\$|\\b|)",
        text in "[a-cäß .\n]{0,24}",
    ) {
        if let (Ok(ours), Ok(theirs)) = (Pattern::compile(&pattern), regex::Regex::new(&pattern)) {
            let found = ours.is_found_in(&text, &mut SearchBudget::default());
            prop_assert_eq!(found, Ok(theirs.is_match(&text)), "{} in {}", pattern, text);
        }
    }

    #[test]
    fn pattern_matches_like_regex(
        pattern in r"(\^|\\b|)([a-cä]|\.|\\w|\[äb\]|\(a\|b\)|\\b|\\B){0,5}[*+?]?(\$|\\b|)",
        text in "[a-cäß .]{0,14}",
    ) {
        if let (Ok(ours), Ok(theirs)) = (Pattern::compile(&pattern), regex::Regex::new(&pattern)) {
            let found = ours.is_found_in(&text, &mut SearchBudget::default());
            prop_assert_eq!(found, Ok(theirs.is_match(&text)), "{} in {}", pattern, text);
        }
    }
}
