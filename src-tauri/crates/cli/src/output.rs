//! Tables and times for a terminal.

use std::io::Write as _;

use chrono::TimeZone as _;
use comfy_table::{ContentArrangement, Table, presets};
use rouse_core::schedule::{Zone, format_duration};
use rouse_core::visible::visible;

/// Makes this command end with one line where its answer cannot be written (a full disk). Printing has no other way to say
/// so than to panic; who reads no further (`| head`) is no such case.
pub(crate) fn end_where_nothing_can_be_printed() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let why = panic.payload_as_str().and_then(|said| said.strip_prefix(UNPRINTED));
        let Some(why) = why else { return usual(panic) };
        // Where this cannot be written either, the exit code says it.
        let _ = writeln!(std::io::stderr(), "Cannot print the answer: {why}");
        std::process::exit(1);
    }));
}

/// How the words begin that a failed print panics with.
const UNPRINTED: &str = "failed printing to stdout: ";

/// A borderless table with `columns` as its head. Cells wrap where the terminal is too narrow for them.
pub(crate) fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(columns);
    table.set_content_arrangement(arrangement(table.width()));
    table
}

/// How cells are arranged on a terminal of `width` columns. 0 columns means that the width is unknown (a serial line, some
/// editors), and then nothing wraps.
const fn arrangement(width: Option<u16>) -> ContentArrangement {
    match width {
        Some(0) => ContentArrangement::Disabled,
        None | Some(_) => ContentArrangement::Dynamic,
    }
}

/// Whether the terminal reports a width of 0 columns.
pub(crate) fn is_width_unknown() -> bool {
    Table::new().width() == Some(0)
}

/// Columns of a terminal that whole ids leave room in.
const WIDE: u16 = 132;
/// Letters of an id that tell it from others.
const END: usize = 8;

/// Whether `table` goes to a terminal that is too narrow for whole ids.
pub(crate) fn is_narrow(table: &Table) -> bool {
    table.width().is_some_and(|width| (1..WIDE).contains(&width))
}

/// An id for a row of `table`: whole, or its end where there is no room, which names it as well.
pub(crate) fn id(table: &Table, id: &str) -> String {
    let count = id.chars().count();
    let from = if is_narrow(table) { count.saturating_sub(END) } else { 0 };
    id.chars().skip(from).collect()
}

/// Prints a table without trailing blanks.
pub(crate) fn print(table: &Table) {
    for line in table.lines() {
        anstream::println!("{}", line.trim_end());
    }
}

/// An instant in `zone`: `Mon 23 Nov 07:30`, with the year when it is not this one.
pub(crate) fn instant(at_ms: i64, now_ms: i64, zone: Zone) -> String {
    let at = |ms: i64| zone.timestamp_millis_opt(ms).single();
    let (Some(then), Some(now)) = (at(at_ms), at(now_ms)) else { return at_ms.to_string() };
    let same_year = then.format("%Y").to_string() == now.format("%Y").to_string();
    then.format(if same_year { "%a %-d %b %H:%M:%S" } else { "%a %-d %b %Y %H:%M:%S" }).to_string()
}

/// The same of something that follows `its` zone: in both, where it is another than `here`.
pub(crate) fn instant_in(at_ms: i64, now_ms: i64, here: Zone, its: Option<Zone>) -> String {
    let local = instant(at_ms, now_ms, here);
    let Some(its) = its.filter(|its| its.name() != here.name()) else { return local };
    let there = instant(at_ms, now_ms, its);
    // The day is said once where it is the same.
    let day = |text: &str| text.rsplit_once(' ').map(|(day, _)| day.to_owned());
    let time = there.rsplit_once(' ').filter(|_| day(&there) == day(&local));
    format!("{local} here, {} {}", time.map_or(&*there, |(_, time)| time), its.name())
}

/// How far away an instant is, to the nearest that matters: `in 2 h`, `3 min ago`.
pub(crate) fn relative(at_ms: i64, now_ms: i64) -> String {
    let distance = at_ms - now_ms;
    let rounded = match distance.abs() {
        0..1_000 => return "now".to_owned(),
        under if under < 60_000 => nearest(under, 1_000),
        under if under < 48 * 3_600_000 => nearest(under, 60_000),
        over => nearest(over, 86_400_000),
    };
    let words = format_duration(rounded);
    if distance > 0 { format!("in {words}") } else { format!("{words} ago") }
}

/// What was asked for two minutes ahead is two minutes away a moment later.
const fn nearest(span_ms: i64, unit_ms: i64) -> i64 {
    (span_ms + unit_ms / 2) / unit_ms * unit_ms
}

/// At most `most` characters of the first line, with all of them to be seen; what goes on ends in `…`.
pub(crate) fn short(text: &str, most: usize) -> String {
    let mut lines = text.trim().lines();
    let line = plain(&lines.next().unwrap_or_default().replace('\t', " "));
    let goes_on = lines.next().is_some();
    let count = line.chars().count() + usize::from(goes_on);
    if count <= most {
        return if goes_on { format!("{line}…") } else { line };
    }
    let cut: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", cut.trim_end())
}

/// Text from outside for a terminal: what could move the cursor, recolour, turn the reading direction or hide is shown by
/// its number, as `⟨U+202E⟩`. What was made so already stays as it is.
pub(crate) fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letter = [0; 4];
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            ' '..='~' | '\n' | '\t' | '⟨' => shown.push(character),
            other => shown.push_str(&visible(other.encode_utf8(&mut letter))),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_rounded_to_what_matters() {
        assert_eq!(relative(7_200_000, 0), "in 2 h");
        assert_eq!(relative(0, 185_000), "3 min ago");
        assert_eq!(relative(5_400, 0), "in 5 s");
        assert_eq!(relative(119_990, 0), "in 2 min");
        assert_eq!(relative(59_900, 0), "in 1 min");
        assert_eq!(relative(7_199_000, 0), "in 2 h");
        assert_eq!(relative(5 * 86_400_000 - 60_000, 0), "in 5 d");
    }

    #[test]
    fn what_follows_another_zone_is_told_in_both() {
        let monday = 1_795_415_400_000;
        let now = monday - 3_600_000;
        let zone = |name: &str| rouse_core::schedule::Zones::built_in(chrono_tz::UTC).zone(name);
        let told = |its: &str| instant_in(monday, now, Zone::UTC, zone(its));
        assert_eq!(told("UTC"), "Mon 23 Nov 06:30:00");
        assert_eq!(told("Europe/Berlin"), "Mon 23 Nov 06:30:00 here, 07:30:00 Europe/Berlin");
        assert_eq!(
            told("America/Los_Angeles"),
            "Mon 23 Nov 06:30:00 here, Sun 22 Nov 22:30:00 America/Los_Angeles"
        );
    }

    #[test]
    fn text_from_outside_cannot_steer_the_terminal() {
        assert_eq!(plain("a\u{1b}[31mb\r\nc"), "a⟨U+001B⟩[31mb\nc");
        assert_eq!(plain("\u{202e}cod\u{200b}"), "⟨U+202E⟩cod⟨U+200B⟩");
        assert_eq!(plain(&plain("a\u{202e}")), "a⟨U+202E⟩");
        assert_eq!(short("Grüße\u{2066}\tx", 40), "Grüße⟨U+2066⟩ x");
        assert_eq!(short("one\ntwo", 10), "one…");
        assert_eq!(short("one\ntwo", 3), "on…");
        assert_eq!(short("one\n", 3), "one");
        assert_eq!(short("abcdef", 4), "abc…");
    }
}
