//! A smaller encoding of a component with the same behaviour.
//!
//! Owns two steps: custom sections (names, build notes) are dropped, and data segments with a small gap become one.
//! A segment costs about nine bytes, so zeros in place of a smaller gap are cheaper. Never changes code.
//! Pitfall: merged segments write zeros into the gap, so they must be in ascending order in fresh memory.

use std::convert::Infallible;

use anyhow::{Result, anyhow};
use wasm_encoder::reencode::{Error, Reencode, ReencodeComponent};
use wasm_encoder::{Component, ConstExpr, DataSection, Module};
use wasmparser::{
    CustomSectionReader, Data, DataKind, DataSectionReader, Operator, Parser, Validator,
    WasmFeatures,
};

/// The largest gap between two segments that is filled with zeros.
const MAX_GAP: usize = 8;

/// The component in its smaller encoding.
pub(crate) fn shrink(component: &[u8]) -> Result<Vec<u8>> {
    let mut smaller = Component::new();
    Shrinker::default()
        .parse_component(&mut smaller, Parser::new(0), component)
        .map_err(|error| anyhow!("{error}"))?;
    let smaller = smaller.finish();
    Validator::new_with_features(WasmFeatures::all()).validate_all(&smaller)?;
    Ok(smaller)
}

#[derive(Default)]
struct Shrinker {
    /// Such a module may address segments by their number, so they stay.
    has_data_count: bool,
}

impl Reencode for Shrinker {
    type Error = Infallible;

    fn parse_core_module(
        &mut self,
        module: &mut Module,
        parser: Parser,
        data: &[u8],
    ) -> Result<(), Error> {
        self.has_data_count = false;
        wasm_encoder::reencode::utils::parse_core_module(self, module, parser, data)
    }

    fn parse_custom_section(
        &mut self,
        _: &mut Module,
        _: CustomSectionReader<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }

    fn data_count(&mut self, count: u32) -> Result<u32, Error> {
        self.has_data_count = true;
        Ok(count)
    }

    fn parse_data_section(
        &mut self,
        section: &mut DataSection,
        reader: DataSectionReader<'_>,
    ) -> Result<(), Error> {
        let mut pending: Option<Segment> = None;
        for data in reader {
            let data = data?;
            let next = if self.has_data_count { None } else { Segment::read(&data)? };
            match (pending.as_mut(), next) {
                (Some(before), Some(next)) if before.can_take(&next) => before.take(&next),
                (_, Some(next)) => write(section, pending.replace(next)),
                (_, None) => {
                    write(section, pending.take());
                    self.parse_data(section, data)?;
                }
            }
        }
        write(section, pending);
        Ok(())
    }
}

impl ReencodeComponent for Shrinker {
    fn parse_component_custom_section(
        &mut self,
        _: &mut Component,
        _: CustomSectionReader<'_>,
    ) -> Result<(), Error> {
        Ok(())
    }
}

/// Bytes at a fixed address of a memory.
struct Segment {
    memory: u32,
    address: usize,
    bytes: Vec<u8>,
}

impl Segment {
    /// `None` without a constant address.
    fn read(data: &Data<'_>) -> Result<Option<Self>, Error> {
        let DataKind::Active { memory_index, offset_expr } = &data.kind else {
            return Ok(None);
        };
        let mut operators = offset_expr.get_operators_reader();
        let Operator::I32Const { value } = operators.read()? else {
            return Ok(None);
        };
        let address = usize::try_from(value.cast_unsigned()).expect("BUG: an address has 32 bits");
        Ok(Some(Self { memory: *memory_index, address, bytes: data.data.to_vec() }))
    }

    fn end(&self) -> usize {
        self.address + self.bytes.len()
    }

    fn can_take(&self, next: &Self) -> bool {
        let gap = next.address.checked_sub(self.end());
        self.memory == next.memory && gap.is_some_and(|gap| gap <= MAX_GAP)
    }

    fn take(&mut self, next: &Self) {
        self.bytes.resize(next.address - self.address, 0);
        self.bytes.extend_from_slice(&next.bytes);
    }
}

fn write(section: &mut DataSection, segment: Option<Segment>) {
    let Some(Segment { memory, address, bytes }) = segment else { return };
    let address = u32::try_from(address).expect("BUG: an address has 32 bits");
    section.active(memory, &ConstExpr::i32_const(address.cast_signed()), bytes);
}

#[cfg(test)]
mod tests {
    use wasm_encoder::{CustomSection, DataCountSection, MemorySection, MemoryType, ModuleSection};
    use wasmparser::Payload;

    use super::*;

    /// A component around a module with one memory and data at these addresses.
    fn component(addresses: &[i32], has_data_count: bool) -> Vec<u8> {
        let mut memories = MemorySection::new();
        let (minimum, maximum) = (1, None);
        memories.memory(MemoryType {
            minimum,
            maximum,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        let mut data = DataSection::new();
        for address in addresses {
            data.active(0, &ConstExpr::i32_const(*address), *b"ab");
        }
        let mut module = Module::new();
        module.section(&memories);
        if has_data_count {
            module.section(&DataCountSection { count: data.len() });
        }
        module
            .section(&data)
            .section(&CustomSection { name: "note".into(), data: b"built here".as_slice().into() });
        let mut component = Component::new();
        component.section(&ModuleSection(&module));
        component.finish()
    }

    /// The bytes of all segments, after the check that no custom section is left.
    fn segments(component: &[u8]) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        for payload in Parser::new(0).parse_all(component) {
            match payload.expect("a valid component") {
                Payload::CustomSection(section) => panic!("{} is left", section.name()),
                Payload::DataSection(section) => {
                    found.extend(section.into_iter().map(|data| data.expect("data").data.to_vec()));
                }
                _ => {}
            }
        }
        found
    }

    #[test]
    fn segments_with_a_small_gap_become_one() {
        let smaller = shrink(&component(&[16, 20, 30, 41], false)).expect("a component");
        let merged = b"ab\0\0ab\0\0\0\0\0\0\0\0ab".to_vec();
        assert_eq!(segments(&smaller), [merged, b"ab".to_vec()]);
    }

    #[test]
    fn descending_segments_stay() {
        let smaller = shrink(&component(&[20, 16, 17], false)).expect("a component");
        assert_eq!(segments(&smaller).len(), 3);
    }

    #[test]
    fn segments_of_a_module_with_data_count_stay() {
        let smaller = shrink(&component(&[16, 20], true)).expect("a component");
        assert_eq!(segments(&smaller).len(), 2);
    }
}
