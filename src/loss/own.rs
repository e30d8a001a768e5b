//! Losses from outside this crate, as tables of public numbers.

use std::sync::{LazyLock, Mutex, PoisonError};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::{Digest, Sha256};

use super::approx::between;
use super::own_name::OwnName;
use super::{BoundedLoss, Curved, Loss, Poisson, Tuning, WhitenedTuning};
use crate::error::{Error, Fallible};
use crate::grid::Scoring;

/// Beyond this margin, or residual, a loss goes on along its tangent.
const REACH: usize = 32;

/// Knots in a unit of the margin; a power of two, so that places between them are exact.
const KNOTS_PER_UNIT: usize = 64;

/// Cells between knots; a power of two, so that a place is found without a branch.
const CELLS: usize = 2 * REACH * KNOTS_PER_UNIT;

/// Larger slopes are refused, so that no product with a label overflows.
const MAX_SLOPE: f64 = 1e30;

/// Rounding of values and slopes that is forgiven.
const TOLERANCE: f64 = 1e-7;

/// The largest absolute log-rate of a loss of counts, that of [`Poisson`] by default.
const LOG_RATE_BOUND: f64 = 3.0;

/// How a loss from outside reads its target, and what it is a function of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnForm {
    /// One of two labels, 0 or 1; a function of margin and label.
    Label,
    /// A number; a function of the residual `margin - target`, in the target's deviations.
    Residual,
    /// A count or amount in units of its mean, never negative, whose logarithm the margin predicts; a function of both, its
    /// slope affine in the target.
    Count,
}

/// A loss of one's own, told before a row is read.
///
/// Closures are asked for value and slope at the public points `-32, -32 + 1/64, .., 32`, once, and checked there: both are
/// finite, and the value lies on or above each of its tangents to the next points, so the slope is a slope of the value and
/// never falls. From then on there is a table alone. Between two points the slope runs linearly, beyond the last ones it
/// stays, and the value is its integral: a convex, differentiable loss of known constants. Where the given slope has a second
/// derivative of at most `s`, the table's differs by at most `s / 32768`; where it jumps, by up to the jump, within `1/64`.
///
/// # Privacy
/// The slope at a row is a function of its margin, its label and a public table, whatever the closures were: they see no row,
/// and cannot remember one. Algorithms that may use it decide the clip in integers afterwards, so their sensitivity does not
/// depend on the table. Those whose guarantee rests on slope or curvature refuse it, see [`Loss::curved`] and
/// [`Loss::bounded`].
#[derive(Clone, Copy)]
pub struct OwnLoss {
    name: OwnName,
    form: OwnForm,
    digest: [u8; 32],
    table: &'static Table,
}

/// What one cell holds: slope at its lower end and how far it rises, for a label of 0; by how much both grow with the label.
type Cell = [f32; 4];

/// The numbers of a loss.
struct Table {
    digest: [u8; 32],
    /// Slopes at the knots for a label of 0, and how much they grow with the label (nothing for residuals).
    knots: Knots,
    cells: Box<[Cell; CELLS]>,
    /// Values at the lower ends of cells and at the last knot, in the same way.
    values: Vec<[f64; 2]>,
    /// What is taken off the margin: 1 for residuals, else 0.
    label_weight: f32,
    lipschitz: f64,
    smoothness: f64,
}

/// What closures say at a point.
struct Told {
    value: f64,
    slope: f64,
}

/// What a table is made from, and what a worker is sent.
#[derive(Clone, Serialize, Deserialize)]
struct Knots {
    form: OwnForm,
    base: Vec<f32>,
    tilt: Vec<f32>,
    /// Value at a margin of 0 for a label of 0, and how much it grows with the label.
    at_zero: [f64; 2],
}

/// Every table of this process, each once: a loss is small and copied into every question, and its table is not.
static TABLES: Mutex<Vec<&'static Table>> = Mutex::new(Vec::new());

