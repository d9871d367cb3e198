//! The method table: every method with its handler, parameters and result.
//!
//! Owns the list behind the dispatcher, the TypeScript export and the CLI. A method without a handler of this signature does not
//! compile.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::{
    approvals, backup, channels, chat, config, cron, deliveries, extensions, grants, heartbeat,
    hooks, mcp_access, models, providers, registries, runs, secrets, sessions, skills, spending,
    system, tools,
};
use crate::wire::*;

macro_rules! methods {
    ($($name:literal => $($path:ident)::+ ($params:ty) -> $result:ty;)+) => {
        /// The names of all methods.
        pub const METHODS: &[&str] = &[$($name),+];

        /// Calls the method `name`.
        ///
        /// # Errors
        /// `methodNotFound`, `invalidParams` or the error of the handler.
        pub(crate) async fn dispatch(context: &Context, name: &str, params: Value) -> Result<Value, RpcError> {
            match name {
                $($name => {
                    let result: $result = $($path)::+(context, parse_params::<$params>(params)?).await?;
                    result_json(&result)
                })+
                other => Err(RpcError::method_not_found(other)),
            }
        }

        /// Visits the name and the types of every method.
        pub(crate) fn visit_types(visit: &mut impl TypeVisit) {
            $(visit.method::<$params, $result>($name);)+
        }
    };
}

