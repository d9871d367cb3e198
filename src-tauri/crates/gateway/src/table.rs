//! The method table: every method once, with its parameters and its result.
//!
//! One list feeds the dispatcher, the TypeScript export and the CLI. A line without a handler of that very signature
//! does not compile, so shell, server, CLI and UI cannot drift apart.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::{
    approvals, backup, chat, config, cron, deliveries, grants, heartbeat, hooks, models, providers,
    runs, secrets, sessions, skills, spending, system, tools,
};
use crate::wire::*;

macro_rules! methods {
    ($($name:literal => $($path:ident)::+ ($params:ty) -> $result:ty;)+) => {
        /// The name of every method.
        pub const METHODS: &[&str] = &[$($name),+];

        /// Calls the method `name`.
        ///
        /// # Errors
        /// `methodNotFound`, `invalidParams`, or what the handler says.
        pub(crate) async fn dispatch(context: &Context, name: &str, params: Value) -> Result<Value, RpcError> {
            match name {
                $($name => {
                    let result: $result = $($path)::+(context, read::<$params>(params)?).await?;
                    write(&result)
                })+
                other => Err(RpcError::method_not_found(other)),
            }
        }

        /// Calls `visit` with every method's name and the TypeScript types of its parameters and result.
        pub(crate) fn visit_types(visit: &mut impl TypeVisit) {
            $(visit.method::<$params, $result>($name);)+
        }
    };
}

/// Sees the types of every method; implemented by the TypeScript export.
pub(crate) trait TypeVisit {
    /// One line of the table.
    fn method<P: ts_rs::TS + 'static, R: ts_rs::TS + 'static>(&mut self, name: &'static str);
}

methods! {
    "wake" => heartbeat::wake(WakeParams) -> WakeResult;
    "heartbeat.status" => heartbeat::status(Empty) -> HeartbeatStatus;
    "heartbeat.trust" => heartbeat::trust(HeartbeatTrustParams) -> HeartbeatStatus;
    "set-heartbeats" => heartbeat::set(SetHeartbeatsParams) -> HeartbeatStatus;

    "cron.list" => cron::list(CronListParams) -> CronListResult;
    "cron.get" => cron::get(JobRef) -> JobView;
    "cron.add" => cron::add(CronAddParams) -> SavedJob;
    "cron.update" => cron::update(CronUpdateParams) -> SavedJob;
    "cron.check" => cron::check(CronCheckParams) -> CronCheckResult;
    "cron.remove" => cron::remove(CronRemoveParams) -> CronRemoveResult;
    "cron.run" => cron::run(CronRunParams) -> StartedRun;
    "cron.runs" => cron::runs(CronRunsParams) -> CronRunsResult;
    "cron.status" => cron::status(Empty) -> CronStatus;
    "cron.preview" => cron::preview(CronPreviewParams) -> CronPreviewResult;
    "cron.estimate" => cron::estimate(CronEstimateParams) -> CronEstimateResult;
    "cron.webhook" => cron::webhook(WebhookParams) -> WebhookView;
    "cron.tryCondition" => cron::try_condition(CronTryConditionParams) -> CronTryConditionResult;
    "cron.pause" => cron::pause(CronPauseParams) -> CronStatus;
    "cron.resume" => cron::resume(Empty) -> CronStatus;
    "cron.export" => cron::export(CronExportParams) -> CronExportResult;
    "cron.ledger" => cron::ledger(CronLedgerParams) -> CronLedgerResult;
    "cron.import" => cron::import(CronImportParams) -> CronImportResult;

    "runs.list" => runs::list(RunsListParams) -> RunsListResult;
    "runs.get" => runs::get(RunRef) -> RunDetail;
    "runs.cancel" => runs::cancel(RunRef) -> Done;
    "runs.seen" => runs::seen(RunRef) -> Done;
    "runs.await" => runs::wait_for(RunAwaited) -> Empty;
    "runs.retry" => runs::retry(RunRef) -> StartedRun;

    "approvals.list" => approvals::list(ApprovalsListParams) -> ApprovalsListResult;
    "approvals.get" => approvals::get(ApprovalRef) -> ApprovalView;
    "approvals.decide" => approvals::decide(ApprovalsDecideParams) -> ApprovalsDecideResult;
    "grants.list" => grants::list(GrantsListParams) -> GrantsListResult;
    "grants.revoke" => grants::revoke(GrantRef) -> Done;

    "deliveries.get" => deliveries::get(DeliveryRef) -> DeliveryView;
    "deliveries.test" => deliveries::test(Empty) -> DeliveryView;
    "deliveries.answer" => deliveries::answer(ShowAnswer) -> Done;

    "chat.send" => chat::send(ChatSendParams) -> ChatSendResult;
    "chat.abort" => chat::abort(ChatAbortParams) -> Done;
    "sessions.list" => sessions::list(SessionsListParams) -> SessionsListResult;
    "sessions.get" => sessions::get(SessionsGetParams) -> SessionsGetResult;
    "sessions.clear" => sessions::clear(SessionRef) -> Done;

    "tools.catalog" => tools::catalog(Empty) -> ToolsCatalogResult;
    "tools.effective" => tools::effective(ToolsEffectiveParams) -> ToolsEffectiveResult;
    "tools.try" => tools::try_call(ToolsTryParams) -> ToolsTryResult;
    "skills.list" => skills::list(Empty) -> SkillsListResult;
    "skills.trust" => skills::trust(SkillTrustParams) -> SkillView;
    "skills.distrust" => skills::distrust(SkillRef) -> SkillView;
    "providers.list" => providers::list(ProvidersListParams) -> ProvidersListResult;
    "models.providers" => models::providers(Empty) -> ModelsProvidersResult;
    "models.list" => models::list(ModelsListParams) -> ModelsListResult;
    "models.add" => models::add(ModelsAddParams) -> ProvidersListResult;
    "models.test" => models::test(ModelsTestParams) -> ModelTestView;
    "models.pull" => models::pull(ModelsPullParams) -> PullView;
    "models.pullStatus" => models::pull_status(Empty) -> ModelsPullStatusResult;
    "models.cancelPull" => models::cancel_pull(Empty) -> Done;

    "secrets.list" => secrets::list(Empty) -> SecretsListResult;
    "secrets.set" => secrets::set(SecretSetParams) -> SecretView;
    "secrets.remove" => secrets::remove(SecretRef) -> SecretRemoved;

    "spending.get" => spending::get(Empty) -> SpendingView;

    "hooks.list" => hooks::list(Empty) -> HooksListResult;
    "config.get" => config::get(Empty) -> ConfigView;
    "config.patch" => config::patch(ConfigPatchParams) -> ConfigView;

    "backup.list" => backup::list(Empty) -> BackupsView;
    "backup.create" => backup::create(Empty) -> BackupView;

    "system.status" => system::status(Empty) -> SystemStatus;
    "system.storage" => system::storage(Empty) -> StorageView;
    "system.dismissFirstStart" => system::dismiss_first_start(Empty) -> Done;
}

pub(crate) fn read<P: DeserializeOwned>(params: Value) -> Result<P, RpcError> {
    let params = if params.is_null() { Value::Object(serde_json::Map::new()) } else { params };
    serde_path_to_error::deserialize(&params).map_err(|error| RpcError::invalid_params(&error))
}

pub(crate) fn write<R: Serialize>(result: &R) -> Result<Value, RpcError> {
    serde_json::to_value(result).map_err(|error| RpcError::internal(&error))
}
