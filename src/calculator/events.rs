//! Questions about whatever was done to the data: events within events, as statements and ledgers record them.

use super::answer::Answer;
use super::conversion::adjacency;
use super::kind::Kind;
use super::params::Params;
use crate::accounting::pld::{self, Pld};
use crate::accounting::rdp::{self, Form};
use crate::accounting::zcdp;
use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, DpEvent};

pub(super) const KINDS: &[Kind] = &[
    Kind::new("event_to_eps", &["event", "adjacency", "delta"], to_epsilon),
    Kind::new("event_to_delta", &["event", "adjacency", "epsilon"], to_delta),
];

/// Width of the interval of delta by privacy loss distributions relative to it.
const DELTA_TOLERANCE: f64 = 1e-3;

fn asked(p: &Params<'_>) -> Fallible<(DpEvent, Adjacency)> {
    let event = serde_json::from_value(p.get("event")?.clone()).map_err(|e| {
        let cure = "give an object with \"kind\", such as {\"kind\": \"single\", \"mechanism\": {\"mechanism\": \"gaussian\", \"noise_multiplier\": 1}}";
        Error::parameter("event", format!("is not understood: {e}"), cure)
    })?;
    Ok((event, adjacency(p)?))
}

/// Every accountant that has a bound for the event; the refusal of the first where none has.
fn bounds(answers: [Fallible<Answer>; 2]) -> Fallible<Answer> {
    let [first, second] = answers;
    match (first, second) {
        (Ok(one), Ok(other)) => Ok(one.and(other)),
        (Ok(answer), Err(_)) | (Err(_), Ok(answer)) => Ok(answer),
        (Err(error), Err(_)) => Err(error),
    }
}

fn to_epsilon(p: &Params<'_>) -> Fallible<Answer> {
    let ((event, relation), delta) = (asked(p)?, p.delta("delta")?);
    // No law is one accountant less; bounds that contradict each other are an error.
    let by_law = match Pld::new(&event, relation) {
        Ok(law) => Ok(law.narrow_epsilon(delta, f64::INFINITY)?),
        Err(unknown) => Err(unknown),
    };
    let by_law =
        by_law.map(|found| Answer::new().number("epsilon_pld", found.upper).number("epsilon_pld_lower", found.lower));
    let by_orders = rdp::curve(&event, relation).and_then(|curve| rdp::epsilon(&curve, delta, Form::Improved));
    let by_orders = by_orders.map(|best| Answer::new().number("epsilon_rdp", best.value));
    let answer = bounds([by_law, by_orders])?;
    // Where every part has a rho, and none fails outright.
    Ok(match zcdp::of_event(&event, relation) {
        Ok(cost) if cost.ln_delta() == f64::NEG_INFINITY => {
            answer.number("xi", cost.zcdp().xi()).number("rho", cost.zcdp().rho())
        }
        _ => answer,
    })
}

