//! Bytes of text per second from a file to encoded rows, and the same rows from Parquet and from a cache, on all threads.
//!
//! `RAYON_NUM_THREADS=2 cargo bench --bench csv` for two threads. Files lie in memory where there is such a folder, so
//! that the disk is left out.

mod history;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rhograd::data::{CsvFile, Schema, Synthetic, SyntheticKind};
use rhograd::preprocess::{CacheUse, Encoder, RowCache};

/// A data file with its schema.
struct Trial {
    name: &'static str,
    path: PathBuf,
    schema: Schema,
}

const OCCUPATIONS: [&str; 6] = ["Craft-repair", "Sales", "Exec-managerial", "Prof-specialty", "Tech-support", "Other"];

fn numeric(folder: &Path, rows: u64) -> Trial {
    let kind = SyntheticKind::Logistic;
    let synthetic = Synthetic { kind, rows, features: 32, categories: 0, noise: 0.5, seed: 1, persons: false };
    let path = folder.join("numeric.csv");
    let mut file = std::fs::File::create(&path).expect("a file");
    synthetic.write(&mut file, &|_| ()).expect("rows");
    Trial { name: "32 numbers", path, schema: synthetic.schema() }
}

fn categories(folder: &Path, rows: u64) -> Trial {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let values = serde_json::to_string(&OCCUPATIONS).expect("a list");
    let columns: Vec<String> = (0..12)
        .map(|j| format!(r#""c{j}":{{"type":"categorical","values":{values}}}"#))
        .chain([r#""age":{"type":"numeric","lower":0,"upper":100}"#.into()])
        .collect();
    let text = format!(
        r#"{{"name":"bench","task":"classification","target":"y","positive":"1","columns":{{{}}}}}"#,
        columns.join(",")
    );
    let schema = Schema::parse(&text, Path::new("schema")).expect("a schema");
    let mut csv = (0..12).map(|j| format!("c{j},")).collect::<String>() + "age,y\n";
    for _ in 0..rows {
        for _ in 0..12 {
            csv.push_str(OCCUPATIONS[rng.random_range(0..OCCUPATIONS.len())]);
            csv.push(',');
        }
        writeln!(csv, "{},{}", rng.random_range(17..90), rng.random_range(0..2)).expect("text");
    }
    let path = folder.join("categories.csv");
    std::fs::write(&path, csv).expect("a file");
    Trial { name: "12 categories", path, schema }
}

/// The same records as a Parquet file: doubles, and texts where the schema has categories.
#[cfg(feature = "parquet")]
fn as_parquet(trial: &Trial, file: &CsvFile) -> PathBuf {
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType};
    use parquet::file::writer::SerializedFileWriter;
    let is_text = |name: &str| trial.schema.categorical().any(|column| column.name == name);
    let declared = |name: &String| match is_text(name) {
        true => format!("OPTIONAL BYTE_ARRAY {name} (UTF8);"),
        false => format!("OPTIONAL DOUBLE {name};"),
    };
    let message = format!("message rows {{ {} }}", file.header().iter().map(declared).collect::<String>());
    let (mut texts, mut numbers) = (vec![Vec::new(); file.header().len()], vec![Vec::new(); file.header().len()]);
    let text: Vec<bool> = file.header().iter().map(|name| is_text(name)).collect();
    file.each_line(|cells| {
        for (place, &text) in text.iter().enumerate() {
            match text {
                true => texts[place].push(ByteArray::from(cells.get(place).to_vec())),
                false => numbers[place].push(cells.number(place).expect("a number")),
            }
        }
        Ok(())
    })
    .expect("lines");
    let path = trial.path.with_extension("parquet");
    let out = std::fs::File::create(&path).expect("a file");
    let schema = parquet::schema::parser::parse_message_type(&message).expect("a schema");
    let mut writer = SerializedFileWriter::new(out, schema.into(), Default::default()).expect("a file");
    let mut group = writer.next_row_group().expect("a row group");
    for (place, &text) in text.iter().enumerate() {
        let levels = vec![1; texts[place].len() + numbers[place].len()];
        let mut column = group.next_column().expect("a column").expect("a column");
        match text {
            true => column.typed::<ByteArrayType>().write_batch(&texts[place], Some(&levels), None),
            false => column.typed::<DoubleType>().write_batch(&numbers[place], Some(&levels), None),
        }
        .expect("values");
        column.close().expect("a column");
    }
    group.close().expect("a row group");
    writer.close().expect("a file");
    path
}

fn loading(c: &mut Criterion) {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.expect("a folder");
    // `cargo bench -- --test` runs everything once: then small files do.
    let rows = if std::env::args().any(|a| a == "--test") { 2_000 } else { 2_000_000 };
    for trial in [numeric(folder.path(), rows), categories(folder.path(), rows)] {
        let file = CsvFile::open(&trial.path).expect("a header");
        let encoder = Encoder::new(&trial.schema, &file, true).expect("the columns");
        let cache = RowCache::new(&trial.path.with_extension("rows"), false).expect("a folder");
        // Until the clock of the file system has moved on, a cache is compared by all bytes of the data.
        std::thread::sleep(Duration::from_millis(200));
        cache.load(&trial.schema, &file, &encoder, &|_| Ok(())).expect("rows");
        let mut group = c.benchmark_group(trial.name);
        group.sample_size(10).throughput(Throughput::Bytes(file.size()));
        // Giving memory back is not part of a start.
        group.bench_function("text", |b| {
            b.iter_batched(|| (), |()| encoder.encode(&file, &|_| Ok(())).expect("rows"), BatchSize::PerIteration);
        });
        #[cfg(feature = "parquet")]
        {
            let columns = CsvFile::open(&as_parquet(&trial, &file)).expect("a header");
            let encoder = Encoder::new(&trial.schema, &columns, true).expect("the columns");
            group.bench_function("Parquet", |b| {
                b.iter_batched(
                    || (),
                    |()| encoder.encode(&columns, &|_| Ok(())).expect("rows"),
                    BatchSize::PerIteration,
                );
            });
        }
        let load = |wanted: CacheUse| {
            let (rows, _, used) = cache.load(&trial.schema, &file, &encoder, &|_| Ok(())).expect("rows");
            assert_eq!(used, wanted);
            rows
        };
        group.bench_function("text, kept in a cache", |b| {
            let remove = || std::fs::remove_file(cache.path()).expect("the cache");
            b.iter_batched(remove, |()| load(CacheUse::Made), BatchSize::PerIteration);
        });
        group.bench_function("cache", |b| {
            b.iter_batched(|| (), |()| load(CacheUse::Used), BatchSize::PerIteration);
        });
        group.finish();
    }
}

criterion_group!(benches, loading);
fn main() {
    history::of_criterion("csv", benches);
}
