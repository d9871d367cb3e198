//! Whether a text ends by asking somebody.
//!
//! Owns the marks that make a question of a sentence in many scripts, the words of a sentence that asks without one ("tell
//! me which one", "waiting for your decision"), and the phrases that may stand behind a question without answering it:
//! "let me know", "please confirm", "thanks". What else is behind a question counts as its answer, so that
//! a report may ask and answer itself; so do a table and a block of code. It refuses to judge what is asked. One could
//! get it wrong by the last character alone: behind the mark there may be a quote, a bracket, a smile or a thank-you.

/// Marks of a question.
const MARKS: &[char] = &[
    '?', '\u{37E}', '؟', '՞', '፧', '᥅', '‽', '⁇', '⁈', '⁉', '⳺', '⳻', '⸮', '꘏', '꛷', '︖', '﹖',
    '？', '❓', '❔',
];

/// What ends a sentence before a space, beside the marks of a question.
const ENDS: &[char] = &['.', '!', '…', '։', '۔', '।', '።', '។'];

/// What ends a sentence without a space behind it.
const WIDE_ENDS: &[char] = &['。', '！', '？', '｡', '．'];

/// How a clause begins that waits for an answer: English, German, French, Spanish, Italian, Portuguese, Dutch. A star
/// stands for any end of the word.
const CLOSINGS: &str = "\
    let me know, tell me, say yes, say so, say the word, say which, say go, just say, just answer, reply with, reply to, \
    reply yes, respond with, answer with, answer yes, please confirm, kindly confirm, confirm if, confirm whether, confirm that, \
    confirm and, confirm or, please advise, please reply, please respond, please answer, please clarify, please \
    specify, please decide, please choose, please pick, please select, please provide, please approve, get back to \
    me, waiting for you*, i am waiting for you*, i'm waiting for you*, i wait for you*, i will wait for you*, i'll \
    wait for you*, awaiting you*, i await you*, i am awaiting you*, i'm awaiting you*, i will await you*, looking \
    forward to you*, i look forward to you*, i need your, i will wait until you, i'll wait until you, it is up to \
    you, it's up to you, up to you, your call, your choice, thanks in advance, thanks for your, thank you in \
    advance, thank you for your, \
    sag mir, sagen sie mir, sag bescheid, gib mir bescheid, geben sie mir bescheid, lass mich wissen, lass es mich \
    wissen, lassen sie mich wissen, lassen sie es mich wissen, bitte bestätig*, bitte antwort*, bitte um, ich warte \
    auf deine*, ich warte auf ihre*, \
    dis-moi, dites-moi, fais-moi savoir, faites-moi savoir, veuillez confirmer, veuillez me, veuillez répondre, \
    merci de, j'attends votre, j'attends ta, \
    dime, dígame, avísame, avíseme, hazme saber, házmelo saber, confirma, confirme, por favor confirm*, espero tu, \
    espero su, \
    dimmi, mi dica, fammi sapere, mi faccia sapere, conferma, attendo, \
    diga-me, me diga, avise-me, me avise, por favor, aguardo, \
    laat het me weten, laat me weten, laat maar weten, graag bevestig*, ik wacht op je*, ik wacht op uw";

/// How a sentence of a few words begins that neither answers nor asks.
const COURTESIES: &str = "\
    thanks, thank you, many thanks, thx, cheers, i will wait, i'll wait, i am waiting, i'm waiting, waiting, \
    standing by, no rush, no hurry, take your time, confirm, best regards, kind regards, regards, danke, vielen \
    dank, merci, gracias, grazie, obrigado, obrigada, bedankt, dank je, dank u, спасибо, ευχαριστώ";

/// The most words of a courtesy.
const FEW: usize = 4;

/// What a sentence holds that waits for an answer, in scripts without spaces.
const UNSPACED: &str = "\
    教えてください, お知らせください, ご確認ください, ご返信ください, 返信してください, お願いします, お待ちして, ありがとう, \
    请告诉我, 请告知, 请确认, 请回复, 等待您, 谢谢";

