//! Predictions of a released model on columns in memory.

use ndarray::{ArrayView2, Axis, Slice};
use rayon::prelude::*;

use super::model::{Feature, ModelFile, Target};
use super::predict::{Effects, Joint, NumericPart, Predictions, add, in_units, outcome, parts};
use crate::data::{Cells, NumberCells, Numbers, Reading, Table};
use crate::error::{Error, Fallible};
use crate::loss::Logistic;
use crate::model_kind::Link;
use crate::num::vectorized;

/// Rows that one thread predicts at a time.
const ROWS_PER_PART: usize = 128;

/// So many rows are looked at faster than a thread is woken.
const ROWS_ALONE: usize = 1024;

/// A feature bound to its column.
enum Part<'a> {
    Numeric(NumberCells<'a>, Option<NumericPart<'a>>),
    Categorical(Reading<'a, Option<usize>>, Effects<'a>),
    /// What says where a number is missing.
    Missing(NumberCells<'a>, Effects<'a>),
}

/// Applies a model to every row of a table that has the model's feature columns.
///
/// Cells in a file give the bits that these cells give, see [`super::predict()`]. One item of the result belongs to one row of the table.
///
/// # Errors
/// When the table lacks a column, or a column of numbers is declared by texts of which two say the same number.
pub fn predict_table(model: &ModelFile, table: &Table<'_>) -> Fallible<Predictions> {
    let outputs = model.target.outputs();
    let mut values = margins(model, table, false)?;
    match table.rows() > ROWS_ALONE {
        true => values.par_chunks_exact_mut(outputs).for_each(|row| outcome(model, row)),
        false => values.chunks_exact_mut(outputs).for_each(|row| outcome(model, row)),
    }
    Ok(Predictions::whole(outputs, values))
}

/// Applies a model to every row of a matrix whose columns are those of `names`, shape `(rows, names)`.
///
/// Predictions have the bits that [`predict_table`] gives for these columns. Where the model is a line for every column in this order, rows are
/// read one after the other, which takes less time, least where they lie so in memory.
///
/// # Errors
/// When the matrix has another number of columns than there are names, or the model has one of another name.
///
/// ```
/// use ndarray::array;
/// use rhograd::prelude::*;
/// use rhograd::train::predict_matrix;
///
/// let schema = Schema::read("datasets/fair.schema.json".as_ref())?;
/// let file = CsvFile::open("datasets/fair.csv".as_ref())?;
/// let config = TrainConfig::new(Budget::Rho(Rho::from_f64(0.1)?, None));
/// let (trained, _) = train(load(&config, schema, &file, &|_, _| Ok(()))?, &mut Ledger::in_memory()?, NoiseSource::from_os()?, &mut |_| Ok(()))?;
/// let names: Vec<String> = trained.model.features.iter().map(|feature| feature.name().to_owned()).collect();
/// let rows = array![[3.0, 32.0, 9.0, 3.0, 3.0, 17.0, 2.0, 5.0], [5.0, 27.0, 2.5, 0.0, 2.0, 16.0, 4.0, 5.0]];
/// assert_eq!(predict_matrix(&trained.model, &names, &rows.view())?.rows().count(), 2);
/// # Ok::<(), Error>(())
/// ```
pub fn predict_matrix(model: &ModelFile, names: &[String], rows: &ArrayView2<'_, f64>) -> Fallible<Predictions> {
    let outputs = model.target.outputs();
    let mut values = vec![0.0; rows.nrows() * outputs];
    predict_matrix_into(model, names, rows, None, &mut values)?;
    Ok(Predictions::whole(outputs, values))
}

/// Writes what [`predict_matrix`] gives to room that is there already, shape `(rows, outputs)`.
///
/// With `positive`, 0 or 1, the room is of shape `(rows, 2)`: in this column stands the probability `p` of the label that the model calls 1, in the
/// other one `1 - p`.
///
/// # Errors
/// When the matrix has another number of columns than there are names, the model has one of another name, there is too little or too much room, or `positive`
/// and more than two labels.
pub fn predict_matrix_into(
    model: &ModelFile,
    names: &[String],
    rows: &ArrayView2<'_, f64>,
    positive: Option<usize>,
    room: &mut [f64],
) -> Fallible<()> {
    let outcomes = |values: &mut [f64]| outcome(model, values);
    match positive {
        None => write(model, names, rows, room, model.target.outputs(), outcomes, |values, room| {
            room.copy_from_slice(values)
        }),
        Some(positive) => {
            two_labels(model)?;
            write(model, names, rows, room, 2, outcomes, |values, room| {
                for (both, &p) in room.as_chunks_mut().0.iter_mut().zip(values) {
                    *both = if positive == 0 { [p, 1.0 - p] } else { [1.0 - p, p] };
                }
            })
        }
    }
}

