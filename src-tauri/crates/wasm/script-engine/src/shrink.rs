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