/// What stands for a table that is known by its digest alone: every slope is NaN, and the kernel drops those.
static UNKNOWN: LazyLock<Table> = LazyLock::new(|| {
    let nothing =
        Knots { form: OwnForm::Residual, base: vec![f32::NAN; CELLS + 1], tilt: Vec::new(), at_zero: [0.0; 2] };
    Table::new(nothing)
});

impl OwnLoss {
    /// A loss of the residual `r = margin - target` for regression, such as an expectile or log-cosh loss.
    ///
    /// `r` is in released deviations of the target; where nothing is standardised, in half its range.
    ///
    /// # Errors
    /// When the name is no name, or value and slope are not those of a convex function; names the point.
    ///
    /// # Examples
    /// ```
    /// use rhograd::prelude::*;
    ///
    /// let loss = OwnLoss::of_residual("log-cosh", |r| r.abs() + (-2.0 * r.abs()).exp().ln_1p(), |r| r.tanh())?;
    /// let model = ModelKind::Own(loss);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn of_residual(name: &str, value: impl Fn(f64) -> f64, slope: impl Fn(f64) -> f64) -> Fallible<Self> {
        Self::tabulated(name, OwnForm::Residual, &|r, _| value(r), &|r, _| slope(r))
    }

    /// A loss of margin and label for two labels, 0 and 1; the margin is a score, positive on the side of label 1.
    ///
    /// # Errors
    /// When the name is no name, or value and slope are not those of a convex function for either label; names the point.
    pub fn of_label(name: &str, value: impl Fn(f64, f64) -> f64, slope: impl Fn(f64, f64) -> f64) -> Fallible<Self> {
        Self::tabulated(name, OwnForm::Label, &value, &slope)
    }

    /// A loss of log-rate and count for targets that are never negative, such as a gamma or negative binomial deviance.
    ///
    /// The target is in units of its released mean, from 0 to `e^3`; predictions are `e^margin` of these. The slope must be
    /// affine in the target, as that of every exponential family is.
    ///
    /// # Errors
    /// When the name is no name, value and slope are not those of a convex function for targets of 0, 1 and `e^3`, or the slope is
    /// not affine in the target; names the point.
    pub fn of_count(name: &str, value: impl Fn(f64, f64) -> f64, slope: impl Fn(f64, f64) -> f64) -> Fallible<Self> {
        Self::tabulated(name, OwnForm::Count, &value, &slope)
    }

    fn tabulated(
        name: &str,
        form: OwnForm,
        value: &dyn Fn(f64, f64) -> f64,
        slope: &dyn Fn(f64, f64) -> f64,
    ) -> Fallible<Self> {
        let name = OwnName::new(name)?;
        let refused = |problem: String, cure: &str| Error::parameter(format!("loss {name}"), problem, cure);
        let labels = form.labels();
        // Asked once: what is checked is what is used.
        let told: Vec<Vec<Told>> = labels
            .iter()
            .map(|&label| margins().map(|t| Told { value: value(t, label), slope: slope(t, label) }).collect())
            .collect();
        for (label, points) in labels.iter().zip(&told) {
            check(*label, points, &told[0]).map_err(|(problem, cure)| refused(problem, cure))?;
        }
        let tilt = |one: &[Told]| -> Vec<f64> { one.iter().zip(&told[0]).map(|(y, n)| y.slope - n.slope).collect() };
        let tilts = told.get(1).map(|one| tilt(one)).unwrap_or_default();
        if let ([_, _, most], [none, _, points]) = (labels, &told[..]) {
            let affine = |at: usize| none[at].slope + most * tilts[at];
            let far = |at: &usize| {
                let slack = TOLERANCE * (1.0 + points[*at].slope.abs() + most * none[*at].slope.abs());
                (points[*at].slope - affine(*at)).abs() > slack
            };
            if let Some(t) = (0..=CELLS).find(far).and_then(|at| margins().nth(at)) {
                let problem = format!("has a slope that is not affine in the target at the margin {t}");
                return Err(refused(problem, "give one of the form s(t) + y u(t), or a loss of the residual"));
            }
        }
        let at_zero = |points: &[Told]| points[CELLS / 2].value;
        let knots = Knots {
            form,
            base: told[0].iter().map(|point| point.slope as f32).collect(),
            tilt: tilts.iter().map(|&tilt| tilt as f32).collect(),
            at_zero: [at_zero(&told[0]), told.get(1).map_or(0.0, |one| at_zero(one) - at_zero(&told[0]))],
        };
        let table = interned(knots);
        if table.lipschitz == 0.0 {
            return Err(refused("is flat: every model is as good".into(), "give a loss that tells models apart"));
        }
        Ok(OwnLoss { name, form, digest: table.digest, table })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// How it reads its target.
    pub fn form(&self) -> OwnForm {
        self.form
    }

    /// SHA-256 of its table, in hexadecimal digits.
    pub fn table_sha256(&self) -> String {
        hex(&self.digest)
    }

    /// The largest absolute log-rate of a loss of counts.
    pub(crate) fn log_rate_bound(&self) -> f64 {
        LOG_RATE_BOUND
    }

    /// Whether its table is here, and not its name and digest alone, as in a model file.
    pub(crate) fn is_known(&self) -> bool {
        !std::ptr::eq(self.table, &*UNKNOWN)
    }

    /// The largest absolute slope and curvature of rows with margins (or residuals) within one, for labels 0 and 1: what
    /// step sizes and clips are scaled by.
    fn scale(&self) -> (f64, f64) {
        let labels: &[f64] = if self.form == OwnForm::Residual { &[0.0] } else { &[0.0, 1.0] };
        let near = (REACH - 1) * KNOTS_PER_UNIT..(REACH + 1) * KNOTS_PER_UNIT;
        let (mut steepest, mut sharpest) = (0f64, 0f64);
        for cell in &self.table.cells[near] {
            for label in labels {
                let [base, rise, tilt, tilt_rise] = cell.map(f64::from);
                let (slope, rise) = (base + label * tilt, rise + label * tilt_rise);
                steepest = steepest.max(slope.abs()).max((slope + rise).abs());
                sharpest = sharpest.max(rise * KNOTS_PER_UNIT as f64);
            }
        }
        // A loss that is flat there, as far as it is told apart from zero, is measured as a whole.
        let (far, sharp) = (self.table.lipschitz, self.table.smoothness);
        let steepest = if steepest > 0.0 { steepest } else { far };
        // A loss that hardly bends has no step size of its own: none is longer than ten slopes.
        (steepest, (if sharpest > 0.0 { sharpest } else { sharp }).max(0.1 * steepest))
    }
}