/// Writes for each row the first, second or third of three labels: where the probability of [`predict_matrix`] is below one half, one half, or above.
///
/// Where rows are many and columns few it takes less time than the probability, which is an exponential function of what is looked at here.
///
/// # Errors
/// When the matrix has another number of columns than there are names, the model has one of another name or no probability of one of two labels, or there is too
/// little or too much room.
pub fn predict_sides<T: Copy + Send + Sync>(
    model: &ModelFile,
    names: &[String],
    rows: &ArrayView2<'_, f64>,
    [below, half, above]: [T; 3],
    room: &mut [T],
) -> Fallible<()> {
    two_labels(model)?;
    // So far from zero, rounding cannot move a probability to one half.
    let probability = |t: f64| if t.abs() > 1e-9 { f64::from(u8::from(t > 0.0)) } else { Logistic::probability(t) };
    write(
        model,
        names,
        rows,
        room,
        1,
        |values| values.iter_mut().for_each(|t| *t = probability(*t)),
        |values, room| {
            for (side, &p) in room.iter_mut().zip(values) {
                *side = if p > 0.5 {
                    above
                } else if p < 0.5 {
                    below
                } else {
                    half
                };
            }
        },
    )
}

/// Whether [`predict_matrix`] reads rows of these columns one after the other, in nanoseconds each: the model is a line for every column, in this order.
pub fn predicts_by_rows(model: &ModelFile, names: &[String]) -> bool {
    Lines::of(model, names, 1).is_some()
}

fn two_labels(model: &ModelFile) -> Fallible<()> {
    match (&model.target, model.model.link()) {
        (Target::Label { .. }, Link::LogOdds) => Ok(()),
        _ => Err(Error::parameter("model", "has no probability of one of two labels", "ask for its predictions")),
    }
}

/// Writes predictions to room for `width` items a row: `outcomes` turns margins into them, where the model is a line for every column.
fn write<T: Send>(
    model: &ModelFile,
    names: &[String],
    rows: &ArrayView2<'_, f64>,
    room: &mut [T],
    width: usize,
    outcomes: impl Fn(&mut [f64]) + Sync,
    write: impl Fn(&[f64], &mut [T]) + Sync,
) -> Fallible<()> {
    if rows.ncols() != names.len() {
        return Err(Error::parameter("X", "has not as many columns as there are names", "give a name to every column"));
    }
    if room.len() != rows.nrows() * width {
        return Err(Error::parameter("room", "is not that of all predictions", "make it as large as the result"));
    }
    let Some(lines) = Lines::of(model, names, rows.nrows()) else {
        let column = |(name, column)| (String::clone(name), Cells::Numbers(Numbers::F64(column)));
        let table = Table::new(names.iter().zip(rows.axis_iter(Axis(1))).map(column).collect())?;
        write(predict_table(model, &table)?.values(), room);
        return Ok(());
    };
    let predict = |(part, room): (usize, &mut [T])| {
        let first = part * ROWS_PER_PART;
        let rows = rows.slice_axis(Axis(0), Slice::from(first..first + room.len() / width));
        let mut values = [0.0; ROWS_PER_PART];
        let values = &mut values[..rows.nrows()];
        match rows.as_slice() {
            Some(cells) => lines.add_up(cells, values),
            None => lines.add_up(&rows.iter().copied().collect::<Vec<f64>>(), values),
        }
        outcomes(values);
        write(values, room);
    };
    match rows.nrows() > ROWS_ALONE {
        // A thread that is held up keeps no more than some parts to itself.
        true => room.par_chunks_mut(ROWS_PER_PART * width).enumerate().with_max_len(32).for_each(predict),
        false => room.chunks_mut(ROWS_PER_PART * width).enumerate().for_each(predict),
    }
    Ok(())
}

/// A model that is a line for every column of a matrix.
struct Lines {
    intercept: f64,
    columns: usize,
    /// What each cell of `group` rows that lie one after the other is held against: lower and upper bound, the value for a missing one, centre,
    /// scale, limit and coefficient, each for all cells.
    facts: Aligned,
    /// Rows whose cells are scaled in one go, so that few columns fill whole vectors, too.
    group: usize,
    /// Whether some value within its bounds reaches its limit.
    limited: bool,
}

/// So many rows of any number of columns fill whole vectors.
const GROUP: usize = 8;

/// What a cell is held against.
const FACTS: usize = 7;