fn to_delta(p: &Params<'_>) -> Fallible<Answer> {
    let ((event, relation), epsilon) = (asked(p)?, p.epsilon("epsilon")?);
    let by_law = pld::ln_delta(&event, relation, epsilon, DELTA_TOLERANCE)
        .map(|found| Answer::new().ln_delta("delta_pld", found.upper).number("log_delta_pld_lower", found.lower));
    let by_orders = rdp::curve(&event, relation).and_then(|curve| rdp::ln_delta(&curve, epsilon, Form::Improved));
    bounds([by_law, by_orders.map(|best| Answer::new().ln_delta("delta_rdp", best.value))])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::accounting::pld;
    use crate::calculator::answer;
    use crate::privacy::{Adjacency, Delta, DpEvent, Mechanism};

    #[test]
    fn events_are_answered_as_the_accountants_do() {
        let step = json!({"kind": "poisson-sampled", "rate": 0.01, "mechanism": {"mechanism": "gaussian", "noise_multiplier": 1.1}});
        let count = json!({"kind": "single", "mechanism": {"mechanism": "laplace", "scale": 10.0}});
        let whole = json!({"kind": "composed", "events": [{"kind": "repeated", "event": step, "count": 500}, count]});
        let params = json!({"event": whole, "adjacency": "add_remove", "delta": 1e-6});
        let found = answer("event_to_eps", &params).unwrap();
        let [upper, lower, orders] =
            ["epsilon_pld", "epsilon_pld_lower", "epsilon_rdp"].map(|name| found[name].as_f64().unwrap());
        let steps = DpEvent::poisson(Mechanism::Gaussian { noise_multiplier: 1.1 }, 0.01, 500);
        let both = DpEvent::Composed {
            events: vec![steps, DpEvent::Single { mechanism: Mechanism::Laplace { scale: 10.0 } }],
        };
        let truth = pld::narrow_epsilon(&both, Adjacency::AddRemove, Delta::new(1e-6).unwrap(), f64::INFINITY).unwrap();
        assert!((upper, lower) == (truth.upper, truth.lower) && upper < orders, "{found:?}");
        let back =
            answer("event_to_delta", &json!({"event": whole, "adjacency": "add_remove", "epsilon": upper})).unwrap();
        let (delta, below) = (back["delta_pld"].as_f64().unwrap(), back["log_delta_pld_lower"].as_f64().unwrap());
        assert!((0.99e-6..=1.01e-6).contains(&delta) && below <= delta.ln(), "{back:?}");
    }

    #[test]
    fn small_epsilons_are_told_as_narrowly_as_large_ones() {
        for (z, rate, count) in [(3.2, 0.001, 12), (6.5, 0.0002, 78), (530.0, 0.26, 8)] {
            let step = json!({"kind": "poisson-sampled", "rate": rate, "mechanism": {"mechanism": "gaussian", "noise_multiplier": z}});
            let event = json!({"kind": "repeated", "event": step, "count": count});
            for adjacency in ["add_remove", "replace_one"] {
                let found =
                    answer("event_to_eps", &json!({"event": event, "adjacency": adjacency, "delta": 1e-9})).unwrap();
                let [upper, lower] = ["epsilon_pld", "epsilon_pld_lower"].map(|name| found[name].as_f64().unwrap());
                assert!(
                    0.0 < lower && lower <= upper && upper < 0.02 && upper - lower <= 1e-4 * upper,
                    "{adjacency} {found:?}"
                );
            }
        }
    }

    #[test]
    fn what_only_one_accountant_knows_is_answered_and_what_none_does_is_refused() {
        let run = json!({"kind": "single", "mechanism": {"mechanism": "gaussian", "noise_multiplier": 10.0}});
        let best = json!({"kind": "selected", "event": run, "runs": {"distribution": "poisson", "mean": 10.0}});
        let found = answer("event_to_eps", &json!({"event": best, "adjacency": "add_remove", "delta": 1e-6})).unwrap();
        assert!(found.contains_key("epsilon_rdp") && !found.contains_key("epsilon_pld"), "{found:?}");
        let plain = answer("event_to_eps", &json!({"event": run, "adjacency": "replace_one", "delta": 1e-6})).unwrap();
        assert!((plain["rho"].as_f64().unwrap() - 0.02).abs() < 1e-12, "{plain:?}");
        for event in [json!({"kind": "guess"}), json!([]), json!({"kind": "single"})] {
            let refused = answer("event_to_eps", &json!({"event": event, "adjacency": "add_remove", "delta": 1e-6}));
            assert!(refused.unwrap_err().to_string().starts_with("event: "));
        }
        let fixed = json!({"kind": "sampled-without-replacement", "fraction": 0.1, "mechanism": {"mechanism": "gaussian", "noise_multiplier": 4.0}});
        let params = |adjacency: &str| json!({"event": fixed, "adjacency": adjacency, "epsilon": 1.0});
        assert!(answer("event_to_delta", &params("add_remove")).is_err());
        assert!(answer("event_to_delta", &params("replace_one")).unwrap().contains_key("delta_rdp"));
    }
}
