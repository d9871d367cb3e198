//! Packages: the state of an installation, its end, the packages inside, and the comparison of installed files with the
//! accepted files.
//!
//! Never changes a file and never accepts one. Pitfall: a server without a package has no accepted files; it is left out.

use rouse_core::extension::ExtensionName;
use rouse_core::extension::package::InstalledPackage;

use super::lookup::find;
use crate::context::Context;
use crate::error::RpcError;
use crate::wire::{
    ChangeResult, ExtensionRef, ExtensionsVerifyParams, ExtensionsVerifyResult, InstallStatus,
    VerifiedFiles,
};

/// What an installation does. An extension that is installed for the first time is not in the book yet.
pub(crate) async fn install_status(
    context: &Context,
    params: ExtensionRef,
) -> Result<InstallStatus, RpcError> {
    Ok(InstallStatus { step: context.extensions.install_step(&params.name) })
}

pub(crate) async fn cancel_install(
    context: &Context,
    params: ExtensionRef,
) -> Result<ChangeResult, RpcError> {
    Ok(ChangeResult { changed: context.extensions.cancel_install(&params.name) })
}

/// Compares the files of one package or of all packages.
pub(crate) async fn verify(
    context: &Context,
    params: ExtensionsVerifyParams,
) -> Result<ExtensionsVerifyResult, RpcError> {
    let installed = match params.name {
        Some(name) => {
            let extension = find(context, &name)?;
            vec![(name, extension)]
        }
        None => context.extensions.book().all(),
    };
    let mut extensions = Vec::new();
    for (name, extension) in installed {
        if let Some(package) = extension.package {
            extensions.push(verify_one(context, name, package.files.files).await);
        }
    }
    Ok(ExtensionsVerifyResult { extensions })
}

/// The packages inside that an update removed or added, as lines. None without packages inside.
pub(super) fn component_changes(
    before: &InstalledPackage,
    after: &InstalledPackage,
) -> Option<Vec<String>> {
    let (old, new) = (&before.components, &after.components);
    let removed = old.iter().filter(|package| !new.contains(package));
    let removed = removed.map(|package| format!("removed {package}"));
    let added = new.iter().filter(|package| !old.contains(package));
    let added = added.map(|package| format!("added {package}"));
    let has_components = !old.is_empty() && !new.is_empty();
    has_components.then(|| removed.chain(added).collect())
}

async fn verify_one(context: &Context, name: ExtensionName, files: u32) -> VerifiedFiles {
    let compared = context.extensions.verify_files(&name).await;
    match compared {
        Ok(changes) => VerifiedFiles { name, files, changes, problem: None },
        Err(problem) => VerifiedFiles { name, files, changes: Vec::new(), problem: Some(problem) },
    }
}
