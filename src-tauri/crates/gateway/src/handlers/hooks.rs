//! `hooks.list`: the configured hooks. Read-only: only the settings file may define hooks, because a hook can run any program.

use std::time::Duration;

use rouse_agent::{HookReport, LastHookCall};

use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{EmptyObject, HookCallView, HookView, HooksListResult};

pub(crate) async fn list(context: &Context, _: EmptyObject) -> Result<HooksListResult, RpcError> {
    let hooks = context.gate.hooks().reports().into_iter().map(view).collect();
    Ok(HooksListResult { hooks })
}

fn view(HookReport { hook, statistics }: HookReport) -> HookView {
    HookView {
        on: hook.on.name().to_owned(),
        is_consulted: hook.on.is_consulted(),
        command: hook.command,
        timeout_ms: millis(hook.timeout),
        calls: statistics.calls,
        failures: statistics.failures,
        last: statistics.last.map(call_view),
    }
}

fn call_view(LastHookCall { at, took, problem }: LastHookCall) -> HookCallView {
    HookCallView { at_ms: at.0, duration_ms: millis(took), problem }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
