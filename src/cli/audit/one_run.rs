//! `rhograd audit --one-run`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::many_runs::{AuditArguments, planted};
use super::picture;
use crate::audit::{OneRun, OneRunFinding, Reading};
use crate::cli::output::{bar, print, print_json, warn};
use crate::error::Fallible;
use crate::plot::Format;

pub(super) fn run(arguments: &AuditArguments) -> Fallible<ExitCode> {
    let format = arguments.out.as_deref().map(Format::of).transpose()?;
    let audit = OneRun {
        config: arguments.config()?,
        unit: arguments.unit()?,
        fault: arguments.fault,
        canaries: arguments.canaries,
        confidence: arguments.confidence,
        seed: arguments.seed,
    };
    let progress = bar(audit.runs() as u64, "training", "runs");
    let finding = audit.run(|done| progress.set_position(done as u64))?;
    progress.finish_and_clear();
    if let (Some(path), Some(format)) = (&arguments.out, format) {
        let title = format!("one run, {} canaries", arguments.canaries);
        let path = (path.as_path(), arguments.overwrite);
        picture::write(path, format, &title, &finding.guarantee, &measured(&finding))?;
    }
    let (audited, unit) = arguments.audited(&audit.config, audit.unit.as_ref());
    if arguments.json {
        let mut summary = summary(&finding, arguments)?;
        summary["unit"] = unit;
        print_json(&summary)?;
    } else {
        print(&(audited + &page(&finding, arguments)?))?;
    }
    if !finding.refuted() && !finding.saturated() {
        warn("canaries show less than the clip, so nothing is shown: leave --clip and --learning-rate open");
    } else if !finding.refuted() && !finding.powerful() {
        warn("a planted fault was not found, so nothing is shown: raise --canaries or the budget, or lower --fault");
    }
    Ok(ExitCode::from(u8::from(finding.refuted() || !finding.powerful())))
}

fn page(finding: &OneRunFinding, arguments: &AuditArguments) -> Fallible<String> {
    let OneRunFinding { mu, delta, epsilon, share, present, honest, faulty, .. } = finding;
    let mut text = format!("one run, {} canaries at right angles, {present} of them there\n", arguments.canaries);
    text += &format!("  claim           mu {mu:.3}, epsilon {:.3} at delta {}\n", epsilon.value(), delta.value());
    let said = |reading: &Reading| -> Fallible<String> {
        let word = if finding.above(reading) { "above" } else { "not above" };
        let limits = reading.mu;
        let [low, high] = [finding.epsilon_of(limits.lower)?.value(), finding.epsilon_of(limits.upper)?.value()];
        let spread = format!("mu {:.3} [{:.3}, {:.3}]", limits.estimate, limits.lower, limits.upper);
        let parts = format!("signal x {:.3}, noise x {:.3}", reading.signal, reading.noise);
        Ok(format!("{spread}, epsilon [{low:.3}, {high:.3}], {word} the claim; {parts}"))
    };
    text += &format!("                  of which canaries can show {:.1}%\n", 100.0 * share);
    text += &format!("  this trainer    {}\n", said(honest)?);
    let guesses = honest.guesses;
    text += &format!("                  whatever the law of the noise: {} of {} guesses", guesses.right, guesses.made);
    let [delta, claim] = [finding.guess_delta.value(), finding.guess_epsilon.value()];
    text += &format!(" right, epsilon at least {:.3} at delta {delta:.2e} ({claim:.3} claimed)\n", honest.epsilon);
    for (fault, reading) in faulty {
        text += &format!("  {:<15} {}\n", planted(*fault), said(reading)?);
    }
    let found = faulty.iter().filter(|(_, reading)| finding.above(reading)).count();
    text += &format!("\nplanted faults  {found} of {} found\n", faulty.len());
    text += &match (finding.refuted(), finding.powerful()) {
        (true, _) => format!("verdict         REFUTED, with confidence {}\n", arguments.confidence),
        (false, true) => "verdict         not refuted; an audit can refute a claim and never prove it\n".into(),
        (false, false) => "verdict         none: the audit is too weak\n".into(),
    };
    Ok(text)
}

fn summary(finding: &OneRunFinding, arguments: &AuditArguments) -> Fallible<Value> {
    let reading = |reading: &Reading| -> Fallible<Value> {
        let limits = reading.mu;
        let [low, high] = [finding.epsilon_of(limits.lower)?.value(), finding.epsilon_of(limits.upper)?.value()];
        Ok(json!({"mu": limits.estimate, "mu_limits": [limits.lower, limits.upper], "epsilon_limits": [low, high],
            "signal": reading.signal, "noise": reading.noise, "guesses": reading.guesses.made,
            "right": reading.guesses.right, "epsilon_any_law": reading.epsilon, "refutes": finding.above(reading)}))
    };
    let fault = |(fault, faulty): &(_, Reading)| -> Fallible<Value> {
        Ok(json!({"fault": planted(*fault), "reading": reading(faulty)?}))
    };
    let faulty = finding.faulty.iter().map(fault).collect::<Fallible<Vec<_>>>()?;
    Ok(json!({"refuted": finding.refuted(), "powerful": finding.powerful(), "saturated": finding.saturated(),
        "canaries": arguments.canaries, "present": finding.present, "confidence": arguments.confidence,
        "claim": {"mu": finding.mu, "epsilon": finding.epsilon.value(), "delta": finding.delta.value(),
            "guess_delta": finding.guess_delta.value(), "guess_epsilon": finding.guess_epsilon.value()},
        "share": finding.share, "honest": reading(&finding.honest)?, "faulty": faulty}))
}

/// What each run showed.
fn measured(finding: &OneRunFinding) -> Vec<(String, &[(f64, f64)])> {
    let honest = ("this trainer".to_owned(), finding.honest.errors.as_slice());
    let faulty = finding.faulty.iter().map(|(fault, reading)| (planted(*fault), reading.errors.as_slice()));
    [honest].into_iter().chain(faulty).collect()
}
