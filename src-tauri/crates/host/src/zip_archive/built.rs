//! Zip archives for tests, also of forms that no packer writes.

use std::io::Write as _;

use flate2::Crc;
use flate2::write::DeflateEncoder;

/// A file or folder of an archive under construction.
pub(crate) struct BuiltEntry {
    pub(crate) name: String,
    pub(crate) content: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) flags: u16,
    pub(crate) is_deflated: bool,
    /// A declared size beside that of the content.
    pub(crate) declared: Option<u32>,
    /// A name in the local header beside `name`.
    pub(crate) local_name: Option<String>,
}

/// A file.
pub(crate) fn entry(name: &str, content: &str) -> BuiltEntry {
    BuiltEntry {
        name: name.to_owned(),
        content: content.as_bytes().to_vec(),
        mode: 0o100_644,
        flags: 0,
        is_deflated: true,
        declared: None,
        local_name: None,
    }
}

/// A folder.
pub(crate) fn folder(name: &str) -> BuiltEntry {
    BuiltEntry { mode: 0o040_755, is_deflated: false, ..entry(name, "") }
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).expect("packed");
    encoder.finish().expect("packed")
}

/// The bytes of an archive with these entries.
pub(crate) fn build(entries: &[BuiltEntry]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let mut crc = Crc::new();
        crc.update(&entry.content);
        let packed =
            if entry.is_deflated { deflated(&entry.content) } else { entry.content.clone() };
        let mut numbers = Vec::new();
        numbers.extend(entry.flags.to_le_bytes());
        numbers.extend((if entry.is_deflated { 8_u16 } else { 0 }).to_le_bytes());
        numbers.extend([0; 4]);
        numbers.extend(crc.sum().to_le_bytes());
        numbers.extend((packed.len() as u32).to_le_bytes());
        let bytes = entry.declared.unwrap_or(entry.content.len() as u32);
        numbers.extend(bytes.to_le_bytes());
        let offset = archive.len() as u32;
        let local_name = entry.local_name.as_ref().unwrap_or(&entry.name);
        archive.extend(0x0403_4b50_u32.to_le_bytes());
        archive.extend(20_u16.to_le_bytes());
        archive.extend(&numbers);
        archive.extend((local_name.len() as u16).to_le_bytes());
        archive.extend([0; 2]);
        archive.extend(local_name.as_bytes());
        archive.extend(packed);
        directory.extend(0x0201_4b50_u32.to_le_bytes());
        directory.extend([20, 3, 20, 0]);
        directory.extend(&numbers);
        directory.extend((entry.name.len() as u16).to_le_bytes());
        directory.extend([0; 8]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(entry.name.as_bytes());
    }
    let (offset, count) = (archive.len() as u32, entries.len() as u16);
    archive.extend(&directory);
    archive.extend(0x0605_4b50_u32.to_le_bytes());
    archive.extend([0; 4]);
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend((directory.len() as u32).to_le_bytes());
    archive.extend(offset.to_le_bytes());
    archive.extend([0; 2]);
    archive
}
