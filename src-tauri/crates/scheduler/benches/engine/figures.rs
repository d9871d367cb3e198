//! Figures beside what they have to hold, printed as they come and as a table at the end.

#[derive(Default)]
pub(crate) struct Figures(Vec<[String; 4]>);

impl Figures {
    /// A figure that must not exceed `hold`.
    pub(crate) fn at_most(&mut self, what: &str, figure: f64, hold: f64, unit: &str) {
        let mark = if figure <= hold { "holds" } else { "DOES NOT HOLD" };
        self.add(what, &format!("{figure:.2} {unit}"), &format!("≤ {hold} {unit}"), mark);
    }

    /// A figure that must reach `hold`.
    pub(crate) fn at_least(&mut self, what: &str, figure: f64, hold: f64, unit: &str) {
        let mark = if figure >= hold { "holds" } else { "DOES NOT HOLD" };
        self.add(what, &format!("{figure:.1} {unit}"), &format!("≥ {hold} {unit}"), mark);
    }

    /// A figure to know, such as a floor.
    pub(crate) fn note(&mut self, what: &str, figure: f64, unit: &str) {
        self.add(what, &format!("{figure:.2} {unit}"), "", "");
    }

    fn add(&mut self, what: &str, figure: &str, hold: &str, mark: &str) {
        println!("  {what}: {figure} {mark}");
        self.0.push([what, figure, hold, mark].map(str::to_owned));
    }

    pub(crate) fn print(&self) {
        println!("\n| measure | figure | to hold | |\n|---|---|---|---|");
        for [what, figure, hold, mark] in &self.0 {
            println!("| {what} | {figure} | {hold} | {mark} |");
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