impl OwnForm {
    /// The labels for which a loss is checked, the largest one last if there are more than 0 and 1.
    fn labels(self) -> &'static [f64] {
        // e^3, as LOG_RATE_BOUND says.
        const COUNTS: [f64; 3] = [0.0, 1.0, 20.085_536_923_187_668];
        match self {
            OwnForm::Residual => &COUNTS[..1],
            OwnForm::Label => &COUNTS[..2],
            OwnForm::Count => &COUNTS,
        }
    }
}

fn margins() -> impl Iterator<Item = f64> {
    (0..=CELLS).map(|knot| knot as f64 / KNOTS_PER_UNIT as f64 - REACH as f64)
}

/// Whether value and slope are those of a convex function, as far as knots tell: each tangent stays below the value at the
/// next knot on either side. For values `v`, slopes `s` and knots `h` apart this is `h s(t) <= v(t + h) - v(t) <= h s(t + h)`.
///
/// `points` are those of a label, `none` those of label 0.
fn check(label: f64, points: &[Told], none: &[Told]) -> Result<(), (String, &'static str)> {
    let step = 1.0 / KNOTS_PER_UNIT as f64;
    let mut before: Option<[f64; 4]> = None;
    for (t, (point, of_none)) in margins().zip(points.iter().zip(none)) {
        let (v, s) = (point.value, point.slope);
        // Rounding is that of what a label is added to: for label 1 a logistic loss is the small difference of large numbers.
        let (values, slopes) = (v.abs() + of_none.value.abs(), s.abs() + of_none.slope.abs());
        let at = format!("at {t} (label {label})");
        if !v.is_finite() || s.is_nan() || s.abs() > MAX_SLOPE {
            let problem = format!("has the value {v} and the slope {s} {at}");
            return Err((problem, "give one that is finite, with slopes of at most 1e30, for margins from -32 to 32"));
        }
        if let Some([w, r, values_before, slopes_before]) = before {
            let slack = TOLERANCE * (slopes + slopes_before);
            let rounding = slack * step + 1e-12 * (values + values_before);
            if s < r - slack {
                return Err((format!("has a slope that falls from {r} to {s} {at}"), "give a convex one"));
            }
            let rise = v - w;
            if rise < r * step - rounding || rise > s * step + rounding {
                let problem = format!("rises by {rise} {at} where its slope allows {} to {}", r * step, s * step);
                return Err((problem, "give the derivative of the value as the slope"));
            }
        }
        before = Some([v, s, values, slopes]);
    }
    Ok(())
}

