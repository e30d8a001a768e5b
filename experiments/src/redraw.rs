//! All figures drawn again from the results of full runs, without a measurement.

use std::path::Path;

use rhograd::error::{Error, Fallible};

use crate::results::Earlier;
use crate::setup::Setup;
use crate::{EXPERIMENTS, Experiment};

/// Draws the figures of all full runs under `home` into a folder: `NAME.svg` and `NAME.pdf`, and `NAME-1.svg` and so on for each panel. Gives their number.
///
/// # Errors
/// When no experiment has results, a file cannot be read or written, or results are of another set-up than the experiment now has.
pub fn all(home: &Path, pictures: &Path) -> Fallible<usize> {
    let mut drawn = 0;
    for experiment in &EXPERIMENTS {
        drawn += usize::from(one(experiment, home, pictures)?);
    }
    if drawn == 0 {
        return Err(Error::parameter("figures", "no experiment has results here", "run them: rhograd-experiments all"));
    }
    Ok(drawn)
}

/// Whether there were results of an experiment, which are drawn then. They are copied first: an experiment writes beside what it reads.
pub fn one(experiment: &Experiment, home: &Path, pictures: &Path) -> Fallible<bool> {
    let scratch = tempfile::tempdir().map_err(|e| Error::io(pictures, "create a folder to draw in", e))?;
    let setup = Setup::of(experiment.name, false, Some(scratch.path()));
    let setup = Setup { earlier: Earlier::Only, pictures: pictures.to_owned(), ..setup };
    std::fs::create_dir_all(&setup.out).map_err(|e| Error::io(&setup.out, "create it", e))?;
    let mut found = false;
    for entry in std::fs::read_dir(home.join(experiment.name)).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("results") && name.ends_with(".csv") {
            let failed = |e| Error::io(&entry.path(), "copy it", e);
            std::fs::copy(entry.path(), setup.file(&name)).map_err(failed)?;
            found = true;
        }
    }
    if found {
        (experiment.run)(&setup)?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words in a picture, in order.
    fn words(svg: &str) -> Vec<&str> {
        svg.split("<text")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once('>')?.1.split_once("</text>")?.0.trim()))
            .collect()
    }

    fn numbers<'a>(svg: &'a str, name: &'a str) -> impl Iterator<Item = f64> + 'a {
        svg.split(name).skip(1).filter_map(|cell| cell.split('"').nth(1)?.parse().ok())
    }

    /// What is committed is what its measurements draw, and every panel is legible in a column of 8 cm.
    #[test]
    fn committed_pictures_are_current_and_panels_are_legible() {
        let (home, out) = (Path::new(env!("CARGO_MANIFEST_DIR")), tempfile::tempdir().unwrap());
        assert!(all(home, out.path()).unwrap() >= EXPERIMENTS.len() - 1);
        let mut panels = 0;
        for experiment in &EXPERIMENTS {
            let drawn = std::fs::read_to_string(out.path().join(format!("{}.svg", experiment.name)));
            let committed = std::fs::read_to_string(home.join(experiment.name).join("plot.svg"));
            if let (Ok(drawn), Ok(committed)) = (&drawn, &committed) {
                assert_eq!(words(committed), words(drawn), "{}: run `figures` and copy its picture", experiment.name);
            }
            assert!(drawn.is_ok() || committed.is_err(), "{}", experiment.name);
            for at in 1.. {
                let name = format!("{}-{at}", experiment.name);
                let Ok(svg) = std::fs::read_to_string(out.path().join(format!("{name}.svg"))) else { break };
                let pdf = std::fs::read(out.path().join(format!("{name}.pdf"))).unwrap();
                assert!(pdf.starts_with(b"%PDF-") && pdf.len() < 200_000, "{name}");
                let wide = numbers(&svg, " width=").next();
                assert!(svg.starts_with("<svg width=\"227pt\""), "{name} {wide:?}");
                let view =
                    svg.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
                let points = 227.0 / view.unwrap();
                let least = |what| numbers(&svg, what).fold(f64::INFINITY, f64::min) * points;
                assert!(least(" font-size=") >= 7.0 - 1e-9, "{name}: letters of {:.2} points", least(" font-size="));
                assert!(least(" stroke-width=") >= 0.5, "{name}: lines of {:.2} points", least(" stroke-width="));
                panels += 1;
            }
        }
        assert!(panels > 50, "{panels}");
    }

    #[test]
    fn nothing_is_drawn_without_results_and_none_is_measured() {
        let (home, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        assert!(all(home.path(), out.path()).is_err());
        let experiment = EXPERIMENTS.iter().find(|experiment| experiment.name == "erm-rate").unwrap();
        let folder = home.path().join("erm-rate");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("results.csv"), "setup,n\nabc,1\n").unwrap();
        let error = one(experiment, home.path(), out.path()).unwrap_err().to_string();
        assert!(error.contains("no measurement of this set-up"), "{error}");
        assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
    }
}