/// Numbers that begin where a line of the processor's memory begins, in parts: a vector that lies on two lines takes twice as long.
struct Aligned {
    numbers: Vec<f64>,
    first: usize,
    stride: usize,
}

/// Numbers in a line of memory.
const LINE: usize = 8;

impl Aligned {
    /// Zeros, so many parts of `size` numbers.
    fn zeros(parts: usize, size: usize) -> Self {
        let stride = size.next_multiple_of(LINE);
        let numbers = vec![0.0; parts * stride + LINE];
        let first = numbers.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE);
        Aligned { numbers, first, stride }
    }

    fn part(&self, part: usize, size: usize) -> &[f64] {
        &self.numbers[self.first + part * self.stride..][..size]
    }

    fn part_mut(&mut self, part: usize, size: usize) -> &mut [f64] {
        &mut self.numbers[self.first + part * self.stride..][..size]
    }
}

impl Lines {
    /// For so many rows at least.
    fn of(model: &ModelFile, names: &[String], rows: usize) -> Option<Self> {
        let [intercept] = model.intercept.values() else { return None };
        if model.together.is_some() || model.features.len() != names.len() || names.is_empty() {
            return None;
        }
        let (columns, group, mut limited) = (names.len(), GROUP.min(rows.max(1)), false);
        let mut facts = Aligned::zeros(FACTS, group * columns);
        for (column, (feature, name)) in model.features.iter().zip(names).enumerate() {
            let Feature::Numeric { name: own, lower, upper, map, coefficient } = feature else { return None };
            let [coefficient] = coefficient.values() else { return None };
            if own != name {
                return None;
            }
            // Rounding keeps order, so nothing between the bounds goes further than they do.
            let within = |bound: f64| map.apply(bound) == (bound - map.centre) / map.scale;
            limited |= !(within(*lower) && within(*upper));
            let middle = lower + (upper - lower) / 2.0;
            let own = [*lower, *upper, middle, map.centre, map.scale, map.limit, *coefficient];
            for (part, fact) in own.into_iter().enumerate() {
                facts.part_mut(part, group * columns).iter_mut().skip(column).step_by(columns).for_each(|f| *f = fact);
            }
        }
        Some(Lines { intercept: *intercept, columns, facts, group, limited })
    }

    /// The margin of each of rows that lie one after the other: what its columns contribute, added in their order.
    fn add_up(&self, cells: &[f64], margins: &mut [f64]) {
        // Margins begin at zero, which makes a zero of an intercept of -0.0.
        let start = 0.0 + self.intercept;
        let mut terms = Aligned::zeros(1, self.group * self.columns);
        vectorized(
            #[inline(always)]
            || {
                for (cells, margins) in cells.chunks(self.group * self.columns).zip(margins.chunks_mut(self.group)) {
                    let terms = terms.part_mut(0, cells.len());
                    match self.limited {
                        true => self.scale::<true>(cells, terms),
                        false => self.scale::<false>(cells, terms),
                    }
                    // Each margin is a chain of additions. A processor works at those of some rows at a time by itself; columns of rows taken
                    // together would be gathered, which takes longer.
                    for (margin, terms) in margins.iter_mut().zip(terms.chunks_exact(self.columns)) {
                        *margin = terms.iter().fold(start, |sum, term| sum + term);
                    }
                }
            },
        );
    }

    /// What each cell of at most `group` rows contributes.
    #[inline(always)]
    fn scale<const LIMITED: bool>(&self, cells: &[f64], terms: &mut [f64]) {
        let size = cells.len();
        let [lower, upper, middle, centre, scale, limit, coefficient]: [&[f64]; FACTS] =
            std::array::from_fn(|part| self.facts.part(part, size));
        let terms = &mut terms[..size];
        for at in 0..size {
            let value = if cells[at].is_nan() { middle[at] } else { cells[at] };
            let scaled = (held(value, lower[at], upper[at]) - centre[at]) / scale[at];
            terms[at] = coefficient[at] * if LIMITED { held(scaled, -limit[at], limit[at]) } else { scaled };
        }
    }
}