/// Words before a phrase that make nothing else of it.
const FILLERS: &[&str] =
    &["please ", "just ", "and ", "or ", "so ", "then ", "ok ", "okay ", "if so ", "if not "];

/// What waits for the person: one of these, and then one of the verbs.
const UNTIL: &[&str] = &["once you ", "as soon as you ", "when you ", "after you ", "until you "];
const ANSWERED: &str = "\
    confirm, approve, decide, reply, respond, answer, tell me, let me know, say so, say yes";

/// How a clause begins that asks by itself when it goes on with one of `ASKED`.
const TELLING: &str = "\
    tell me, let me know, reply with, answer with, just say, please say, please specify, please clarify, please confirm, \
    please choose, please decide, please pick, please select, please advise";
const ASKED: &[&str] = &["which", "whether", "what", "who", "whom", "whose", "where", "how"];

/// Words of an offer, which no answer is waited for: "let me know what else you need".
const OFFERS: &[&str] = &["else", "further", "anything", "help", "think"];

/// Words between the two that are no object of their own.
const BETWEEN: &[&str] =
    &["me", "us", "please", "first", "exactly", "of", "on", "for", "with", "about", "to"];

/// How a clause begins that asks by itself when it goes on with one of `ANSWERS`.
const AWAITING: &str = "\
    waiting for your, waiting on your, i am waiting for your, i'm waiting for your, i wait for your, i will wait for your, \
    i'll wait for your, awaiting your, i await your, i am awaiting your, i'm awaiting your, i need your, i still need your";
const ANSWERS: &[&str] =
    &["decision", "answer", "confirmation", "approval", "reply", "choice", "go-ahead"];

/// Words before the answer that is awaited.
const KINDS: &[&str] = &["final", "explicit", "written"];

/// Whether the last thing said is a question, or a question and then nothing but a phrase that waits for the answer.
pub(super) fn ends_in_question(text: &str) -> bool {
    let text = unfenced(text.trim());
    let last_line = text.lines().next_back().unwrap_or_default().trim();
    if last_line.starts_with('|') || is_fence(last_line) {
        return false;
    }
    for sentence in sentences(text).into_iter().rev() {
        if asks(sentence) {
            return true;
        }
        let words = sentence.trim_matches(|character: char| !character.is_alphanumeric());
        let words = words.to_lowercase().replace('’', "'");
        if asks_unmarked(&words) {
            return true;
        }
        if !words.is_empty() && !waits(&words) {
            return false;
        }
    }
    false
}

/// Whether a sentence without a mark asks all the same: it wants to be told which, or waits for an answer.
fn asks_unmarked(sentence: &str) -> bool {
    let is_offer = sentence.split(|it: char| !it.is_alphanumeric()).any(|it| OFFERS.contains(&it));
    clauses(sentence).flat_map(with_fewer_fillers).any(|clause| {
        (!is_offer && goes_on(clause, TELLING, BETWEEN, ASKED))
            || goes_on(clause, AWAITING, KINDS, ANSWERS)
    })
}

/// Whether a clause begins with one of `phrases` and goes on, behind words `between`, with one of `words`.
fn goes_on(clause: &str, of: &'static str, between: &[&str], words: &[&str]) -> bool {
    phrases(of).filter(|phrase| begins(clause, phrase)).any(|phrase| {
        let rest = clause[phrase.len()..].split_whitespace();
        let mut rest = rest.skip_while(|word| between.contains(word));
        rest.next().is_some_and(|word| words.contains(&word))
    })
}

fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    sentence.split([',', ';', ':', '–', '—', '('])
}