/// The table of these knots, which is made once.
fn interned(knots: Knots) -> &'static Table {
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let digest = knots.digest();
    match tables.iter().find(|table| table.digest == digest) {
        Some(table) => table,
        None => {
            let table: &'static Table = Box::leak(Box::new(Table::new(knots)));
            tables.push(table);
            table
        }
    }
}

impl Knots {
    fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(b"rhograd own loss, version 1\n");
        hasher.update([self.form as u8]);
        self.base.iter().chain(&self.tilt).for_each(|slope| hasher.update(slope.to_le_bytes()));
        self.at_zero.iter().for_each(|value| hasher.update(value.to_le_bytes()));
        hasher.finalize().into()
    }

    /// Whether they have the length that tables are made from.
    fn fit(&self) -> bool {
        let tilt = if self.form == OwnForm::Residual { 0 } else { CELLS + 1 };
        self.base.len() == CELLS + 1 && self.tilt.len() == tilt
    }
}

impl Table {
    fn new(knots: Knots) -> Self {
        let step = 1.0 / KNOTS_PER_UNIT as f64;
        let pair = |slopes: &[f32], knot: usize| {
            let at = |knot: usize| slopes.get(knot).copied().unwrap_or(0.0);
            (at(knot), at(knot + 1) - at(knot))
        };
        let mut cells: Box<[Cell; CELLS]> = Box::new([[0.0; 4]; CELLS]);
        let mut values = vec![[0.0; 2]; CELLS + 1];
        for (knot, cell) in cells.iter_mut().enumerate() {
            let ((base, rise), (tilt, tilt_rise)) = (pair(&knots.base, knot), pair(&knots.tilt, knot));
            *cell = [base, rise, tilt, tilt_rise];
            let area = |slope: f32, rise: f32| (f64::from(slope) + 0.5 * f64::from(rise)) * step;
            values[knot + 1] = [values[knot][0] + area(base, rise), values[knot][1] + area(tilt, tilt_rise)];
        }
        let middle = values[CELLS / 2];
        for value in &mut values {
            *value = [0, 1].map(|k| value[k] - middle[k] + knots.at_zero[k]);
        }
        let (mut lipschitz, mut smoothness) = (0f64, 0f64);
        for &label in knots.form.labels() {
            for cell in cells.iter() {
                let [base, rise, tilt, tilt_rise] = cell.map(f64::from);
                let (slope, rise) = (base + label * tilt, rise + label * tilt_rise);
                lipschitz = lipschitz.max(slope.abs()).max((slope + rise).abs());
                smoothness = smoothness.max(rise * KNOTS_PER_UNIT as f64);
            }
        }
        let label_weight = if knots.form == OwnForm::Residual { 1.0 } else { 0.0 };
        Table { digest: knots.digest(), knots, cells, values, label_weight, lipschitz, smoothness }
    }

