//! Runs whose noise is recorded, and runs on neighbours that are given what another run released.
//!
//! A checkpoint holds released values and nothing else of the rows. A run on a neighbour goes on from the checkpoint of the
//! recorded run, so its iterates are the recorded ones; the next release has the recorded noise, because the seed is the
//! same. What is left after the noise is taken off is the exact integer input of that release.

use std::path::{Path, PathBuf};

use rhograd::data::{CsvFile, Schema};
use rhograd::error::Error;
use rhograd::ledger::Ledger;
use rhograd::noise::{NoiseSource, integer_noise};
use rhograd::optim::Planned;
use rhograd::privacy::Charge;
use rhograd::train::{Checkpoint, Loaded, Plan, TrainConfig, load, train_from};
use serde_json::Value;
use tempfile::TempDir;

use crate::invariants::coordinates::covered;
use crate::invariants::replay::Run;

const SEED: u64 = 20_261;

/// Another seed, under which the same releases have other noise.
const OTHER: u64 = 55_102;

/// A configuration whose runs are recorded.
pub struct Case {
    pub name: String,
    pub schema: Schema,
    pub config: TrainConfig,
}

/// What a run left: its checkpoint, line by line, and all else.
pub struct Recording {
    pub kept: Vec<String>,
    /// Every release, one by one.
    pub planned: Vec<Planned>,
    pub run: Run,
}

/// A folder in memory where there is one.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        Desk(if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn loaded(&self, case: &Case, table: &[u8]) -> Loaded {
        std::fs::write(self.path("trial.csv"), table).unwrap();
        let file = CsvFile::open(&self.path("trial.csv")).unwrap();
        load(&case.config, case.schema.clone(), &file, &|_, _| Ok(())).unwrap()
    }
}

/// The releases of a plan, one by one.
fn releases(plan: &Plan) -> Vec<Planned> {
    let one = |Planned { charge, query }: &Planned| Planned { charge: charge.single(), query: query.clone() };
    plan.planned().iter().flat_map(|planned| vec![one(planned); planned.charge.count() as usize]).collect()
}

/// What went into a release: what came out, less the noise of the seed.
fn input(charge: &Charge, release: usize, line: &str, seed: u64) -> Option<Vec<i128>> {
    let event = match charge {
        Charge::Gaussian(event) => event,
        Charge::PoissonGaussian(event) => &event.sampled,
        Charge::AllocatedGaussian(event) => &event.allocated,
        Charge::Exponential(_) => return None,
        Charge::Objective(_)
        | Charge::PrivateSelection(_)
        | Charge::Threshold(_)
        | Charge::Laplace(_)
        | Charge::SparseVector(_) => panic!("no case has one of these"),
    };
    let source = NoiseSource::insecure_from_seed(seed);
    let values = values(line);
    let noise = integer_noise(event.noise, event.log2_scale, values.len(), &source, release as u32).unwrap();
    Some(values.iter().zip(noise).map(|(value, noise)| value - i128::from(noise)).collect())
}

/// The released values on a line of a checkpoint.
pub fn values(line: &str) -> Vec<i128> {
    let line: Value = serde_json::from_str(line).unwrap();
    line["values"].as_str().unwrap().split_whitespace().map(|value| value.parse().unwrap()).collect()
}

