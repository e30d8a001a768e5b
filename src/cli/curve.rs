//! `rhograd account curve`: notions of privacy compared, as pictures and tables.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::arguments::as_flag;
use super::output::{counted, print_data, warn, write_file};
use crate::calculator::curves::{self, Notion, Series};
use crate::error::{Error, Fallible};
use crate::plot::{self, Figure, Format, Panel, Scale};
use crate::privacy::{Adjacency, Delta, DpEvent, Mechanism};
use crate::train::check_destination;

#[derive(Clone, Copy, ValueEnum)]
enum KindArgument {
    /// epsilon against delta
    Delta,
    /// epsilon at --delta against the number of steps
    Steps,
    /// False negative rate against false positive rate of the best test
    TradeOff,
}

#[derive(Args)]
#[command(after_help = "Examples:
  rhograd account curve delta --noise-multiplier 20 --steps 100 --out curve.svg --csv curve.csv
  rhograd account curve steps --noise-multiplier 1 --rate 0.01 --steps 10000 --delta 1e-6 --notions rdp,pld
  rhograd account curve trade-off --noise-multiplier 20 --steps 100 --out trade-off.png
  rhograd account curve delta --event event.json

Without --out and --csv the points are printed as CSV.")]
pub(super) struct CurveArguments {
    /// What is drawn
    #[arg(value_enum)]
    kind: KindArgument,
    /// Gaussian noise: standard deviation over l2 sensitivity under add-remove
    #[arg(long, allow_hyphen_values = true, conflicts_with_all = ["laplace_scale", "event"])]
    noise_multiplier: Option<f64>,
    /// Laplace noise: scale over l1 sensitivity under add-remove
    #[arg(long, allow_hyphen_values = true, conflicts_with = "event")]
    laplace_scale: Option<f64>,
    /// Poisson sampling rate
    #[arg(long, allow_hyphen_values = true, conflicts_with = "event")]
    rate: Option<f64>,
    /// Steps; the most of them for `steps`
    #[arg(long, default_value_t = 1)]
    steps: u64,
    /// An event as JSON instead (see the documentation of `rhograd::privacy::DpEvent`)
    #[arg(long, value_name = "FILE")]
    event: Option<PathBuf>,
    /// Neighbouring relation
    #[arg(long, value_enum, default_value = "add-remove")]
    adjacency: Adjacency,
    /// Delta of `steps` and of the pairs in `trade-off`
    #[arg(long, default_value_t = 1e-6, allow_hyphen_values = true)]
    delta: f64,
    /// Notions to compare: classical, optimal, rdp, pld, exact [default: all that cover the event]
    #[arg(long, value_delimiter = ',')]
    notions: Vec<String>,
    /// Points per curve
    #[arg(long, default_value_t = 40)]
    points: usize,
    /// Picture, as SVG, PDF or PNG by its extension
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// CSV file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Replace files that exist already
    #[arg(long)]
    overwrite: bool,
}

pub(super) fn curve(arguments: &CurveArguments) -> Fallible<ExitCode> {
    // What a file says is named as it stands there.
    drawn(arguments).map_err(|error| if arguments.event.is_some() { error } else { as_flag(error) })
}

fn drawn(arguments: &CurveArguments) -> Fallible<ExitCode> {
    if !(2..=10_000).contains(&arguments.points) {
        return Err(Error::parameter("--points", "must be in 2..=10000", "leave it out for 40"));
    }
    // A picture that cannot be written is refused before minutes go into its points.
    arguments.out.as_deref().map(Format::of).transpose()?;
    for path in arguments.out.iter().chain(&arguments.csv) {
        check_destination(path, arguments.overwrite, false)?;
    }
    let adjacency: Adjacency = arguments.adjacency;
    let one = arguments.event()?;
    let repeated = DpEvent::Repeated { event: Box::new(one.clone()), count: arguments.steps };
    let delta = Delta::new(arguments.delta)?;
    let drawn = arguments.drawn();
    let (title, x_label, y_label, series) = match arguments.kind {
        KindArgument::Delta => {
            let notions = arguments.notions(&repeated, adjacency, delta)?;
            let deltas = curves::logarithmic_grid(1e-12, 1e-2, arguments.points);
            let series = curves::epsilon_against_delta(&repeated, adjacency, &notions, &deltas)?;
            (format!("{drawn}, {}, {adjacency}", counted(arguments.steps, "step")), "delta", "epsilon", series)
        }
        KindArgument::Steps => {
            let notions = arguments.notions(&repeated, adjacency, delta)?;
            let steps = curves::logarithmic_grid(1.0, arguments.steps.max(2) as f64, arguments.points);
            let series = curves::epsilon_against_steps(&one, adjacency, &notions, delta, &steps)?;
            (format!("{drawn}, delta {:e}, {adjacency}", delta.value()), "steps", "epsilon", series)
        }
        KindArgument::TradeOff => {
            let series = curves::trade_offs(&repeated, adjacency, &[Delta::new(1e-2)?, delta], arguments.points)?;
            let title = format!("{drawn}, {}, {adjacency}", counted(arguments.steps, "step"));
            (title, "false positive rate", "false negative rate", series)
        }
    };
    arguments.write(&Chart { title: &title, x_label, y_label, series: &series })
}