    /// The cell of a margin, and the share of it that lies below.
    #[inline(always)]
    fn place(&self, margin: f32, label: f32) -> (&Cell, f32) {
        const SHIFT: f32 = 12_582_912.0; // 1.5 * 2^23: adding it rounds to an integer
        const HALF: f32 = (CELLS / 2) as f32;
        // The largest number below, so that the last knot lies in the last cell.
        const LAST: f32 = HALF.next_down();
        let place = between((margin - self.label_weight * label) * KNOTS_PER_UNIT as f32, -HALF, LAST);
        // The integer nearest to half a cell below is the cell; on a knot it may be that of either side.
        let shifted = (place - 0.5) + SHIFT;
        let cell = (shifted.to_bits() as i32).wrapping_sub(SHIFT.to_bits() as i32).wrapping_add((CELLS / 2) as i32);
        (&self.cells[cell as usize & (CELLS - 1)], place - (shifted - SHIFT))
    }
}

impl Loss for OwnLoss {
    fn value(&self, margin: f64, label: f64) -> f64 {
        let table = self.table;
        let t = margin - f64::from(table.label_weight) * label;
        let reach = REACH as f64;
        let inside = t.clamp(-reach, reach);
        let place = (inside + reach) * KNOTS_PER_UNIT as f64;
        let index = (place as usize).min(CELLS - 1);
        let share = place - index as f64;
        let [[base, rise], [tilt, tilt_rise]] = {
            let [base, rise, tilt, tilt_rise] = table.cells[index].map(f64::from);
            [[base, rise], [tilt, tilt_rise]]
        };
        let along = |value: f64, slope: f64, rise: f64| {
            let within = share * (slope + 0.5 * share * rise) / KNOTS_PER_UNIT as f64;
            // On the tangent beyond the last knot.
            value + within + (t - inside) * (slope + share * rise)
        };
        let [first, growth] = table.values[index];
        along(first, base, rise) + label * along(growth, tilt, tilt_rise)
    }

    #[inline(always)]
    fn slope(&self, margin: f32, label: f32) -> f32 {
        let (&[base, rise, tilt, tilt_rise], share) = self.table.place(margin, label);
        (base + share * rise) + label * (tilt + share * tilt_rise)
    }

    fn lipschitz(&self) -> f64 {
        self.table.lipschitz
    }

    fn smoothness(&self) -> f64 {
        self.table.smoothness
    }

    /// Nothing was measured: the constants are those of a built-in loss of the same form, in the scale of this one.
    fn tuning(&self) -> Tuning {
        let (steep, sharp) = self.scale();
        let clip = |[factor, least, most]: [f64; 3], built_in: f64| {
            let scale = steep / built_in;
            [factor * scale, least * scale, most * scale]
        };
        // Where a loss of this form is cut: what a confident mistake, or two deviations, cost.
        let far = [(2.0, 0.0), (-2.0, 0.0), (4.0, 0.0), (-4.0, 1.0)];
        let cap = |places: &[(f64, f64)]| {
            let largest = places.iter().map(|&(t, y)| self.value(t, y)).fold(0.0, f64::max);
            // The integral of interpolated slopes ends a little beside zero.
            let lowest = -1e-4 * largest;
            let never_negative = self.table.values.iter().all(|[v, growth]| *v >= lowest && v + growth >= lowest);
            (never_negative && largest > 0.0).then_some(largest)
        };
        match self.form {
            // Slopes of the logistic loss end near 0.73 within one unit, its curvature is a quarter.
            OwnForm::Label => {
                let like = WhitenedTuning::labels(1.5 / sharp);
                let whitened =
                    WhitenedTuning { steps: 16, momentum: 0.3, averaged: true, clip: clip(like.clip, 0.731), ..like };
                let clip = clip([0.15, 0.15, 0.6], 0.731);
                Tuning { step: 2.0 / sharp, clip, whitened, scoring: Scoring::Score, loss_cap: cap(&far[2..]) }
            }
            // Those of the square end at 1, its curvature is 1.
            OwnForm::Residual => {
                let like = WhitenedTuning::numbers(1.0 / sharp);
                let whitened = WhitenedTuning { clip: clip(like.clip, 1.0), ..like };
                let clip = clip([0.36, 0.15, 3.0], 1.0);
                Tuning { step: 2.0 / sharp, clip, whitened, scoring: Scoring::Number, loss_cap: cap(&far[..2]) }
            }
            // Those of the Poisson loss end at e, and so does its curvature.
            OwnForm::Count => {
                let like = WhitenedTuning::numbers(0.6 * std::f64::consts::E / sharp);
                let whitened = WhitenedTuning { clip: clip([1.2, 2.0, 12.0], std::f64::consts::E), ..like };
                let step = std::f64::consts::E / sharp;
                let clip = clip([0.7, 1.0, 12.0], std::f64::consts::E);
                Tuning { step, clip, whitened, scoring: Scoring::Count, loss_cap: None }
            }
        }
    }