/// A clause, and what is left of it without one filler after the other.
fn with_fewer_fillers(clause: &str) -> impl Iterator<Item = &str> {
    let clause = clause.trim_start_matches(|character: char| !character.is_alphanumeric());
    std::iter::successors(Some(clause), |clause| {
        let rest = FILLERS.iter().find_map(|filler| clause.strip_prefix(filler));
        rest.map(str::trim_start)
    })
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// What is inside, when the whole text is one block of code.
fn unfenced(text: &str) -> &str {
    let inside = || {
        let (first, rest) = text.split_once('\n')?;
        let (inside, last) = rest.rsplit_once('\n')?;
        let is_whole = is_fence(first) && is_fence(last) && !inside.lines().any(is_fence);
        is_whole.then_some(inside.trim())
    };
    inside().unwrap_or(text)
}

/// The sentences of a text, each with what stands behind its end. A line ends one, too.
fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut ended, mut is_apart) = (0, false, false);
    let mut before = ' ';
    for (at, character) in text.char_indices() {
        let begins = ended && is_apart && !character.is_whitespace();
        let begins =
            begins || (ended && WIDE_ENDS.contains(&before) && character.is_alphanumeric());
        if begins || character == '\n' {
            found.push(&text[start..at]);
            (start, ended, is_apart) = (at, false, false);
        }
        let is_greek_mark = character == ';' && is_greek(before);
        if is_end(character) || is_greek_mark {
            (ended, is_apart) = (true, false);
        }
        is_apart |= ended && character.is_whitespace();
        before = character;
    }
    found.push(&text[start..]);
    found
}

fn is_end(character: char) -> bool {
    [ENDS, WIDE_ENDS, MARKS].iter().any(|ends| ends.contains(&character)) && character != '՞'
}

const fn is_greek(character: char) -> bool {
    matches!(character, '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}')
}

/// Whether a mark of a question stands behind the last word. The Armenian one stands inside a word.
fn asks(sentence: &str) -> bool {
    let words = sentence.trim_end_matches(|character: char| !character.is_alphanumeric());
    let behind = &sentence[words.len()..];
    let is_greek = words.chars().next_back().is_some_and(is_greek);
    sentence.contains('՞') || behind.contains(MARKS) || (is_greek && behind.contains(';'))
}

/// Whether a sentence only waits for the answer to what was asked before it.
fn waits(sentence: &str) -> bool {
    clauses(sentence)
        .map(unfilled)
        .any(|clause| phrases(CLOSINGS).any(|phrase| begins(clause, phrase)))
        || is_courtesy(sentence)
        || phrases(UNSPACED).any(|phrase| sentence.contains(phrase))
        || UNTIL.iter().any(|until| {
            let mut rests = sentence.split(until).skip(1);
            rests.any(|rest| phrases(ANSWERED).any(|verb| rest.starts_with(verb)))
        })
}

fn is_courtesy(sentence: &str) -> bool {
    let words = sentence.split_whitespace().count();
    let is_reason = sentence.split_whitespace().nth(1) == Some("to");
    words <= FEW && !is_reason && phrases(COURTESIES).any(|phrase| begins(sentence, phrase))
}

/// A clause without the fillers before its phrase; `please` belongs to some phrases and stays where it makes one.
fn unfilled(clause: &str) -> &str {
    let mut clause = clause.trim_start_matches(|character: char| !character.is_alphanumeric());
    while !phrases(CLOSINGS).any(|phrase| begins(clause, phrase)) {
        let Some(rest) = FILLERS.iter().find_map(|filler| clause.strip_prefix(filler)) else {
            break;
        };
        clause = rest.trim_start();
    }
    clause
}

fn phrases(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split(", ")
}

