//! Files that were edited by somebody who knows the format and makes its checksums fit.

use rhograd::statement::Statement;
use rhograd::train::ModelFile;
use serde_json::Value;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// A model with the digest that belongs to it, and one with the statement that its facts give as well.
pub fn models(model: &ModelFile) -> Vec<ModelFile> {
    let signed = |mut model: ModelFile| {
        model.digest = model.expected_digest();
        model
    };
    let mut forged = vec![signed(model.clone())];
    if let Ok(statement) = Statement::new(model.statement.facts.clone()) {
        forged.push(signed(ModelFile { statement, ..model.clone() }));
    }
    forged
}

const START: usize = 64;
const END: usize = 32;

/// A cache of one segment whose checksums fit whatever stands in it; `None` where there is no footer.
pub fn cache(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = bytes.len().checked_sub(END)?;
    let length = u64::from_le_bytes(bytes.get(end..end + 8)?.try_into().ok()?);
    let footer_at = end.checked_sub(usize::try_from(length).ok()?).filter(|&at| at >= START)?;
    let mut footer: Value = serde_json::from_slice(&bytes[footer_at..end]).ok()?;
    let segment = &bytes[START..footer_at];
    let number = |name: &str| footer[name].as_u64().map(|number| number.min(1 << 20) as usize);
    let (numeric, categorical) = (number("numeric")?, footer["levels"].as_array()?.len());
    let tiles = number("rows")?.div_ceil(32);
    let mut rest = segment;
    let mut checksum = 0;
    for size in [tiles * numeric * 64, tiles * categorical * 64, tiles * 64] {
        let (part, more) = rest.split_at_checked(size)?;
        (checksum, rest) = (xxh3_64_with_seed(part, checksum), more);
    }
    footer["checksums"] = vec![xxh3_64_with_seed(rest, checksum)].into();
    let footer = serde_json::to_vec(&footer).ok()?;
    let mut forged = bytes[..footer_at].to_vec();
    forged.extend_from_slice(&footer);
    forged.extend_from_slice(&(footer.len() as u64).to_le_bytes());
    forged.extend_from_slice(&xxh3_64(&footer).to_le_bytes());
    forged.extend_from_slice(&bytes[end + 16..]);
    Some(forged)
}

#[test]
fn a_forged_cache_that_was_not_edited_is_the_cache() {
    let home = crate::home::Home::new();
    let cache = home.bytes("data.rows");
    assert!(self::cache(&cache) == Some(cache));
}
