//! The port to the jobs for the MCP tests: each request is a call of the gateway, signed by its author.
//!
//! Without the limits on an agent's change; the tests of the host have those.

use std::sync::{Mutex, PoisonError};

use rouse_core::routines::{RoutineAuthor, RoutineRefusal, RoutineRequest, Routines};
use rouse_core::tool::{BoxFuture, Fault};
use rouse_gateway::Gateway;
use serde_json::{Value, json};

#[derive(Default)]
pub(crate) struct SignedRoutines(Mutex<Option<Gateway>>);

impl SignedRoutines {
    /// Connects the gateway, or releases it.
    pub(crate) fn connect(&self, gateway: Option<Gateway>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = gateway;
    }

    fn gateway(&self) -> Gateway {
        let gateway = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gateway.clone().expect("connected")
    }
}

impl Routines for SignedRoutines {
    fn ask<'a>(
        &'a self,
        request: RoutineRequest,
        author: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<Value, RoutineRefusal>> {
        let (method, params) = match request {
            RoutineRequest::List { search, limit, cursor } => (
                "cron.list",
                json!({ "includeDisabled": true, "search": search, "limit": limit, "cursor": cursor }),
            ),
            RoutineRequest::Get { id } => ("cron.get", json!({ "id": id })),
            RoutineRequest::Preview { schedule } => {
                ("cron.preview", json!({ "schedule": schedule }))
            }
            RoutineRequest::Create { mut draft } => {
                draft["createdBy"] = author.signature();
                ("cron.add", draft)
            }
            RoutineRequest::Update { id, patch, revision } => {
                ("cron.update", json!({ "id": id, "patch": patch, "expectedRevision": revision }))
            }
            RoutineRequest::Delete { id } => ("cron.remove", json!({ "id": id })),
            RoutineRequest::Fire { id } => ("cron.run", json!({ "id": id, "mode": "force" })),
            RoutineRequest::History { id, limit } => {
                ("cron.runs", json!({ "id": id, "limit": limit }))
            }
        };
        let gateway = self.gateway();
        Box::pin(async move {
            let refusal = |message| RoutineRefusal { fault: Fault::Execution, message };
            gateway.call(method, params).await.map_err(|error| refusal(error.message))
        })
    }

    fn check<'a>(
        &'a self,
        _: &'a RoutineRequest,
        _: RoutineAuthor<'a>,
    ) -> BoxFuture<'a, Result<(), RoutineRefusal>> {
        Box::pin(std::future::ready(Ok(())))
    }
}
