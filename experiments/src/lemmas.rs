//! Lemmas that lecture notes state without constants, on normal noise: what each loses. Formulas are checked, nothing is drawn.

use rhograd::accounting::notion::{ApproximateDp, Zcdp};
use rhograd::accounting::profile::SubgaussianProfile;
use rhograd::accounting::rdp::{self, ApproximateRenyi};
use rhograd::accounting::{belief, gaussian};
use rhograd::error::Fallible;
use rhograd::num::special::normal_tail;
use rhograd::plot::{Panel, Scale, Series};
use rhograd::privacy::Delta;

use crate::fit::range;
use crate::results::{Results, Row, cell};
use crate::setup::{Plant, Setup};
use crate::verdict::{Finding, Verdict};

/// The claim.
pub const CLAIM: &str = "on normal noise the converse of the tail bound loses a factor like ln(1/rho), the posterior event one of 2 to 11 from mu 1 on, and one Renyi order at most a sixth of epsilon (formula check)";

const MUS: [f64; 9] = [0.01, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 4.0];
const DELTA: f64 = 1e-6;

/// From this mu on the posterior event is drawn.
const SEEN: f64 = 0.5;

/// The lemmas, by what they bound.
const CONVERSE: &str = "rho of the converse over rho";
const POSTERIOR: &str = "probability that a belief goes further, over delta";
const ORDER: &str = "epsilon by one order over the exact one";

/// What a lemma says of normal noise, over the truth; `apart` is the truth's distance over that of the lemma.
fn ratio(lemma: &str, mu: f64, apart: f64) -> Fallible<f64> {
    let (rho, delta) = (mu * mu / 2.0, Delta::new(DELTA)?);
    let truth = apart * mu;
    Ok(match lemma {
        // The tail bound promises (rho + 2 sqrt(rho L), e^-L) for every L; what all these say of the slope again.
        CONVERSE => SubgaussianProfile::of_zcdp(Zcdp::new(0.0, rho)?)?.to_zcdp()?.rho() / (truth * truth / 2.0),
        POSTERIOR => {
            // Odds grow by more than this factor with a probability of at most DELTA, by a guarantee at half of it.
            let epsilon = gaussian::epsilon(mu, Delta::new(DELTA / 2.0)?)?;
            let factor = belief::ln_odds_factor(ApproximateDp::new(epsilon.value(), DELTA / 2.0)?, DELTA)?;
            normal_tail((factor - truth * truth / 2.0) / truth) / DELTA
        }
        _ => {
            let curve = rdp::Component::Gaussian { noise_multiplier: 1.0 / mu }.into();
            let alpha = 1.0 + (2.0 * -DELTA.ln()).sqrt() / mu;
            let by_order = ApproximateRenyi::of_curve(&curve, alpha)?.to_epsilon(delta)?;
            by_order.value() / gaussian::epsilon(truth, delta)?.value()
        }
    })
}

/// Computes, draws and judges.
///
/// # Errors
/// When results cannot be written, and for a planted step size: there are no steps.
pub fn run(setup: &Setup) -> Fallible<Verdict> {
    setup.refuse(Plant::WrongStep, "there are no steps here")?;
    let apart = if setup.plant == Some(Plant::HalfNoise) { 2.0 } else { 1.0 };
    let configuration = setup.configuration(&format!("delta {DELTA}"));
    let path = setup.file("results.csv");
    let mut results = Results::open(&path, &["lemma", "mu"], &["ratio"], &configuration, setup.earlier)?;
    for lemma in [CONVERSE, POSTERIOR, ORDER] {
        for mu in MUS {
            let key = [lemma.to_owned(), mu.to_string()];
            if !results.has(&key) {
                results.add(&key, &[cell(ratio(lemma, mu, apart)?)])?;
            }
        }
    }
    setup.draw(&panels(&results))?;
    let of = |lemma: &str, from: f64| {
        range(results.column("ratio", |row| row.text("lemma") == lemma && row.number("mu") >= from))
    };
    // What the converse loses per factor 100 of rho, where rho is small.
    let loss = |mu: f64| range(results.column("ratio", |row| row.text("lemma") == CONVERSE && row.is("mu", mu))).0;
    Ok(Verdict(vec![
        Finding::exact(format!("least {CONVERSE}"), of(CONVERSE, 0.0).0, (1.0, f64::INFINITY)),
        Finding::exact(format!("largest {CONVERSE}"), of(CONVERSE, 0.0).1, (10.0, 20.0)),
        Finding::exact(
            "what the converse loses more, for a hundredth of rho, mu 0.01 over 0.1",
            loss(0.01) - loss(0.1),
            (4.0, 7.0),
        ),
        Finding::exact(format!("largest {POSTERIOR}"), of(POSTERIOR, 0.0).1, (0.0, 1.0)),
        Finding::exact(format!("least {POSTERIOR}, from mu 1 on"), of(POSTERIOR, 1.0).0, (0.05, 1.0)),
        Finding::exact(format!("least {ORDER}"), of(ORDER, 0.0).0, (1.0, f64::INFINITY)),
        Finding::exact(format!("largest {ORDER}"), of(ORDER, 0.0).1, (1.0, 1.17)),
    ]))
}

fn panels(results: &Results) -> Vec<Panel> {
    let panel = |title: &str, lemma: &str, from: f64, y: &str| {
        let picked = |row: &Row<'_>| row.text("lemma") == lemma && row.number("mu") >= from;
        let points = results.rows().filter(picked).map(|row| (row.number("mu"), row.number("ratio"), 0.0));
        Panel::of(title, vec![Series::measured("normal noise", points.collect())])
            .x("mu", Scale::Log)
            .y(y, Scale::Linear)
    };
    vec![
        panel("the converse of the tail bound", CONVERSE, 0.0, "rho given back, over rho"),
        // A belief that hardly moves is bounded far too high.
        panel("the posterior event", POSTERIOR, SEEN, "probability over delta"),
        panel("Renyi privacy at one order", ORDER, 0.0, "epsilon over the exact one"),
    ]
}
