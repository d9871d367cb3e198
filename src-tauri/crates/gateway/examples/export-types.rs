//! Writes the TypeScript types of the gateway: `export-types DIRECTORY`.

fn main() -> anyhow::Result<()> {
    let directory = std::env::args_os()
        .nth(1)
        .ok_or_else(|| anyhow::anyhow!("usage: export-types DIRECTORY"))?;
    let directory = std::path::Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    rouse_gateway::export_types(directory)?;
    Ok(())
}
