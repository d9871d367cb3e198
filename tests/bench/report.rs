//! The report: figures with their goals.

use std::time::Duration;

/// The figures so far, and the number of jobs in measurements of many jobs.
pub(crate) struct Report {
    rows: Vec<ReportRow>,
    job_count: usize,
}

/// The everyday number of jobs.
const JOB_COUNT: usize = 1_000;
/// The number of jobs with `--large`.
const LARGE_JOB_COUNT: usize = 10_000;

struct ReportRow {
    label: String,
    figure: String,
    goal: String,
    is_met: Option<bool>,
}

impl Report {
    pub(crate) fn start(is_large: bool) -> Self {
        println!("Measuring; this takes about a quarter of an hour.");
        let job_count = if is_large { LARGE_JOB_COUNT } else { JOB_COUNT };
        Self { rows: Vec::new(), job_count }
    }

    pub(crate) const fn job_count(&self) -> usize {
        self.job_count
    }

    /// The goal for the measured number of jobs.
    pub(crate) const fn goal_for_jobs(&self, everyday: f64, large: f64) -> f64 {
        if self.job_count == LARGE_JOB_COUNT { large } else { everyday }
    }

    /// Adds a figure in milliseconds with an upper limit.
    pub(crate) fn millis(&mut self, label: &str, figure: f64, goal: f64) {
        self.at_most(label, figure, goal, "ms");
    }

    /// Adds a figure with an upper limit.
    pub(crate) fn at_most(&mut self, label: &str, figure: f64, goal: f64, unit: &str) {
        let (figure_text, goal_text) = (format!("{figure:.2} {unit}"), format!("≤ {goal} {unit}"));
        self.add(label, figure_text, goal_text, Some(figure <= goal));
    }

    /// Adds a figure with a lower limit.
    pub(crate) fn at_least(&mut self, label: &str, figure: f64, goal: f64, unit: &str) {
        let (figure_text, goal_text) = (format!("{figure:.0} {unit}"), format!("≥ {goal} {unit}"));
        self.add(label, figure_text, goal_text, Some(figure >= goal));
    }

    /// Adds a figure without a goal, such as a baseline.
    pub(crate) fn info(&mut self, label: &str, figure: f64, unit: &str) {
        self.note(label, format!("{figure:.2} {unit}"));
    }

    /// Adds a text without a goal.
    pub(crate) fn note(&mut self, label: &str, figure: String) {
        self.add(label, figure, String::new(), None);
    }

    fn add(&mut self, label: &str, figure: String, goal: String, is_met: Option<bool>) {
        println!("  {label}: {figure}");
        self.rows.push(ReportRow { label: label.to_owned(), figure, goal, is_met });
    }

    pub(crate) fn print(&self) {
        println!("\n| measure | figure | goal | |\n|---|---|---|---|");
        for row in &self.rows {
            let mark = match row.is_met {
                Some(true) => "met",
                Some(false) => "MISSED",
                None => "",
            };
            println!("| {} | {} | {} | {mark} |", row.label, row.figure, row.goal);
        }
    }
}

/// The `share` quantile (0 to 1) of `samples`; sorts them.
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
