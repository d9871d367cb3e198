//! `spending.get`: spending of today and of this month.

use rouse_core::budget::{MicroUsd, Spent};
use rouse_core::schedule::{Day, month_start};

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{EmptyObject, SpendingView, SpentView};

pub(crate) async fn get(context: &Context, _: EmptyObject) -> Result<SpendingView, RpcError> {
    let (now, zone) = (context.clock.now(), context.clock.zones().local());
    let day = Day::of(zone, now);
    let budget = context.settings.budget();
    Ok(SpendingView {
        today: spent_view(context.store.spent_since(day.start, now).await?),
        month: spent_view(context.store.spent_since(month_start(zone, now), now).await?),
        day_ends_at_ms: day.end.0,
        tokens_per_day: budget.tokens_per_day,
        usd_per_day: budget.usd_per_day.map(MicroUsd::usd),
    })
}

pub(crate) const fn spent_view(spent: Spent) -> SpentView {
    SpentView {
        tokens: spent.tokens,
        cost_micro_usd: spent.usd.0,
        unpriced_tokens: spent.unpriced_tokens,
    }
}
