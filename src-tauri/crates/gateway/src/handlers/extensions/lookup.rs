//! The lookup of an extension by name.

use rouse_core::extension::{Extension, ExtensionName};

use crate::context::Context;
use crate::error::{ErrorCode, RpcError};

/// The extension of this name.
///
/// # Errors
/// There is no such extension.
pub(super) fn find(context: &Context, name: &ExtensionName) -> Result<Extension, RpcError> {
    let missing = || RpcError::new(ErrorCode::NotFound, format!("There is no extension {name}."));
    context.extensions.book().get(name).ok_or_else(missing)
}
