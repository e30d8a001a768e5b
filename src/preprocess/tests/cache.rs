//! The cache gives the same rows as the data, is used when it may be, and never otherwise.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::data::{CsvFile, Schema};
use crate::kernel::Rows;
use crate::preprocess::{CacheUse, Encoder, LoadReport, RowCache};

const SCHEMA: &str = r#"{"name":"a","task":"classification","target":"y","positive":"1","negative":"0",
    "columns":{"x":{"type":"numeric","lower":0,"upper":10},"c":{"type":"categorical","values":["u","v"]}}}"#;

struct Trial {
    folder: tempfile::TempDir,
    schema: Schema,
}

impl Trial {
    fn new() -> Self {
        let trial = Trial { folder: tempfile::tempdir().unwrap(), schema: schema(SCHEMA) };
        let lines = (0..5000).map(|i| format!("{}.5,{},{}\n", i % 10, ["u", "v", "w"][i % 3], i % 7 % 3));
        fs::write(trial.data(), format!("x,c,y\n{}", lines.collect::<String>())).unwrap();
        trial.wait();
        trial
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("a.csv")
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("a.rows")
    }

    /// Until any further change of the data gets another time.
    fn wait(&self) {
        std::thread::sleep(Duration::from_millis(150));
    }

    fn load_by(&self, verify: bool) -> (Rows, LoadReport, CacheUse) {
        let file = CsvFile::open(&self.data()).unwrap();
        let encoder = Encoder::new(&self.schema, &file, true).unwrap();
        RowCache::new(&self.cache(), verify).unwrap().load(&self.schema, &file, &encoder, &|_| Ok(())).unwrap()
    }

    /// Loads, compares with what the data say, and tells what the cache did.
    #[track_caller]
    fn load(&self) -> CacheUse {
        let (rows, report, used) = self.load_by(false);
        let file = CsvFile::open(&self.data()).unwrap();
        let encoder = Encoder::new(&self.schema, &file, true).unwrap();
        let (expected, counted) = encoder.encode(&file, &|_| Ok(())).unwrap();
        assert!(rows.same_as(&expected) && report == counted, "{used:?}");
        used
    }

    #[track_caller]
    fn renewed(&self, why: &str) {
        match self.load() {
            CacheUse::Renewed(reason) => assert!(reason.contains(why), "{reason}"),
            other => panic!("{other:?}, not renewed because {why}"),
        }
        assert_eq!(self.load(), CacheUse::Used);
    }
}

fn schema(text: &str) -> Schema {
    Schema::parse(text, Path::new("s")).unwrap()
}