/// A visitor of all methods, for the TypeScript export.
pub(crate) trait TypeVisit {
    /// Visits one method.
    fn method<P: ts_rs::TS + 'static, R: ts_rs::TS + 'static>(&mut self, name: &'static str);
}

methods! {
    "wake" => heartbeat::wake(WakeParams) -> WakeResult;
    "heartbeat.status" => heartbeat::status(EmptyObject) -> HeartbeatStatus;
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
    "cron.status" => cron::status(EmptyObject) -> CronStatus;
    "cron.preview" => cron::preview(CronPreviewParams) -> CronPreviewResult;
    "cron.estimate" => cron::estimate(CronEstimateParams) -> CronEstimateResult;
    "cron.webhook" => cron::webhook(WebhookParams) -> WebhookView;
    "cron.tryCondition" => cron::try_condition(CronTryConditionParams) -> CronTryConditionResult;
    "cron.pause" => cron::pause(CronPauseParams) -> CronStatus;
    "cron.resume" => cron::resume(EmptyObject) -> CronStatus;
    "cron.export" => cron::export(CronExportParams) -> CronExportResult;
    "cron.ledger" => cron::ledger(CronLedgerParams) -> CronLedgerResult;
    "cron.import" => cron::import(CronImportParams) -> CronImportResult;

    "runs.list" => runs::list(RunsListParams) -> RunsListResult;
    "runs.get" => runs::get(RunRef) -> RunDetail;
    "runs.attachment" => runs::attachment(RunAttachmentParams) -> RunAttachment;
    "runs.cancel" => runs::cancel(RunRef) -> ChangeResult;
    "runs.seen" => runs::seen(RunRef) -> ChangeResult;
    "runs.await" => runs::await_run(RunAwaitParams) -> EmptyObject;
    "runs.retry" => runs::retry(RunRef) -> StartedRun;

    "approvals.list" => approvals::list(ApprovalsListParams) -> ApprovalsListResult;
    "approvals.get" => approvals::get(ApprovalRef) -> ApprovalView;
    "approvals.decide" => approvals::decide(ApprovalsDecideParams) -> ApprovalsDecideResult;
    "grants.list" => grants::list(GrantsListParams) -> GrantsListResult;
    "grants.revoke" => grants::revoke(GrantRef) -> ChangeResult;

    "deliveries.get" => deliveries::get(DeliveryRef) -> DeliveryView;
    "deliveries.test" => deliveries::test(EmptyObject) -> DeliveryView;
    "deliveries.answer" => deliveries::report(NotificationReport) -> ChangeResult;

    "channels.list" => channels::list(EmptyObject) -> ChannelsListResult;
    "channels.test" => channels::test(ChannelsTestParams) -> DeliveryView;
    "channels.pair" => channels::pair(ChannelRef) -> PairingView;
    "channels.pairing" => channels::pairing(ChannelPairingParams) -> ChannelPairingResult;
    "channels.confirmPairing" => channels::confirm_pairing(ConfirmPairingParams) -> PairingView;
    "channels.unpair" => channels::unpair(ChannelUnpairParams) -> ChangeResult;

    "chat.send" => chat::send(ChatSendParams) -> ChatSendResult;
    "chat.abort" => chat::abort(ChatAbortParams) -> ChangeResult;
    "sessions.list" => sessions::list(SessionsListParams) -> SessionsListResult;
    "sessions.get" => sessions::get(SessionsGetParams) -> SessionsGetResult;
    "sessions.clear" => sessions::clear(SessionRef) -> ChangeResult;

    "tools.catalog" => tools::catalog(EmptyObject) -> ToolsCatalogResult;
    "tools.effective" => tools::effective(ToolsEffectiveParams) -> ToolsEffectiveResult;
    "tools.try" => tools::try_call(ToolsTryParams) -> ToolsTryResult;
    "skills.list" => skills::list(EmptyObject) -> SkillsListResult;
    "skills.trust" => skills::trust(SkillTrustParams) -> SkillView;
    "skills.distrust" => skills::distrust(SkillRef) -> SkillView;
    "skills.preview" => skills::preview(SkillSourceParams) -> SkillPage;
    "skills.install" => skills::install(SkillInstallParams) -> SkillView;
    "skills.remove" => skills::remove(SkillRef) -> ChangeResult;
    "skills.search" => registries::search_skills(SkillSearchParams) -> SkillSearchResult;
    "skills.download" => registries::download_skill(SkillDownloadParams) -> SkillDownload;
    "providers.list" => providers::list(ProvidersListParams) -> ProvidersListResult;
    "models.providers" => models::providers(EmptyObject) -> ModelsProvidersResult;
    "models.list" => models::list(ModelsListParams) -> ModelsListResult;
    "models.add" => models::add(ModelsAddParams) -> ProvidersListResult;
    "models.test" => models::test(ModelsTestParams) -> ModelTestView;
    "models.pull" => models::pull(ModelsPullParams) -> PullView;
    "models.pullStatus" => models::pull_status(EmptyObject) -> ModelsPullStatusResult;
    "models.cancelPull" => models::cancel_pull(EmptyObject) -> ChangeResult;

    "secrets.list" => secrets::list(EmptyObject) -> SecretsListResult;
    "secrets.set" => secrets::set(SecretSetParams) -> SecretView;
    "secrets.remove" => secrets::remove(SecretRef) -> SecretRemoved;

    "extensions.list" => extensions::list(EmptyObject) -> ExtensionsListResult;
    "extensions.get" => extensions::get(ExtensionRef) -> ExtensionDetail;
    "extensions.preview" => extensions::preview(ExtensionDraft) -> ConsentPage;
    "extensions.install" => extensions::install(ExtensionInstallParams) -> ServerToolsPage;
    "extensions.review" => extensions::review(ExtensionRef) -> ServerToolsPage;
    "extensions.accept" => extensions::accept(ExtensionAcceptParams) -> ExtensionDetail;
    "extensions.setAccess" => extensions::set_access(ExtensionAccessParams) -> ChangeResult;
    "extensions.setEnabled" => extensions::set_enabled(ExtensionEnabledParams) -> ChangeResult;
    "extensions.remove" => extensions::remove(ExtensionRef) -> ExtensionRemoved;
    "extensions.restart" => extensions::restart(ExtensionRef) -> ChangeResult;
    "extensions.signIn" => extensions::sign_in(ExtensionRef) -> SignInLink;
    "extensions.awaitSignIn" => extensions::await_sign_in(ExtensionRef) -> SignInStatus;
    "extensions.cancelSignIn" => extensions::cancel_sign_in(ExtensionRef) -> ChangeResult;
    "extensions.signOut" => extensions::sign_out(ExtensionRef) -> ChangeResult;
    "extensions.installStatus" => extensions::install_status(ExtensionRef) -> InstallStatus;
    "extensions.cancelInstall" => extensions::cancel_install(ExtensionRef) -> ChangeResult;
    "extensions.verify" => extensions::verify(ExtensionsVerifyParams) -> ExtensionsVerifyResult;
    "extensions.search" => registries::search_servers(RegistrySearchParams) -> RegistrySearchResult;
    "extensions.registryEntry" => registries::server_entry(RegistryEntryParams) -> RegistryServerView;

    "mcpAccess.list" => mcp_access::list(EmptyObject) -> McpAccessListResult;
    "mcpAccess.create" => mcp_access::create(McpAccessCreateParams) -> McpTokenCreated;
    "mcpAccess.revoke" => mcp_access::revoke(McpTokenRef) -> ChangeResult;

    "spending.get" => spending::get(EmptyObject) -> SpendingView;

    "hooks.list" => hooks::list(EmptyObject) -> HooksListResult;
    "config.get" => config::get(EmptyObject) -> ConfigView;
    "config.patch" => config::patch(ConfigPatchParams) -> ConfigView;

    "backup.list" => backup::list(EmptyObject) -> BackupsView;
    "backup.create" => backup::create(EmptyObject) -> BackupView;

    "system.status" => system::status(EmptyObject) -> SystemStatus;
    "system.storage" => system::storage(EmptyObject) -> StorageView;
    "system.dismissFirstStart" => system::dismiss_first_start(EmptyObject) -> ChangeResult;
}

pub(crate) fn parse_params<P: DeserializeOwned>(params: Value) -> Result<P, RpcError> {
    let params = if params.is_null() { Value::Object(serde_json::Map::new()) } else { params };
    serde_path_to_error::deserialize(&params).map_err(|error| RpcError::invalid_params(&error))
}

pub(crate) fn result_json<R: Serialize>(result: &R) -> Result<Value, RpcError> {
    serde_json::to_value(result).map_err(|error| RpcError::internal(&error))
}
