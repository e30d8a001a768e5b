//! What every experiment is told: how much to measure, where to write, and which error to plant.

use std::collections::HashSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rhograd::error::{Error, Fallible};
use rhograd::noise::NoiseSource;
use rhograd::plot::{Figure, Format, Panel};
use rhograd::train::{Algorithm, sha256_hex};

use crate::looks::dressed;
use crate::results::Earlier;
use crate::utility::data::OWN;

/// A known error put into an experiment, to see that its verdict notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Plant {
    /// Half the noise that the budget asks for.
    HalfNoise,
    /// A step size that is far from that of the theory.
    WrongStep,
}

/// One run of one experiment.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Fewer points and seeds, for a check within a minute.
    pub quick: bool,
    /// Folder for results, plot and fits.
    pub out: PathBuf,
    /// The name of the experiment, and of its pictures.
    pub name: String,
    /// Folder for the picture and its panels, one file each, as SVG and PDF.
    pub pictures: PathBuf,
    /// What becomes of earlier results in the folder for results.
    pub earlier: Earlier,
    /// The planted error, if any.
    pub plant: Option<Plant>,
    /// What only `utility` wants to know, and of it the data `losses` and `persons`, too.
    pub utility: UtilityChoice,
}

/// Data and algorithms of the utility experiment.
#[derive(Clone, Debug, Default)]
pub struct UtilityChoice {
    /// One algorithm; without it all of them, or the default one in a quick run.
    pub algorithm: Option<Algorithm>,
    /// Pairs of a training and a test file, and names of data sets of the repository; without any the latter.
    pub data: Vec<PathBuf>,
}

impl Setup {
    /// The usual place and size: a full run writes where its results are committed, a quick one beside them and anew.
    pub fn of(experiment: &str, quick: bool, out: Option<&Path>) -> Self {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join(experiment);
        let (usual, earlier) = if quick { (home.join("quick"), Earlier::Fresh) } else { (home, Earlier::Resume) };
        let (out, earlier) = out.map_or((usual, earlier), |folder| (folder.join(experiment), Earlier::Resume));
        let (name, pictures) = (experiment.to_owned(), out.join("figures"));
        Setup { quick, out, name, pictures, earlier, plant: None, utility: UtilityChoice::default() }
    }

    /// A file of this run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.out.join(name)
    }

    /// Writes the picture of this run; and it and each of its panels as SVG and PDF, for papers.
    ///
    /// # Errors
    /// When it cannot be drawn or written.
    pub fn draw(&self, panels: &[Panel]) -> Fallible<()> {
        let panels = dressed(panels);
        let write =
            |path: &Path, bytes: Vec<u8>| std::fs::write(path, bytes).map_err(|e| Error::io(path, "write it", e));
        write(&self.file("plot.svg"), Figure::of(&panels).to_bytes(Format::Svg)?)?;
        std::fs::create_dir_all(&self.pictures).map_err(|e| Error::io(&self.pictures, "create it", e))?;
        for (format, extension) in [(Format::Svg, "svg"), (Format::Pdf, "pdf")] {
            let path = |name: String| self.pictures.join(format!("{name}.{extension}"));
            write(&path(self.name.clone()), Figure::of(&panels).to_bytes(format)?)?;
            for at in 0..panels.len() {
                write(&path(format!("{}-{}", self.name, at + 1)), Figure::column(&panels, at).to_bytes(format)?)?;
            }
        }
        Ok(())
    }

    /// What every measurement depends on besides its key.
    pub fn configuration(&self, own: &str) -> String {
        match self.plant {
            None => own.to_owned(),
            Some(plant) => format!("{own} planted {plant:?}"),
        }
    }

    /// The data sets that there are files of results of, those of the repository first.
    pub fn data_sets(&self) -> Vec<String> {
        let files = std::fs::read_dir(&self.out).into_iter().flatten().flatten();
        let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut sets: Vec<String> =
            names.filter_map(|name| Some(name.strip_prefix("results-")?.strip_suffix(".csv")?.to_owned())).collect();
        sets.sort_by_key(|name| (!OWN.contains(&name.as_str()), name.clone()));
        sets
    }

    /// The lines of measurements that there are.
    pub fn measured(&self) -> HashSet<String> {
        let files = std::fs::read_dir(&self.out).into_iter().flatten().flatten().map(|entry| entry.path());
        let results =
            files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("results")));
        let texts = results.map(|path| std::fs::read_to_string(path).unwrap_or_default());
        texts.flat_map(|text| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()).collect()
    }

    /// Removes the notes of runs whose measurements are all made anew; with several files of results some may stay, and the notes with them.
    ///
    /// # Errors
    /// When they cannot be removed.
    pub fn forget(&self) -> Fallible<()> {
        let path = self.file("runs.jsonl");
        if self.data_sets().is_empty() && path.exists() {
            std::fs::remove_file(&path).map_err(|e| Error::io(&path, "remove it", e))?;
        }
        Ok(())
    }

    /// Adds a line of JSON to `runs.jsonl`: the machine, the [`commit`] that the run began at, its seconds, and how many lines of
    /// measurements it made.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(&self, measured: usize, commit: &str, seconds: f64) -> Fallible<()> {
        let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = processors.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
        let note = serde_json::json!({
            "measured": measured,
            "commit": commit,
            "seconds": (seconds * 10.0).round() / 10.0,
            "optimized": !cfg!(debug_assertions),
            "system": format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            "processor": processor.map_or("unknown", |(_, name)| name),
            "cores": std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        });
        let path = self.file("runs.jsonl");
        let failed = |e| Error::io(&path, "append to it", e);
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(&path).map_err(failed)?;
        file.write_all(format!("{note}\n").as_bytes()).map_err(failed)
    }

    /// Refuses a planted error that an experiment cannot take.
    ///
    /// # Errors
    /// When it is planted.
    pub fn refuse(&self, plant: Plant, why: &str) -> Fallible<()> {
        if self.plant == Some(plant) {
            return Err(Error::parameter("--plant", why, "plant the other error"));
        }
        Ok(())
    }
}

/// The commit of the working tree, marked where a file differs that a run reads: tables, pictures, notes and pages are what runs write.
pub fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    let written = ["csv", "svg", "jsonl", "md"].map(|extension| format!(":(exclude,top)*.{extension}"));
    let status = ["status", "--porcelain", "--untracked-files=no", "--", ":/"].into_iter();
    let changed = git(&status.chain(written.iter().map(String::as_str)).collect::<Vec<_>>());
    match (git(&["rev-parse", "--short=12", "HEAD"]), changed.as_deref()) {
        (None, _) => "unknown".to_owned(),
        (Some(commit), Some("")) => commit,
        (Some(commit), _) => format!("{commit}-dirty"),
    }
}

/// The noise of a measurement: the seed makes it reproducible, so such runs protect nobody.
pub fn noise(seed: u64) -> NoiseSource {
    NoiseSource::insecure_from_seed(seed)
}

/// The seed of a measurement from its whole key, so that no two of them share their noise.
pub fn seed_of(key: &[String]) -> u64 {
    u64::from_str_radix(&sha256_hex(key.join(",").as_bytes())[..16], 16).unwrap_or(0)
}