fn begins(clause: &str, phrase: &str) -> bool {
    match phrase.strip_suffix('*') {
        Some(stem) => clause.starts_with(stem),
        None => clause
            .strip_prefix(phrase)
            .is_some_and(|rest| !rest.starts_with(|character: char| character.is_alphanumeric())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_one_whatever_stands_behind_its_mark() {
        for text in [
            "Shall I go on?",
            "Shall I **go on?**",
            "He asked (\"why?\")",
            "Which folder do you mean? 🙂",
            "Which folder do you mean?🙂👍🏽",
            "Which folder do you mean ❓",
            "Really?!",
            "Really ?! …",
            "[Shall I go on?]",
            "« On continue ? »",
            "„Soll ich weitermachen?“",
            "`Shall I go on?`",
            "```\nShall I go on?\n```",
            "> *Shall I go on?*\n\n---",
            "続けますか？",
            "「続けますか？」",
            "هل أتابع؟",
            "Να συνεχίσω;",
            "Να συνεχίσω\u{37E}",
            "Շարունակե՞մ։",
            "ልቀጥል፧",
            "¿Sigo adelante?",
            "Mails are read. Shall I answer them?",
        ] {
            assert!(ends_in_question(text), "{text}");
        }
    }

    #[test]
    fn a_phrase_that_waits_does_not_answer_a_question() {
        for text in [
            "Shall I delete the old files? Let me know.",
            "Shall I delete the old files?\n\nPlease let me know which ones, and I’ll go ahead!",
            "Should I send it? Please confirm.",
            "Should I send it? If so, just say yes.",
            "Should I send it? **Please advise.** 🙏",
            "Should I send it? (Reply with yes or no.)",
            "Should I send it? I'll send it as soon as you confirm.",
            "Should I send it? Waiting for your answer.",
            "Should I send it? I will wait. Thanks!",
            "Should I send it? I’ll wait for your go-ahead.",
            "Should I send it? Thank you for your help. Best regards",
            "Soll ich löschen? Bitte bestätige das. Danke!",
            "Je supprime ? Dites-moi. Merci !",
            "¿Lo borro? Por favor, confirma. Gracias.",
            "Cancello? Fammi sapere.",
            "Apago? Aguardo a sua resposta.",
            "Verwijderen? Laat het me weten.",
            "削除しますか？教えてください。",
            "要删除吗？请确认。谢谢！",
        ] {
            assert!(ends_in_question(text), "{text}");
        }
    }

    #[test]
    fn a_last_sentence_that_wants_to_be_told_is_a_question_without_a_mark() {
        for text in [
            "Please tell me which one I should delete.",
            "Two folders fit. Let me know which of them you mean.",
            "Let me know whether to go on.",
            "I found three. Please confirm which to keep, thanks.",
            "Please choose which account pays. Thanks!",
            "Before I go on, please tell me where it should lie.",
            "Just say how many.",
            "Waiting for your decision on whether to delete it.",
            "I'm waiting for your final approval.",
            "The mail is written. I need your confirmation before I send it.",
            "Awaiting your reply.",
        ] {
            assert!(ends_in_question(text), "{text}");
        }
        for text in [
            "Let me know if anything is missing.",
            "Let me know how I can help further.",
            "Let me know what you think.",
            "Open the settings.
5. Choose which folder it reads.",
            "Tell me if you want the old ones, too.",
            "The log can tell me which one it was.",
            "Waiting for your train took an hour.",
            "I need your patience.",
            "Confirmed which one it is.",
            "The tests confirm what was said.",
            "Please tell me which one. I took the second.",
            "They chose who pays.",
            "Waiting for the approval of the bank.",
        ] {
            assert!(!ends_in_question(text), "{text}");
        }
    }

    #[test]
    fn a_question_that_is_answered_is_none() {
        for text in [
            "Why? Because it rains.",
            "Any new mail? None today. Let me know if you want the old ones.",
            "Why is it fast? Thanks to the new index, it reads less.",
            "Who pays? Confirmation came from Ada.",
            "What came of it? Reply came on Monday.",
            "What is left? I will wait with the rest until tomorrow's run has come.",
            "Which one is best? Pick the second.",
            "Does it rain?\n\n- Monday: yes\n- Tuesday: no",
            "He asked \"why?\" and left.",
            "See https://example.org/search?q=a",
            "Is it done? 100 %",
            "| name | size |\n|---|---|\n| a | ? |",
            "The pattern:\n```\n^colou?\n```",
            "雨ですか？いいえ。",
            "Let me know if anything is missing.",
            "Thanks!",
            "All is well.",
            "🙂",
            "",
        ] {
            assert!(!ends_in_question(text), "{text}");
        }
    }
}
