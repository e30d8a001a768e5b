//! Faults of paying for releases.

use std::fs;
use std::path::Path;

use rhograd::error::Fallible;
use rhograd::grid::MomentWeights;
use rhograd::ledger::{Cap, Ledger, Reservation};
use rhograd::noise::NoiseSource;
use rhograd::privacy::{Adjacency, Charge, DatasetId, GaussianCharge, NoiseLaw, Rho, Scope};
use rhograd::private::{DescribeQuery, PrivateDataset, charge_run, query};
use rhograd_faults::{Honest, Parts};

const RELEASES: u64 = 4;

const WEIGHTS: MomentWeights =
    MomentWeights { count: 5, features: 3, squares: 1, label: 0, label_square: 0, shares: 0, sizes: 0 };

fn scope() -> Scope {
    Scope::of_rows(DatasetId::new("trial").unwrap(), Adjacency::AddRemove)
}

fn event(count: u64) -> GaussianCharge {
    let sensitivity = query::Moments { weights: WEIGHTS, columns: 2 }.sensitivity(Adjacency::AddRemove);
    GaussianCharge { what: "moments".into(), sensitivity, log2_scale: 30, noise: NoiseLaw::FlooredNormal, count }
}

fn spent(path: &Path) -> Rho {
    let summary = |mut ledger: Ledger| ledger.summary(&scope().dataset);
    Ledger::open_existing(path).and_then(summary).map_or_else(|_| Rho::zero(), |summary| summary.spent)
}

/// Makes all releases of a run, calling `publish` for each, and charges them to the ledger at some time.
type Run = dyn Fn(&Path, &mut dyn FnMut()) -> Fallible<()>;

/// The gate of rhograd.
fn honest(path: &Path, publish: &mut dyn FnMut()) -> Fallible<()> {
    let data = PrivateDataset::new(Honest.rows(b"x,z,c,y\n1,0,u,yes\n"), scope());
    let mut ledger = Ledger::open_or_create(path)?;
    let mut paid = charge_run(&mut ledger, &scope(), &[event(RELEASES)], NoiseSource::insecure_from_seed(1))?;
    for _ in 0..RELEASES {
        paid.permit::<GaussianCharge>()?.release(data.moments(&WEIGHTS)?)?;
        publish();
    }
    Ok(())
}

/// Whatever is visible is in the ledger by then.
fn stays_behind_the_ledger(run: &Run) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let (mut published, mut ahead) = (0, None);
    run(&path, &mut || {
        published += 1;
        if spent(&path) < event(published).rho() {
            ahead.get_or_insert(published);
        }
    })
    .unwrap();
    assert_eq!(published, RELEASES);
    ahead.map_or(Ok(()), |release| Err(format!("release {release} is visible and not charged")))
}

#[test]
fn fault_23_one_step_less_is_charged() {
    stays_behind_the_ledger(&honest).unwrap();
    let one_less: &Run = &|path, publish| {
        Ledger::open_or_create(path)?.reserve(&scope(), &[event(RELEASES - 1)], true)?;
        (0..RELEASES).for_each(|_| publish());
        Ok(())
    };
    assert_eq!(stays_behind_the_ledger(one_less), Err("release 4 is visible and not charged".into()));
}

#[test]
fn fault_30_the_ledger_is_written_after_the_release() {
    stays_behind_the_ledger(&honest).unwrap();
    let afterwards: &Run = &|path, publish| {
        (0..RELEASES).for_each(|_| publish());
        Ledger::open_or_create(path)?.reserve(&scope(), &[event(RELEASES)], true)?;
        Ok(())
    };
    assert_eq!(stays_behind_the_ledger(afterwards), Err("release 1 is visible and not charged".into()));
}

/// Goes on with a run after another one was charged, given the ledger, its copy of when the run was stopped, and the receipt.
type Resume = dyn Fn(&Path, &Path, &Reservation);

/// Going on with a run takes nothing out of the ledger.
fn spending_never_falls(resume: &Resume) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let [path, copy] = ["ledger.sqlite", "copy.sqlite"].map(|name| folder.path().join(name));
    let reserve = || Ledger::open_or_create(&path).unwrap().reserve(&scope(), &[event(RELEASES)], true).unwrap();
    let stopped = reserve();
    fs::copy(&path, &copy).unwrap();
    reserve();
    let before = spent(&path);
    resume(&path, &copy, &stopped);
    let after = spent(&path);
    if after < before { Err(format!("{} becomes {}", before.upper(), after.upper())) } else { Ok(()) }
}

#[test]
fn fault_24_going_on_resets_the_ledger() {
    spending_never_falls(&|path, _, stopped| {
        let charges: Vec<Charge> = vec![event(RELEASES).into()];
        let mut ledger = Ledger::open_existing(path).unwrap();
        ledger.resume(&scope(), &charges, true, stopped.run(), stopped.position().unwrap(), 2).unwrap();
    })
    .unwrap();
    let reset: &Resume = &|path, copy, _| {
        fs::copy(copy, path).unwrap();
    };
    assert!(spending_never_falls(reset).is_err());
}

/// How many shares of a cap are granted, of one more than fill it.
type Granted = dyn Fn(&Rho, &GaussianCharge, u64) -> u64;

/// So many equal shares of a cap, and no more, fill it.
fn shares_fill_their_cap(granted: &Granted) -> Result<(), String> {
    for shares in 1..=60 {
        // An odd cost, which no float holds.
        let share = |count| GaussianCharge { sensitivity: 34_769_610_577, log2_scale: 40, ..event(count) };
        let found = granted(&share(shares).rho(), &share(1), shares + 1);
        if found != shares {
            return Err(format!("{found} of {shares} shares"));
        }
    }
    Ok(())
}

#[test]
fn fault_26_rho_is_a_float() {
    shares_fill_their_cap(&|cap, share, asked| {
        let mut ledger = Ledger::in_memory().unwrap();
        ledger.init(&scope(), Some(&Cap::rho(cap, 0.0).unwrap())).unwrap();
        (0..asked).filter(|_| ledger.reserve(&scope(), std::slice::from_ref(share), true).is_ok()).count() as u64
    })
    .unwrap();
    let float: &Granted = &|cap, share, asked| {
        let (cap, share) = (cap.lower(), share.rho().lower());
        let mut spent = 0.0;
        let mut fits = |_: &u64| {
            let fits = spent + share <= cap;
            spent += if fits { share } else { 0.0 };
            fits
        };
        (0..asked).filter(&mut fits).count() as u64
    };
    assert!(shares_fill_their_cap(float).is_err());
}