/// Curves with what their axes stand for.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    pub(super) x_label: &'a str,
    pub(super) y_label: &'a str,
    pub(super) series: &'a [Series],
}

impl Chart<'_> {
    /// The curves as the content of a picture file.
    pub(super) fn to_bytes(&self, format: Format) -> Fallible<Vec<u8>> {
        let axis = |label: &str| (label.to_owned(), Scale::Fitting);
        let series = self.series.iter().map(|series| plot::Series::curve(&series.name, &series.points)).collect();
        let panel = Panel { title: self.title.into(), x: axis(self.x_label), y: axis(self.y_label), series };
        Figure::chart(&panel).to_bytes(format)
    }

    /// The points as CSV: one line per point and series.
    fn to_csv(&self) -> String {
        let mut text = format!("series,{},{}\n", self.x_label, self.y_label);
        for series in self.series {
            for (x, y) in &series.points {
                text.push_str(&format!("\"{}\",{x:e},{y}\n", series.name));
            }
        }
        text
    }
}

impl CurveArguments {
    /// The event of one step.
    fn event(&self) -> Fallible<DpEvent> {
        if let Some(path) = &self.event {
            let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, "read the event", e))?;
            return serde_json::from_str(&text)
                .map_err(|e| Error::input(path, format!("not an event: {e}"), "correct it").at_line(e.line() as u64));
        }
        let mechanism = match (self.noise_multiplier, self.laplace_scale) {
            (Some(noise_multiplier), _) => Mechanism::Gaussian { noise_multiplier },
            (None, Some(scale)) => Mechanism::Laplace { scale },
            (None, None) => {
                let cure = "give it, or --laplace-scale, or --event FILE";
                return Err(Error::parameter("--noise-multiplier", "is missing", cure));
            }
        };
        Ok(match self.rate {
            Some(rate) => DpEvent::PoissonSampled { mechanism, rate },
            None => DpEvent::Single { mechanism },
        })
    }

    /// What a title says of the event of one step.
    fn drawn(&self) -> String {
        let mechanism = match (&self.event, self.noise_multiplier, self.laplace_scale) {
            (Some(path), ..) => {
                let name = path.file_name().unwrap_or(path.as_os_str());
                return format!("event of {}", name.to_string_lossy());
            }
            (None, Some(noise), _) => format!("Gaussian noise multiplier {noise}"),
            (None, None, scale) => format!("Laplace scale {}", scale.unwrap_or(f64::NAN)),
        };
        match self.rate {
            Some(rate) => format!("{mechanism}, rate {rate}"),
            None => mechanism,
        }
    }

    /// The notions asked for, or all that answer for this event.
    fn notions(&self, event: &DpEvent, adjacency: Adjacency, delta: Delta) -> Fallible<Vec<Notion>> {
        if !self.notions.is_empty() {
            return self.notions.iter().map(|name| Notion::of_name(name.trim())).collect();
        }
        let answers: Vec<_> = Notion::ALL.map(|notion| (notion, notion.epsilon(event, adjacency, delta))).into();
        let mut refusal = None;
        let mut notions = Vec::new();
        for (notion, answer) in answers {
            match answer {
                Ok(_) => notions.push(notion),
                Err(error) => refusal = Some(error),
            }
        }
        match refusal {
            Some(error) if notions.is_empty() => Err(error),
            _ => Ok(notions),
        }
    }

    fn write(&self, chart: &Chart<'_>) -> Fallible<ExitCode> {
        if self.out.is_none() && self.csv.is_none() {
            print_data(&chart.to_csv())?;
        }
        if let Some(path) = &self.out {
            write_file(path, &chart.to_bytes(Format::of(path)?)?, self.overwrite)?;
        }
        if let Some(path) = &self.csv {
            write_file(path, chart.to_csv().as_bytes(), self.overwrite)?;
        }
        let infinite = |series: &Series| series.points.iter().any(|(_, y)| y.is_infinite());
        for series in chart.series.iter().filter(|series| infinite(series)) {
            warn(&format!("{} is infinite at some points, which are not drawn", series.name));
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_names_its_axes_and_series() {
        let series = [("one", 0.5), ("two", 2.0)]
            .map(|(name, y)| Series { name: name.into(), points: vec![(1e-6, y), (1e-3, y / 2.0)] });
        let chart = Chart { title: "title", x_label: "delta", y_label: "epsilon", series: &series };
        let svg = String::from_utf8(chart.to_bytes(Format::Svg).unwrap()).unwrap();
        for text in ["<svg", "title", "delta", "epsilon", "one", "two"] {
            assert!(svg.contains(text), "{text}");
        }
        assert_eq!(chart.to_csv().lines().count(), 5);
    }
}