#[test]
fn a_second_start_uses_what_the_first_one_made() {
    let trial = Trial::new();
    assert_eq!(trial.load(), CacheUse::Made);
    assert_eq!(trial.load(), CacheUse::Used);
    assert_eq!(trial.load_by(true).2, CacheUse::Used);
    assert_eq!(fs::read_dir(trial.folder.path()).unwrap().count(), 2, "nothing is left over");
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let trial = Trial::new();
    trial.load();
    assert_eq!(fs::metadata(trial.cache()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn other_data_are_never_taken_for_the_cached_ones() {
    let trial = Trial::new();
    trial.load();
    let text = fs::read_to_string(trial.data()).unwrap();
    fs::write(trial.data(), format!("{text}1,u,1\n")).unwrap();
    trial.wait();
    trial.renewed("data have changed");
    // The same size.
    fs::write(trial.data(), text.replacen("1.5", "2.5", 1) + "1,u,1\n").unwrap();
    trial.wait();
    trial.renewed("data have changed");
    // The same size and time of change, in a file put in its place.
    let modified = fs::metadata(trial.data()).unwrap().modified().unwrap();
    let other = trial.folder.path().join("other");
    fs::write(&other, text.replacen("1.5", "3.5", 1) + "1,u,1\n").unwrap();
    fs::File::options().append(true).open(&other).unwrap().set_modified(modified).unwrap();
    fs::rename(&other, trial.data()).unwrap();
    trial.wait();
    trial.renewed("data have changed");
}

#[test]
fn the_same_data_with_another_time_are_known_by_their_digest() {
    let trial = Trial::new();
    trial.load();
    let file = fs::File::options().append(true).open(trial.data()).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(1_000_000)).unwrap();
    trial.wait();
    assert_eq!(trial.load(), CacheUse::Used);
    fs::copy(trial.data(), trial.folder.path().join("copy")).unwrap();
    fs::rename(trial.folder.path().join("copy"), trial.data()).unwrap();
    trial.wait();
    assert_eq!(trial.load(), CacheUse::Used);
}

#[test]
fn a_change_that_no_clock_has_seen_is_found() {
    // The cache is made in the same tick in which the data were written, as far as anybody can tell.
    let trial = Trial::new();
    let text = fs::read_to_string(trial.data()).unwrap();
    for round in 0..5 {
        fs::write(trial.data(), text.replacen("1.5", &format!("{round}.5"), 1)).unwrap();
        trial.load();
        fs::write(trial.data(), text.replacen("1.5", &format!("{round}.7"), 1)).unwrap();
        assert!(matches!(trial.load(), CacheUse::Renewed(_)), "round {round}");
    }
}

#[cfg(unix)]
#[test]
fn a_full_check_finds_what_the_file_system_hides() {
    // The note in the cache says that nothing changed since; only the bytes tell.
    let trial = Trial::new();
    trial.load();
    let cached = fs::read(trial.cache()).unwrap();
    let text = fs::read_to_string(trial.data()).unwrap();
    fs::write(trial.data(), text.replacen("1.5", "2.5", 1)).unwrap();
    trial.wait();
    trial.load();
    // The new stamp with the old digest: what a file system without times would give.
    let reader = crate::preprocess::SegmentReader::open(&trial.cache()).unwrap();
    let mut note: serde_json::Value = reader.note().unwrap();
    fs::write(trial.cache(), cached).unwrap();
    let old = crate::preprocess::SegmentReader::open(&trial.cache()).unwrap();
    note["digest"] = old.note::<serde_json::Value>().unwrap()["digest"].clone();
    let rows = old.read_all().unwrap();
    let out = fs::File::create(trial.folder.path().join("b.rows")).unwrap();
    let mut writer = crate::preprocess::SegmentWriter::new(out, &trial.cache(), rows.shape()).unwrap();
    writer.append(&rows).unwrap();
    writer.finish(&note).unwrap();
    fs::rename(trial.folder.path().join("b.rows"), trial.cache()).unwrap();
    assert_eq!(trial.load_by(false).2, CacheUse::Used);
    assert!(matches!(trial.load_by(true).2, CacheUse::Renewed(_)));
}

#[test]
fn another_schema_or_header_makes_it_anew() {
    let mut trial = Trial::new();
    trial.load();
    trial.schema = schema(&SCHEMA.replace("\"upper\":10", "\"upper\":9"));
    trial.renewed("schema");
    trial.schema = schema(&SCHEMA.replace("\"v\"", "\"w\""));
    trial.renewed("schema");
    fs::write(trial.data(), fs::read_to_string(trial.data()).unwrap().replace("x,c,y\n", "x, c,y\n")).unwrap();
    trial.wait();
    assert!(matches!(trial.load(), CacheUse::Renewed(_)));
}

#[test]
fn what_is_left_of_a_cache_is_made_anew() {
    let trial = Trial::new();
    trial.load();
    let good = fs::read(trial.cache()).unwrap();
    for size in [0, 5, 13, 64, good.len() / 2, good.len() - 1] {
        fs::write(trial.cache(), &good[..size]).unwrap();
        trial.renewed("cannot be used");
    }
    for place in [0, 14, 16, 30, 100, good.len() / 2, good.len() - 200, good.len() - 20, good.len() - 1] {
        let mut bad = good.clone();
        bad[place] ^= 4;
        fs::write(trial.cache(), bad).unwrap();
        trial.renewed("cannot be used");
    }
    let text = String::from_utf8_lossy(&good).into_owned();
    assert!(text.contains("rhograd-rows/1"));
    let next: Vec<u8> =
        good.iter().enumerate().map(|(i, &b)| if i == 13 || i == good.len() - 3 { b'2' } else { b }).collect();
    fs::write(trial.cache(), next).unwrap();
    trial.renewed("another format or version");
}

#[test]
fn no_other_file_is_overwritten() {
    let trial = Trial::new();
    let refused = |path: &Path| RowCache::new(path, false).unwrap_err().to_string();
    assert!(refused(&trial.data()).contains("is no cache"));
    assert!(refused(trial.folder.path()).contains("directory"));
    assert!(refused(&trial.folder.path().join("none/a.rows")).contains("no folder"));
    fs::write(trial.cache(), "rhograd is fine\n").unwrap();
    assert!(refused(&trial.cache()).contains("is no cache"));
}

#[cfg(unix)]
#[test]
fn a_cache_that_cannot_be_written_is_no_error() {
    let trial = Trial::new();
    let gone = trial.folder.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let cache = RowCache::new(&gone.join("a.rows"), false).unwrap();
    fs::remove_dir(&gone).unwrap();
    let file = CsvFile::open(&trial.data()).unwrap();
    let encoder = Encoder::new(&trial.schema, &file, true).unwrap();
    let (rows, _, used) = cache.load(&trial.schema, &file, &encoder, &|_| Ok(())).unwrap();
    assert_eq!(rows.len(), 5000);
    assert!(matches!(used, CacheUse::Failed(_)), "{used:?}");
}
