//! `generate`.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::arguments::stem;
use super::output::{bar, print_data};
use crate::data::{Schema, Synthetic, SyntheticKind};
use crate::error::{Error, Fallible};
use crate::text::visible_json;
use crate::train::StagedFile;

pub(super) fn pretty(schema: &Schema) -> Fallible<String> {
    let text = serde_json::to_string_pretty(schema).map_err(|e| Error::numerical("schema", e.to_string()))?;
    Ok(visible_json(&text).into_owned() + "\n")
}

#[derive(Args)]
#[command(
    after_help = "Examples:\n  rhograd generate logistic --rows 1000000 --features 32 --out big.csv\n  rhograd generate logistic --persons --out visits.csv\n\nWrites big.csv and big.schema.json."
)]
pub(super) struct GenerateArguments {
    /// What to generate
    #[arg(value_enum)]
    kind: SyntheticKind,
    /// Rows
    #[arg(long, default_value_t = 10_000)]
    rows: u64,
    /// Numeric features, uniform on [-1, 1]
    #[arg(long, default_value_t = 10)]
    features: usize,
    /// Categorical features with four values each
    #[arg(long, default_value_t = 0)]
    categories: usize,
    /// Standard deviation of the noise of a linear target
    #[arg(long, default_value_t = 0.5, allow_hyphen_values = true)]
    noise: f64,
    /// Rows of persons who have 1 to 20 of them each, anywhere in the file, with a column "person" as the schema's unit
    #[arg(long)]
    persons: bool,
    /// Seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// CSV file to write; its schema goes beside it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace files that exist already
    #[arg(long)]
    overwrite: bool,
}

pub(super) fn generate(arguments: &GenerateArguments) -> Fallible<ExitCode> {
    let synthetic = Synthetic {
        kind: arguments.kind,
        rows: arguments.rows,
        features: arguments.features,
        categories: arguments.categories,
        noise: arguments.noise,
        seed: arguments.seed,
        persons: arguments.persons,
    };
    let schema_path = arguments.out.with_file_name(format!("{}.schema.json", stem(&arguments.out)));
    let mut schema = StagedFile::new(&schema_path, arguments.overwrite)?;
    schema.append(pretty(&synthetic.schema())?.as_bytes())?;
    let staged = StagedFile::new(&arguments.out, arguments.overwrite)?;
    let progress = bar(arguments.rows, "writing", "rows");
    let mut out = BufWriter::with_capacity(1 << 20, staged);
    synthetic.write(&mut out, &|done| progress.set_position(done))?;
    progress.finish_and_clear();
    out.flush().map_err(|e| Error::io(&arguments.out, "write it", e))?;
    out.into_inner().map_err(|e| Error::io(&arguments.out, "write it", e.into_error()))?.publish()?;
    schema.publish()?;
    print_data(&format!("{}\n{}\n", arguments.out.display(), schema_path.display()))?;
    Ok(ExitCode::SUCCESS)
}
