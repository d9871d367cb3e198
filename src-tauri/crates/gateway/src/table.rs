//! The method table: every method with its handler, parameters and result.
//!
//! Owns the list behind the dispatcher, the TypeScript export and the CLI, and the scope that a device needs for each method. A
//! method without a scope, or without a handler of this signature, does not compile.
//! Pitfall: `Read` for a method that changes something; a device with that scope must only look.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::caller::{Caller, DeviceCaller, MethodScope};
use crate::context::Context;
use crate::error::RpcError;
use crate::handlers::{
    approvals, backup, channels, chat, config, cron, deliveries, devices, extensions, grants,
    heartbeat, hooks, mcp_access, models, providers, registries, runs, secrets, sessions, skills,
    spending, system, tool_builds, tools,
};
use crate::wire::*;

macro_rules! methods {
    ($($name:literal [$scope:ident] => $($path:ident)::+ ($params:ty) -> $result:ty;)+) => {
        /// The names of all methods.
        pub const METHODS: &[&str] = &[$($name),+];

        /// The methods with the scopes that they need.
        pub const METHOD_SCOPES: &[(&str, MethodScope)] = &[$(($name, MethodScope::$scope)),+];

        /// Calls the method `name` for `caller`.
        ///
        /// # Errors
        /// `methodNotFound`, `forbidden`, `invalidParams` or the error of the handler.
        pub(crate) async fn dispatch(
            context: &Context,
            caller: &Caller,
            name: &str,
            params: Value,
        ) -> Result<Value, RpcError> {
            if let (Caller::Device(device), "approvals.decide") = (caller, name) {
                return decide_on_device(context, caller, device, params).await;
            }
            match name {
                $($name => {
                    caller.check_scope(name, MethodScope::$scope)?;
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
    "wake" [Write] => heartbeat::wake(WakeParams) -> WakeResult;
    "heartbeat.status" [Read] => heartbeat::status(EmptyObject) -> HeartbeatStatus;
    "heartbeat.trust" [Write] => heartbeat::trust(HeartbeatTrustParams) -> HeartbeatStatus;
    "set-heartbeats" [Write] => heartbeat::set(SetHeartbeatsParams) -> HeartbeatStatus;

    "cron.list" [Read] => cron::list(CronListParams) -> CronListResult;
    "cron.get" [Read] => cron::get(JobRef) -> JobView;
    "cron.add" [Write] => cron::add(CronAddParams) -> SavedJob;
    "cron.update" [Write] => cron::update(CronUpdateParams) -> SavedJob;
    "cron.check" [Read] => cron::check(CronCheckParams) -> CronCheckResult;
    "cron.remove" [Write] => cron::remove(CronRemoveParams) -> CronRemoveResult;
    "cron.run" [Write] => cron::run(CronRunParams) -> StartedRun;
    "cron.runs" [Read] => cron::runs(CronRunsParams) -> CronRunsResult;
    "cron.status" [Read] => cron::status(EmptyObject) -> CronStatus;
    "cron.preview" [Read] => cron::preview(CronPreviewParams) -> CronPreviewResult;
    "cron.estimate" [Read] => cron::estimate(CronEstimateParams) -> CronEstimateResult;
    "cron.webhook" [Admin] => cron::webhook(WebhookParams) -> WebhookView;
    "cron.tryCondition" [Read] => cron::try_condition(CronTryConditionParams) -> CronTryConditionResult;
    "cron.pause" [Write] => cron::pause(CronPauseParams) -> CronStatus;
    "cron.resume" [Write] => cron::resume(EmptyObject) -> CronStatus;
    "cron.export" [Read] => cron::export(CronExportParams) -> CronExportResult;
    "cron.ledger" [Read] => cron::ledger(CronLedgerParams) -> CronLedgerResult;
    "cron.import" [Write] => cron::import(CronImportParams) -> CronImportResult;

    "runs.list" [Read] => runs::list(RunsListParams) -> RunsListResult;
    "runs.get" [Read] => runs::get(RunRef) -> RunDetail;
    "runs.attachment" [Read] => runs::attachment(RunAttachmentParams) -> RunAttachment;
    "runs.cancel" [Write] => runs::cancel(RunRef) -> ChangeResult;
    "runs.seen" [Write] => runs::seen(RunRef) -> ChangeResult;
    "runs.await" [Read] => runs::await_run(RunAwaitParams) -> EmptyObject;
    "runs.retry" [Write] => runs::retry(RunRef) -> StartedRun;

    "approvals.list" [Read] => approvals::list(ApprovalsListParams) -> ApprovalsListResult;
    "approvals.get" [Read] => approvals::get(ApprovalRef) -> ApprovalView;
    "approvals.decide" [Approve] => approvals::decide(ApprovalsDecideParams) -> ApprovalsDecideResult;
    "grants.list" [Read] => grants::list(GrantsListParams) -> GrantsListResult;
    "grants.revoke" [Approve] => grants::revoke(GrantRef) -> ChangeResult;

    "deliveries.get" [Read] => deliveries::get(DeliveryRef) -> DeliveryView;
    "deliveries.test" [Write] => deliveries::test(EmptyObject) -> DeliveryView;
    "deliveries.answer" [Admin] => deliveries::report(NotificationReport) -> ChangeResult;

    "channels.list" [Read] => channels::list(EmptyObject) -> ChannelsListResult;
    "channels.check" [Write] => channels::check(EmptyObject) -> ChannelsListResult;
    "channels.test" [Write] => channels::test(ChannelsTestParams) -> DeliveryView;
    "channels.pair" [Admin] => channels::pair(ChannelRef) -> PairingView;
    "channels.pairing" [Admin] => channels::pairing(ChannelPairingParams) -> ChannelPairingResult;
    "channels.confirmPairing" [Admin] => channels::confirm_pairing(ConfirmPairingParams) -> PairingView;
    "channels.unpair" [Admin] => channels::unpair(ChannelUnpairParams) -> ChangeResult;

    "chat.send" [Write] => chat::send(ChatSendParams) -> ChatSendResult;
    "chat.abort" [Write] => chat::abort(ChatAbortParams) -> ChangeResult;
    "sessions.list" [Read] => sessions::list(SessionsListParams) -> SessionsListResult;
    "sessions.get" [Read] => sessions::get(SessionsGetParams) -> SessionsGetResult;
    "sessions.clear" [Write] => sessions::clear(SessionRef) -> ChangeResult;

    "tools.catalog" [Read] => tools::catalog(EmptyObject) -> ToolsCatalogResult;
    "tools.effective" [Read] => tools::effective(ToolsEffectiveParams) -> ToolsEffectiveResult;
    "tools.try" [Write] => tools::try_call(ToolsTryParams) -> ToolsTryResult;
    "tools.build" [Write] => tool_builds::build(ToolsBuildParams) -> ToolsBuildResult;
    "tools.builds" [Read] => tool_builds::builds(EmptyObject) -> ToolBuildsResult;
    "tools.source" [Read] => tool_builds::source(ToolBuildParams) -> ToolBuildDetail;
    "tools.check" [Admin] => tool_builds::check(ToolsCheckParams) -> ToolBuild;
    "tools.removeBuilds" [Admin] => tool_builds::remove(BuiltToolRef) -> ChangeResult;
    "skills.list" [Read] => skills::list(EmptyObject) -> SkillsListResult;
    "skills.trust" [Admin] => skills::trust(SkillTrustParams) -> SkillView;
    "skills.distrust" [Admin] => skills::distrust(SkillRef) -> SkillView;
    "skills.preview" [Admin] => skills::preview(SkillSourceParams) -> SkillPage;
    "skills.install" [Admin] => skills::install(SkillInstallParams) -> SkillView;
    "skills.remove" [Admin] => skills::remove(SkillRef) -> ChangeResult;
    "skills.search" [Admin] => registries::search_skills(SkillSearchParams) -> SkillSearchResult;
    "skills.download" [Admin] => registries::download_skill(SkillDownloadParams) -> SkillDownload;
    "providers.list" [Read] => providers::list(ProvidersListParams) -> ProvidersListResult;
    "models.providers" [Read] => models::providers(EmptyObject) -> ModelsProvidersResult;
    "models.list" [Admin] => models::list(ModelsListParams) -> ModelsListResult;
    "models.add" [Admin] => models::add(ModelsAddParams) -> ProvidersListResult;
    "models.test" [Admin] => models::test(ModelsTestParams) -> ModelTestView;
    "models.pull" [Admin] => models::pull(ModelsPullParams) -> PullView;
    "models.pullStatus" [Read] => models::pull_status(EmptyObject) -> ModelsPullStatusResult;
    "models.cancelPull" [Admin] => models::cancel_pull(EmptyObject) -> ChangeResult;

    "secrets.list" [Read] => secrets::list(EmptyObject) -> SecretsListResult;
    "secrets.set" [Admin] => secrets::set(SecretSetParams) -> SecretView;
    "secrets.remove" [Admin] => secrets::remove(SecretRef) -> SecretRemoved;

    "extensions.list" [Read] => extensions::list(EmptyObject) -> ExtensionsListResult;
    "agents.presets" [Read] => extensions::agent_presets(EmptyObject) -> AgentPresetsResult;
    "extensions.get" [Read] => extensions::get(ExtensionRef) -> ExtensionDetail;
    "extensions.preview" [Admin] => extensions::preview(ExtensionDraft) -> ConsentPage;
    "extensions.install" [Admin] => extensions::install(ExtensionInstallParams) -> ServerToolsPage;
    "extensions.review" [Admin] => extensions::review(ExtensionRef) -> ServerToolsPage;
    "extensions.accept" [Admin] => extensions::accept(ExtensionAcceptParams) -> ExtensionDetail;
    "extensions.setAccess" [Admin] => extensions::set_access(ExtensionAccessParams) -> ChangeResult;
    "extensions.setEnabled" [Admin] => extensions::set_enabled(ExtensionEnabledParams) -> ChangeResult;
    "extensions.remove" [Admin] => extensions::remove(ExtensionRef) -> ExtensionRemoved;
    "extensions.restart" [Admin] => extensions::restart(ExtensionRef) -> ChangeResult;
    "extensions.signIn" [Admin] => extensions::sign_in(ExtensionRef) -> SignInLink;
    "extensions.awaitSignIn" [Admin] => extensions::await_sign_in(ExtensionRef) -> SignInStatus;
    "extensions.cancelSignIn" [Admin] => extensions::cancel_sign_in(ExtensionRef) -> ChangeResult;
    "extensions.signOut" [Admin] => extensions::sign_out(ExtensionRef) -> ChangeResult;
    "extensions.installStatus" [Read] => extensions::install_status(ExtensionRef) -> InstallStatus;
    "extensions.cancelInstall" [Admin] => extensions::cancel_install(ExtensionRef) -> ChangeResult;
    "extensions.verify" [Read] => extensions::verify(ExtensionsVerifyParams) -> ExtensionsVerifyResult;
    "extensions.search" [Admin] => registries::search_servers(RegistrySearchParams) -> RegistrySearchResult;
    "extensions.registryEntry" [Admin] => registries::server_entry(RegistryEntryParams) -> RegistryServerView;

    "mcpAccess.list" [Admin] => mcp_access::list(EmptyObject) -> McpAccessListResult;
    "mcpAccess.create" [Admin] => mcp_access::create(McpAccessCreateParams) -> McpTokenCreated;
    "mcpAccess.revoke" [Admin] => mcp_access::revoke(McpTokenRef) -> ChangeResult;

    "devices.list" [Admin] => devices::list(EmptyObject) -> DevicesListResult;
    "devices.pair" [Admin] => devices::pair(DevicesPairParams) -> DevicePairing;
    "devices.revoke" [Admin] => devices::revoke(DeviceRef) -> ChangeResult;

    "spending.get" [Read] => spending::get(EmptyObject) -> SpendingView;

    "hooks.list" [Read] => hooks::list(EmptyObject) -> HooksListResult;
    "config.get" [Read] => config::get(EmptyObject) -> ConfigView;
    "config.patch" [Admin] => config::patch(ConfigPatchParams) -> ConfigView;

    "backup.list" [Read] => backup::list(EmptyObject) -> BackupsView;
    "backup.create" [Write] => backup::create(EmptyObject) -> BackupView;

    "system.status" [Read] => system::status(EmptyObject) -> SystemStatus;
    "system.storage" [Read] => system::storage(EmptyObject) -> StorageView;
    "system.dismissFirstStart" [Write] => system::dismiss_first_start(EmptyObject) -> ChangeResult;
}

/// `approvals.decide` on a device: the decision is stored with the name of the device.
async fn decide_on_device(
    context: &Context,
    caller: &Caller,
    device: &DeviceCaller,
    params: Value,
) -> Result<Value, RpcError> {
    caller.check_scope("approvals.decide", MethodScope::Approve)?;
    let params = parse_params(params)?;
    let name = device.name.clone();
    result_json(&approvals::decide_on_device(context, params, name).await?)
}

pub(crate) fn parse_params<P: DeserializeOwned>(params: Value) -> Result<P, RpcError> {
    let params = if params.is_null() { Value::Object(serde_json::Map::new()) } else { params };
    serde_path_to_error::deserialize(&params).map_err(|error| RpcError::invalid_params(&error))
}

pub(crate) fn result_json<R: Serialize>(result: &R) -> Result<Value, RpcError> {
    serde_json::to_value(result).map_err(|error| RpcError::internal(&error))
}