    fn prediction(&self, margin: f64) -> f64 {
        match self.form {
            OwnForm::Label | OwnForm::Residual => margin,
            OwnForm::Count => Poisson::rate(LOG_RATE_BOUND, margin),
        }
    }

    fn reported(&self, margin: f64, label: f64) -> f64 {
        match self.form {
            OwnForm::Label | OwnForm::Residual => self.value(margin, label),
            OwnForm::Count => Poisson::deviance(self.prediction(margin), label),
        }
    }

    fn metric(&self) -> &'static str {
        match self.form {
            OwnForm::Label | OwnForm::Residual => "loss",
            OwnForm::Count => "deviance",
        }
    }

    /// None: nobody vouches for its curvature.
    fn curved(&self) -> Option<Curved> {
        None
    }

    /// None: nobody vouches for its slopes.
    fn bounded(&self) -> Option<BoundedLoss> {
        None
    }
}

impl PartialEq for OwnLoss {
    fn eq(&self, other: &Self) -> bool {
        (self.name, self.form, self.digest) == (other.name, other.form, other.digest)
    }
}

impl std::fmt::Debug for OwnLoss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OwnLoss({} {})", self.name, self.table_sha256())
    }
}

/// As workers get it: the whole table, which is data.
impl Serialize for OwnLoss {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        (&self.name, &self.table.knots).serialize(to)
    }
}

impl<'de> Deserialize<'de> for OwnLoss {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let (name, knots) = <(OwnName, Knots)>::deserialize(from)?;
        if !knots.fit() {
            return Err(D::Error::custom("a table of another length"));
        }
        let (form, table) = (knots.form, interned(knots));
        Ok(OwnLoss { name, form, digest: table.digest, table })
    }
}

/// What files hold of it: the table is no part of them.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: OwnName,
    form: OwnForm,
    table_sha256: String,
}

impl OwnLoss {
    /// As files get it: by name and digest.
    pub(crate) fn serialize_named<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Named { name: self.name, form: self.form, table_sha256: self.table_sha256() }.serialize(to)
    }

    /// As files give it, without a table.
    pub(crate) fn deserialize_named<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let Named { name, form, table_sha256 } = Named::deserialize(from)?;
        let digest = unhex(&table_sha256).ok_or_else(|| D::Error::custom("table_sha256 is no SHA-256"))?;
        Ok(OwnLoss { name, form, digest, table: &UNKNOWN })
    }
}

fn hex(bytes: &[u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The digest of 64 lower-case hexadecimal digits.
fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut digest = [0; 32];
    for (at, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    (hex(&digest) == text).then_some(digest)
}

#[cfg(test)]
mod tests;
