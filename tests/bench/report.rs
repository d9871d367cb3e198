//! Figures beside what they have to hold.

use std::time::Duration;

/// The figures so far.
pub(crate) struct Report {
    rows: Vec<Row>,
}

struct Row {
    what: String,
    figure: String,
    hold: String,
    holds: Option<bool>,
}

impl Report {
    pub(crate) fn start() -> Self {
        println!("Measuring; this takes about a quarter of an hour.");
        Self { rows: Vec::new() }
    }

    /// A figure in milliseconds that must not exceed `hold`.
    pub(crate) fn millis(&mut self, what: &str, figure: f64, hold: f64) {
        self.at_most(what, figure, hold, "ms");
    }

    /// A figure in any unit that must not exceed `hold`.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, hold: f64, unit: &str) {
        let (shown, hold_shown) = (format!("{figure:.2} {unit}"), format!("≤ {hold} {unit}"));
        self.add(what, shown, hold_shown, Some(figure <= hold));
    }

    /// A figure in any unit that must reach `hold`.
    pub(crate) fn at_least(&mut self, what: &str, figure: f64, hold: f64, unit: &str) {
        let (shown, hold_shown) = (format!("{figure:.0} {unit}"), format!("≥ {hold} {unit}"));
        self.add(what, shown, hold_shown, Some(figure >= hold));
    }

    /// A figure to know, such as a floor.
    pub(crate) fn known(&mut self, what: &str, figure: f64, unit: &str) {
        self.note(what, format!("{figure:.2} {unit}"));
    }

    /// Something to know in words.
    pub(crate) fn note(&mut self, what: &str, figure: String) {
        self.add(what, figure, String::new(), None);
    }

    fn add(&mut self, what: &str, figure: String, hold: String, holds: Option<bool>) {
        println!("  {what}: {figure}");
        self.rows.push(Row { what: what.to_owned(), figure, hold, holds });
    }

    pub(crate) fn print(&self) {
        println!("\n| measure | figure | to hold | |\n|---|---|---|---|");
        for row in &self.rows {
            let mark = match row.holds {
                Some(true) => "holds",
                Some(false) => "DOES NOT HOLD",
                None => "",
            };
            println!("| {} | {} | {} | {mark} |", row.what, row.figure, row.hold);
        }
    }
}

/// The `share` quantile (0 to 1) of `samples`, which get sorted.
pub(crate) fn quantile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let index = ((samples.len() as f64 - 1.0) * share).round() as usize;
    samples.get(index).copied().unwrap_or(f64::NAN)
}

pub(crate) fn millis_of(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}