/// As `clamp` does it, but for its look at the bounds, which were looked at when the file was read.
#[inline(always)]
fn held(x: f64, low: f64, high: f64) -> f64 {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

/// What adds up to the prediction of each row of a table, one row after the other, each in the order of [`contributions`](super::contributions).
///
/// # Errors
/// When the table lacks a column, or a column of numbers is declared by texts of which two say the same number.
pub fn explain_table(model: &ModelFile, table: &Table<'_>) -> Fallible<Vec<f64>> {
    let mut values = margins(model, table, true)?;
    values.par_chunks_exact_mut(parts(model) * model.target.outputs()).for_each(|row| in_units(model, row));
    Ok(values)
}

/// The margins of every row, or `apart` what intercept, each feature and all together contribute to them.
fn margins(model: &ModelFile, table: &Table<'_>, apart: bool) -> Fallible<Vec<f64>> {
    let bound = model.features.iter().map(|feature| bind(feature, table)).collect::<Fallible<Vec<_>>>()?;
    let outputs = model.target.outputs();
    let width = outputs * if apart { parts(model) } else { 1 };
    let joint = Joint::of(model);
    let mut values = vec![0.0; table.rows() * width];
    let add_up = |(part, values): (usize, &mut [f64])| {
        let (first, rows) = (part * ROWS_PER_PART, values.len() / width);
        let mut margins = vec![0.0; rows * outputs];
        let mut scratch = Scratch { places: vec![0.0; rows], values: vec![0.0; rows], found: vec![None; rows] };
        // Hands a part of all margins over, and begins anew.
        let mut done = 0;
        let mut next = |margins: &mut [f64]| {
            if apart {
                for (row, own) in values.chunks_exact_mut(width).zip(margins.chunks_exact(outputs)) {
                    row[done * outputs..(done + 1) * outputs].copy_from_slice(own);
                }
                done += 1;
                margins.fill(0.0);
            }
        };
        margins.chunks_exact_mut(outputs).for_each(|row| add(row, model.intercept.values(), 1.0));
        next(&mut margins);
        let start = joint.as_ref().map_or(&[][..], Joint::start);
        let mut phases = start.repeat(rows);
        for (feature, part) in bound.iter().enumerate() {
            part.add_to(&mut margins, outputs, first, &mut scratch);
            next(&mut margins);
            let Some(joint) = &joint else { continue };
            for (phases, value) in phases.chunks_exact_mut(start.len().max(1)).zip(&scratch.found) {
                value.iter().for_each(|value| joint.turn(phases, feature, *value));
            }
        }
        if let Some(joint) = &joint {
            let rows = margins.chunks_exact_mut(outputs).zip(phases.chunks_exact(start.len().max(1)));
            rows.for_each(|(margins, phases)| joint.add_to(margins, phases));
            next(&mut margins);
        }
        if !apart {
            values.copy_from_slice(&margins);
        }
    };
    let size = ROWS_PER_PART * width;
    match table.rows() > ROWS_ALONE {
        true => values.par_chunks_mut(size).enumerate().for_each(add_up),
        false => values.chunks_mut(size).enumerate().for_each(add_up),
    }
    Ok(values)
}

fn bind<'a>(feature: &'a Feature, table: &'a Table<'_>) -> Fallible<Part<'a>> {
    Ok(match feature {
        Feature::Numeric { name, .. } | Feature::Steps { name, .. } => {
            Part::Numeric(NumberCells::new(name, table.column(name)?)?, NumericPart::of(feature))
        }
        Feature::Categorical { missing_of: Some(column), .. } => {
            Part::Missing(NumberCells::new(column, table.column(column)?)?, Effects::of(feature))
        }
        Feature::Categorical { name, values, .. } => {
            let effects = Effects::of(feature);
            let declared: Vec<&str> = values.iter().map(String::as_str).collect();
            let reading = Reading::new(name, table.column(name)?, &declared, |text| effects.get(text))?;
            Part::Categorical(reading, effects)
        }
    })
}

impl Part<'_> {
    /// Adds what a feature contributes to the margins of consecutive rows, and finds the interval or value of each.
    fn add_to(&self, margins: &mut [f64], outputs: usize, first: usize, scratch: &mut Scratch) {
        let Scratch { places, values, found } = scratch;
        match self {
            Part::Numeric(cells, part) => {
                cells.read(first, places, values);
                for ((row, &value), found) in margins.chunks_exact_mut(outputs).zip(values.iter()).zip(found) {
                    let cell = (!value.is_nan()).then_some(value);
                    *found = part.as_ref().and_then(|part| part.add_to(row, cell));
                }
            }
            Part::Categorical(reading, effects) => {
                reading.read(first, places, found);
                effects.add_to(margins, outputs, found);
            }
            Part::Missing(cells, effects) => {
                cells.read(first, places, values);
                found.iter_mut().zip(values.iter()).for_each(|(f, value)| *f = Effects::missing(value.is_nan()));
                effects.add_to(margins, outputs, found);
            }
        }
    }
}

/// Room for the cells of one column in the rows of a part.
struct Scratch {
    places: Vec<f64>,
    values: Vec<f64>,
    /// The interval or value of each row.
    found: Vec<Option<usize>>,
}