/// Trains on a table, from `before` on, and stops when release number `stop` was made, if it is given.
pub fn train(case: &Case, table: &[u8], before: &[String], stop: Option<usize>, noise: NoiseSource) -> Recording {
    let desk = Desk::new();
    let loaded = desk.loaded(case, table);
    assert!(loaded.plan().planned().iter().all(|planned| planned.is_exact(loaded.plan().scope.adjacency)));
    let planned = releases(loaded.plan());
    let path = desk.path("kept");
    if !before.is_empty() {
        std::fs::write(&path, before.join("\n") + "\n").unwrap();
    }
    let mut public = Vec::new();
    let mut ledger = Ledger::in_memory().unwrap();
    let checkpoint = Checkpoint::open(&path).unwrap();
    let trained = train_from(checkpoint, "a table", loaded, &mut ledger, noise, &mut |entry| {
        public.push(entry.to_json()?);
        if stop == Some(public.len()) { Err(Error::numerical("test", "stopped")) } else { Ok(()) }
    });
    match trained {
        Ok(trained) => {
            assert_eq!(public.len(), planned.len(), "{}: every paid release was made", case.name);
            public.push(trained.model.to_json());
        }
        Err(error) => assert!(stop.is_some() && error.to_string().contains("stopped"), "{}: {error}", case.name),
    }
    let text = std::fs::read_to_string(&path).unwrap();
    // The first two lines name the run and its charge; the last is the result, where the run came so far.
    let (beginning, rest): (Vec<_>, Vec<_>) = text.lines().partition(|line| !line.starts_with("{\"values\""));
    let kept = std::iter::once(beginning[..2].join("\n")).chain(rest.into_iter().map(str::to_owned)).collect();
    Recording { kept, planned, run: Run { inputs: Vec::new(), public } }
}

fn seed() -> NoiseSource {
    NoiseSource::insecure_from_seed(SEED)
}

fn others() -> NoiseSource {
    NoiseSource::insecure_from_seed(OTHER)
}

impl Recording {
    /// A whole run with the inputs of all its releases.
    pub fn of(case: &Case, table: &[u8]) -> Self {
        let mut recording = train(case, table, &[], None, seed());
        let lines = recording.kept.iter().skip(1).zip(&recording.planned).enumerate();
        recording.run.inputs =
            lines.map(|(release, (line, planned))| input(&planned.charge, release, line, SEED)).collect();
        assert!(!recording.run.inputs.is_empty(), "{}: something was kept", case.name);
        recording
    }

    /// Checks that every release is its input and the noise of its stream, in each coordinate.
    ///
    /// Each is made once more under another seed, all before it being given. Where a coordinate has no noise, or other noise
    /// than was paid for, what is left after the noise of either seed is taken off differs.
    pub fn is_covered(&self, case: &Case, table: &[u8]) {
        for (release, planned) in self.planned.iter().enumerate() {
            let again = train(case, table, &self.kept[..=release], Some(release + 1), others());
            let (first, second) = (&self.run.inputs[release], &again.kept[release + 1]);
            let second = input(&planned.charge, release, second, OTHER);
            let (Some(first), Some(second)) = (first, second) else { continue };
            covered(first, &second).unwrap_or_else(|e| panic!("{}, release {release}: {e}", case.name));
        }
    }

    /// The stated sensitivity of each release.
    pub fn sensitivities(&self) -> Vec<u64> {
        self.planned.iter().map(|planned| planned.charge.sensitivity()).collect()
    }

    /// The run on another table, given the same releases: the inputs of one of them, and everything that leaves.
    pub fn replayed(&self, case: &Case, table: &[u8], release: usize) -> Run {
        self.replayed_within(case, table, release, &self.whole(case, table))
    }

    /// Everything that leaves a run on another table that is given all releases.
    pub fn whole(&self, case: &Case, table: &[u8]) -> Vec<String> {
        train(case, table, &self.kept, None, seed()).run.public
    }

    /// The run on another table, given the same releases, where everything that leaves it is known: the inputs of one release.
    pub fn replayed_within(&self, case: &Case, table: &[u8], release: usize, whole: &[String]) -> Run {
        let part = train(case, table, &self.kept[..=release], Some(release + 1), seed());
        assert_eq!(part.planned, self.planned, "{}: the plan depends on the rows", case.name);
        let mut inputs = self.run.inputs.clone();
        inputs[release] = input(&self.planned[release].charge, release, &part.kept[release + 1], SEED);
        // What had left when the run was stopped is the beginning of what leaves in the end.
        assert_eq!(part.run.public[..], whole[..=release], "{}", case.name);
        Run { inputs, public: whole.to_vec() }
    }
}
