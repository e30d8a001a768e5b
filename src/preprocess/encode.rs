//! The map from a line to an encoded row: a pure function of the line and the schema.

use std::collections::HashMap;
use std::path::Path;

use super::Codes;
use super::persons::identifier;
use super::quantize::quantize;
use super::report::{Fault, LoadReport, Loss, Odd, ReportColumns, no_number, no_value, outside};
use super::target::{TargetReader, TargetRule, absent};
use crate::data::{Categorical, CsvFile, Fields, Offset, Protect, Schema, Unit, Wanted, is_replacement};
use crate::error::{Error, Fallible};
use crate::grid::{OFFSET_LEVELS, Shape, WEIGHT_LEVELS, offset_code, weight_code};
use crate::kernel::RawRow;

/// Hears how many bytes of a file have been read; an error stops the reading.
pub type Progress<'a> = dyn Fn(u64) -> Fallible<()> + Sync + 'a;

/// The columns of the encoded rows of a schema.
pub fn shape_of(schema: &Schema) -> Shape {
    let levels: Vec<u16> = schema.categorical().map(|column| column.values.len() as u16).collect();
    Shape::new(schema.numeric().count(), &levels)
}

/// The code in the feature that says where a number is missing: that of its one value, or of none of them.
#[inline(always)]
pub(super) fn missing_code(missing: bool) -> u16 {
    u16::from(!missing)
}

/// Bounds of offsets, where they are told by a code beside the features: of two labels. From a number they are subtracted.
pub(crate) fn offset_bounds(schema: &Schema) -> Option<(f64, f64)> {
    let offset = schema.weight.as_ref().and_then(|weight| weight.offset.as_ref());
    offset.filter(|_| schema.target_bounds().is_none()).map(|offset| (offset.lower, offset.upper))
}

/// The columns of rows as they are encoded: those of the schema, and where it gives rows weights the code of the weight behind them, after that
/// of the offset where there is one.
pub(super) fn encoded_shape(schema: &Schema) -> Shape {
    let shape = shape_of(schema);
    if schema.weight.is_none() {
        return shape;
    }
    let mut levels: Vec<u16> = (0..shape.categorical()).map(|column| shape.levels(column) as u16).collect();
    levels.extend(offset_bounds(schema).map(|_| OFFSET_LEVELS));
    levels.push(WEIGHT_LEVELS);
    Shape::new(shape.numeric(), &levels)
}

/// How the weight of a row is read.
pub(super) struct WeightRule {
    /// Position of its code among the categorical columns.
    pub(super) slot: usize,
    /// The largest weight of a cell; 1 where labels alone have one.
    pub(super) max: f64,
    /// The largest exposure, where rows have one.
    exposure: Option<f64>,
    /// Bounds of the offset, where rows have one.
    offset: Option<Offset>,
    /// Position of the code of the offset among the categorical columns, where it has one.
    offset_slot: Option<usize>,
    /// Shares of the largest weight of a label, by its encoded value; empty where labels weigh alike.
    labels: Vec<f64>,
}

impl WeightRule {
    /// That of a schema, if it has one.
    ///
    /// # Errors
    /// When the weights of labels do not fit the schema.
    pub(super) fn of(schema: &Schema) -> Fallible<Option<Self>> {
        let Some(weight) = &schema.weight else { return Ok(None) };
        let largest = weight.largest_of_labels();
        let labels = schema.label_weights(Path::new("schema"))?.into_iter().map(|factor| factor / largest).collect();
        let (first, max) = (shape_of(schema).categorical(), weight.max.unwrap_or(1.0));
        let offset_slot = offset_bounds(schema).map(|_| first);
        let slot = first + usize::from(offset_slot.is_some());
        let exposure = weight.exposure.as_ref().map(|exposure| exposure.max);
        Ok(Some(WeightRule { slot, max, exposure, offset: weight.offset.clone(), offset_slot, labels }))
    }

    /// Where the code of an offset stands, and which it is; `None` where it has none.
    #[inline(always)]
    pub(super) fn offset_code(&self, offset: f64) -> Option<(usize, u16)> {
        let bounds = self.offset.as_ref().map(|of| (of.lower, of.upper));
        self.offset_slot.zip(bounds).map(|(slot, bounds)| (slot, offset_code(offset, bounds)))
    }

    /// What is subtracted from a number to predict.
    #[inline(always)]
    pub(super) fn subtracted(&self, offset: f64) -> f64 {
        match &self.offset {
            Some(of) if self.offset_slot.is_none() => of.within(offset),
            _ => 0.0,
        }
    }

    /// What is wrong with an offset that is moved to its bounds, and the place among categorical columns that is counted by.
    pub(super) fn offset_fault(&self, offset: f64) -> Option<(usize, Fault)> {
        let fault = outside(offset, self.offset.as_ref()?.lower, self.offset.as_ref()?.upper)?;
        Some((self.offset_slot.unwrap_or(self.slot), fault))
    }

    /// Whether an exposure is above the largest one.
    pub(super) fn is_cut(&self, exposure: f64) -> bool {
        self.exposure.is_some_and(|max| exposure > max)
    }

    /// Whether a number is an exposure: the target is divided by it.
    pub(super) fn is_exposure(exposure: f64) -> bool {
        exposure > 0.0 && exposure.is_finite()
    }

    /// The code of the weight of a row: of a cell's number and an exposure, 1 where no column holds them, and of a label; `None` where one of
    /// both is none.
    #[inline(always)]
    pub(super) fn code(&self, weight: f64, exposure: f64, label: i16) -> Option<u16> {
        // Not a number fails, too.
        if !(weight >= 0.0 && Self::is_exposure(exposure)) {
            return None;
        }
        let of_label = match self.labels[..] {
            [] => 1.0,
            _ => usize::try_from(label).ok().and_then(|label| self.labels.get(label)).copied().unwrap_or(0.0),
        };
        let of_exposure = self.exposure.map_or(1.0, |max| exposure.min(max) / max);
        Some(weight_code(weight.min(self.max) / self.max * of_exposure * of_label))
    }
}

/// What a column of the file is to the encoder.
pub(super) enum Role {
    /// Nothing.
    Skipped,
    /// A numeric feature with its bounds.
    Numeric {
        /// Position among the numeric features.
        slot: usize,
        /// Lower bound.
        lower: f64,
        /// Upper bound.
        upper: f64,
        /// Position among the categorical features of the one that says where it is missing.
        missing: Option<usize>,
    },
    /// A categorical feature.
    Categorical {
        /// Position among the categorical features.
        slot: usize,
        /// The declared values.
        codes: Codes,
        /// The code of all others.
        other: u16,
    },
    /// The target.
    Target,
    /// The identifier of the row's person.
    Identifier,
    /// The weight of the row, its exposure, or its offset.
    Weight,
}

/// Encodes lines by a schema.
///
/// - what a cell means: see `docs/cells.md`;
/// - numeric: bounds map to `-FULL_SCALE..=FULL_SCALE`; outside values move to the nearer bound,
///   missing or unreadable ones to the middle, where a feature of its own may say so;
/// - categorical: the code of the declared value, else of `other`, else "none of them";
/// - a line with the wrong number of cells, an undeclared label or an unreadable target becomes a null
///   row, which contributes nothing, and so does a line without an identifier where the schema has a unit;
/// - where the schema protects labels alone, a line whose target is none stays a record without a label.
pub struct Encoder {
    pub(super) schema: Schema,
    /// One role for each column of the file.
    pub(super) roles: Vec<Role>,
    target: Option<usize>,
    /// The column of identifiers, and the most rows of a person that count, where the schema has a unit.
    pub(super) unit: Option<(usize, u32)>,
    pub(super) reader: TargetReader,
    /// The columns of weights, of exposures and of offsets, where there are some, and how they are read, where the schema gives rows weights.
    pub(super) weight: Option<([Option<usize>; 3], WeightRule)>,
    /// What stands for a target that is none, where the line is a record all the same.
    pub(super) absent: Option<i16>,
    shape: Shape,
    /// Whether lines without quotes are cells between commas.
    pub(super) has_commas: bool,
}

impl Encoder {
    /// Prepares the encoder for a file; with `needs_target` the file must have the target column.
    ///
    /// # Errors
    /// When the header lacks a declared column, or the file is of a kind that has no identifiers.
    pub fn new(schema: &Schema, file: &CsvFile, needs_target: bool) -> Fallible<Self> {
        file.require(schema.features().map(|(name, _)| name))?;
        if schema.keeps_unlabelled() && !file.has_commas() {
            return Err(Error::parameter(
                if schema.protect == Protect::Label { "--protect" } else { "--public" },
                "does not fit a libsvm file, in which a private cell that is missing, or begins with #, changes how the rest of its line is read",
                "give the rows as CSV or Parquet, or protect rows",
            ));
        }
        let target = match file.column(&schema.target) {
            Ok(index) => Some(index),
            Err(error) if needs_target => return Err(error),
            Err(_) => None,
        };
        let mut roles: Vec<Role> = file.header().iter().map(|_| Role::Skipped).collect();
        if let Some(index) = target {
            roles[index] = Role::Target;
        }
        let told = schema.categorical().enumerate();
        let missing: HashMap<usize, usize> =
            told.filter_map(|(place, column)| Some((column.missing_of?.1, place))).collect();
        for (slot, (name, lower, upper)) in schema.numeric().enumerate() {
            let missing = missing.get(&slot).copied();
            roles[file.column(name)?] = Role::Numeric { slot, lower, upper, missing };
        }
        let declared = schema.categorical().enumerate().filter(|(_, column)| column.missing_of.is_none());
        for (slot, Categorical { name, values, other, .. }) in declared {
            let codes = Codes::new(values.iter().enumerate().map(|(code, value)| (value.as_str(), code as u16)));
            let other = other.and_then(|other| values.iter().position(|v| v == other)).unwrap_or(values.len());
            roles[file.column(&name)?] = Role::Categorical { slot, codes, other: other as u16 };
        }
        let unit = schema.unit.as_ref().map(|unit| identifiers(file, unit)).transpose()?;
        if let Some((index, _)) = unit {
            roles[index] = Role::Identifier;
        }
        let reader = TargetReader::new(&TargetRule::of(schema));
        let absent = absent(schema);
        let weight = match WeightRule::of(schema)? {
            None => None,
            Some(rule) => {
                let columns =
                    schema.weight_columns().map(|column| column.map(|column| file.column(column)).transpose());
                let [weight, exposure, offset] = columns;
                Some(([weight?, exposure?, offset?], rule))
            }
        };
        for index in weight.iter().flat_map(|(columns, _)| columns).flatten() {
            roles[*index] = Role::Weight;
        }
        let (shape, has_commas) = (encoded_shape(schema), file.has_commas());
        Ok(Encoder { schema: schema.clone(), roles, target, unit, weight, reader, absent, shape, has_commas })
    }

    /// The columns of the encoded rows.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Every record of a file, encoded one by one; for a few that are made up.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn records(&self, file: &CsvFile) -> Fallible<Vec<RawRow>> {
        let mut records = Vec::new();
        file.each_line(|fields| {
            let mut row = RawRow::empty(&self.shape);
            if self.encode_fields(fields, &mut row, &mut Vec::new()).is_ok() {
                records.push(row);
            }
            Ok(())
        })?;
        Ok(records)
    }

    /// Whether a row has an exposure or an offset, by which its target is changed and which may stand behind that in a line.
    pub(super) fn has_exposure(&self) -> bool {
        self.weight.as_ref().is_some_and(|([_, exposure, offset], _)| exposure.is_some() || offset.is_some())
    }

    /// Whether the file has the target; without it every label is 0.
    pub(super) fn has_target(&self) -> bool {
        self.target.is_some()
    }

    /// What is wanted of the columns of a file that can be read one by one, each by its place in the header; `None` where lines are read.
    pub(super) fn wanted(&self, file: &CsvFile) -> Option<Vec<(usize, Wanted)>> {
        let wanted = |(place, role): (usize, &Role)| match role {
            Role::Skipped => None,
            Role::Target if !self.reader.is_number() => Some((place, Wanted::Text)),
            Role::Numeric { .. } | Role::Target | Role::Weight => Some((place, Wanted::Number)),
            Role::Categorical { .. } | Role::Identifier => Some((place, Wanted::Text)),
        };
        (file.has_columns() && self.has_target()).then(|| self.roles.iter().enumerate().filter_map(wanted).collect())
    }

    /// Columns of a report.
    pub(super) fn report_columns(&self) -> ReportColumns {
        let numeric = self.shape.numeric();
        ReportColumns { numeric, all: numeric + self.shape.categorical() + 1 }
    }

    /// The column of a report that is about the target.
    pub(super) fn target_column(&self) -> usize {
        self.report_columns().all - 1
    }

    /// Encodes one record in place; whether its label is the positive one, where the schema declares one, and cells that
    /// count as something else than what stands there.
    ///
    /// The written rule, cell by cell: lines whose quotes are not those at both ends of cells go this way, and every other line must end as it would here.
    ///
    /// # Errors
    /// Where it is no record, and why.
    pub(super) fn encode_fields(
        &self,
        fields: &Fields,
        row: &mut RawRow,
        odd: &mut Vec<Odd>,
    ) -> Result<Option<bool>, Loss> {
        // What an unusable line leaves behind must not depend on the line before it.
        row.numeric.fill(0);
        row.codes.fill(u16::MAX);
        (row.label, row.null) = (0, true);
        odd.clear();
        match fields.len().cmp(&self.roles.len()) {
            std::cmp::Ordering::Less => return Err(Loss::FewCells),
            std::cmp::Ordering::Greater => return Err(Loss::ManyCells),
            std::cmp::Ordering::Equal => {}
        }
        if self.unit.is_some_and(|(index, _)| identifier(fields.get(index)).is_none()) {
            return Err(Loss::Identifier);
        }
        // Before the target, so that a line which lacks both is lost for the same reason in every reader.
        let columns = self.weight.as_ref().map_or([None, None, None], |(columns, _)| *columns);
        let [weight, exposure, offset] = columns.map(|column| column.map_or(Some(1.0), |index| fields.value(index)));
        let ((weight, exposure), offset) = weight.zip(exposure).zip(offset).ok_or(Loss::Weight)?;
        if !(weight >= 0.0 && WeightRule::is_exposure(exposure)) {
            return Err(Loss::Weight);
        }
        let less = self.weight.as_ref().map_or(0.0, |(_, rule)| rule.subtracted(offset));
        let mut positive = None;
        if let Some(index) = self.target {
            let label = self.reader.encode_over(fields.get(index), (exposure, less));
            row.label = label.or(self.absent).ok_or(Loss::Target)?;
            positive = self.reader.positive(row.label);
            let fault = match label {
                Some(label) => self.reader.outside_over(label, fields.get(index), (exposure, less)),
                None => Some(self.reader.fault(fields.get(index))),
            };
            odd.extend(fault.map(|fault| Odd { column: self.target_column(), fault, place: (index, 0) }));
        }
        if let Some(([own, over, added], rule)) = &self.weight {
            row.codes[rule.slot] = rule.code(weight, exposure, row.label).ok_or(Loss::Weight)?;
            if let Some((slot, code)) = rule.offset_code(offset) {
                row.codes[slot] = code;
            }
            let above = [own.filter(|_| weight > rule.max), over.filter(|_| rule.is_cut(exposure))];
            let column = self.shape.numeric() + rule.slot;
            let cells = above.into_iter().flatten();
            odd.extend(cells.map(|index| Odd { column, fault: Fault::Above, place: (index, 0) }));
            if let (Some(index), Some((slot, fault))) = (added, rule.offset_fault(offset)) {
                odd.push(Odd { column: self.shape.numeric() + slot, fault, place: (*index, 0) });
            }
        }
        row.null = false;
        for (index, role) in self.roles.iter().enumerate() {
            let fault = match role {
                Role::Skipped | Role::Target | Role::Identifier | Role::Weight => None,
                Role::Numeric { slot, lower, upper, missing } => {
                    let value = fields.value(index);
                    missing.iter().for_each(|place| row.codes[*place] = missing_code(value.is_none()));
                    row.numeric[*slot] = value.map_or(0, |v| quantize(v, *lower, *upper));
                    let fault =
                        value.map_or_else(|| Some(no_number(fields.get(index))), |v| outside(v, *lower, *upper));
                    fault.map(|fault| (*slot, fault))
                }
                Role::Categorical { slot, codes, other } => {
                    let known = codes.get(fields.get(index));
                    row.codes[*slot] = known.unwrap_or(*other);
                    let column = self.shape.numeric() + slot;
                    known.is_none().then(|| (column, no_value(fields.get(index))))
                }
            };
            odd.extend(fault.map(|(column, fault)| Odd { column, fault, place: (index, 0) }));
        }
        Ok(positive)
    }

    /// The identifier of a line, also of one that is no record for another reason; empty where it has none.
    pub(super) fn identifier_of<'f>(&self, fields: &'f Fields) -> &'f [u8] {
        match self.unit {
            Some((index, _)) if fields.len() == self.roles.len() => fields.get(index),
            _ => b"",
        }
    }

    /// Counts a line by what [`Encoder::encode_fields`] said of it.
    pub(super) fn count_fields(
        &self,
        line: &[u8],
        fields: &Fields,
        outcome: Result<Option<bool>, Loss>,
        odd: &[Odd],
        report: &mut LoadReport,
    ) {
        let columns = self.report_columns();
        match outcome {
            Ok(positive) => {
                report.count(positive);
                let line = report.lines;
                for Odd { column, fault, place } in odd {
                    match fields.value(place.0).filter(|_| *column < columns.numeric) {
                        Some(value) => report.note_number(columns, *column, *fault, line, value),
                        None => report.note(columns, *column, *fault, line, fields.get(place.0)),
                    }
                }
            }
            Err(Loss::Target) => {
                report.lose_for_target(columns, &self.reader, self.target.map_or(b"", |index| fields.get(index)));
            }
            Err(Loss::Identifier) => report.lose(Loss::Identifier),
            Err(_) if is_replacement(line) => report.lose(Loss::TooLong),
            // Quotes come in pairs, and a line break inside leaves one of them on either line.
            Err(_) if self.has_commas && memchr::memchr_iter(b'"', line).count() % 2 == 1 => {
                report.lose(Loss::OpenQuote)
            }
            Err(_) if !self.has_commas => report.lose(Loss::Form),
            Err(loss) => report.lose(loss),
        }
    }
}

/// The place of the column of identifiers, and the most rows of a person that count.
fn identifiers(file: &CsvFile, unit: &Unit) -> Fallible<(usize, u32)> {
    Ok((identifier_column(file, &unit.column)?, unit.max_rows()))
}

/// The place of a column of identifiers.
///
/// # Errors
/// When the file has none of that name, or what it holds does not tell persons apart.
pub(crate) fn identifier_column(file: &CsvFile, column: &str) -> Fallible<usize> {
    if !file.has_commas() {
        let problem = "is a libsvm file, which holds numbers alone and no identifiers";
        let error =
            Error::input(file.path(), problem, "give a CSV or Parquet file with this column, or leave the unit out");
        return Err(error.in_column(column));
    }
    let place = file.column(column)?;
    if file.is_floating(column)? {
        // By its type and not by what stands there: an error that a row decides would tell of it.
        let problem = "holds floating-point numbers, which do not tell large identifiers apart";
        let error = Error::input(file.path(), problem, "store identifiers as whole numbers or as texts");
        return Err(error.in_column(column));
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::FULL_SCALE;
    use std::path::Path;

    const SCHEMA: &str = r#"{"name":"a","task":"classification","target":"y","positive":"yes","negative":"no",
        "columns":{"x":{"type":"numeric","lower":0,"upper":10},
                   "c":{"type":"categorical","values":["u","v"],"other":"v"},
                   "d":{"type":"categorical","values":["s"]}}}"#;

    fn encode(line: &str) -> RawRow {
        let schema = Schema::parse(SCHEMA, Path::new("s")).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        std::fs::write(&path, "d,c,x,y\n").unwrap();
        let file = CsvFile::open(&path).unwrap();
        let encoder = Encoder::new(&schema, &file, true).unwrap();
        let (mut fields, mut row) = (Fields::default(), RawRow::empty(&encoder.shape));
        fields.split(line.as_bytes());
        let _ = encoder.encode_fields(&fields, &mut row, &mut Vec::new());
        row
    }

    #[test]
    fn rules_for_odd_cells() {
        let row = |x: i16, c, d, label| RawRow { numeric: vec![x], codes: vec![c, d], label, null: false };
        assert_eq!(encode("s,u,10,yes"), row(FULL_SCALE, 0, 0, 1));
        assert_eq!(encode("s,v,0,no"), row(-FULL_SCALE, 1, 0, 0));
        assert_eq!(encode("?,?,,no"), row(0, 1, 1, 0));
        for (cell, q) in
            [("1e999", FULL_SCALE), ("-inf", -FULL_SCALE), ("nan", 0), ("0x10", 0), ("-4", -FULL_SCALE), (".5", -29490)]
        {
            assert_eq!(encode(&format!("s,u,{cell},no")).numeric, [q], "{cell}");
        }
        for bad in ["", "s,u,1", "s,u,1,no,", "s,u,1,maybe", "s,u,1,"] {
            assert!(encode(bad).null, "{bad:?}");
        }
    }

    #[test]
    fn an_unusable_line_is_the_same_whatever_came_before() {
        let schema = Schema::parse(SCHEMA, Path::new("s")).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.csv");
        std::fs::write(&path, "d,c,x,y\n").unwrap();
        let encoder = Encoder::new(&schema, &CsvFile::open(&path).unwrap(), true).unwrap();
        let mut fields = Fields::default();
        let mut reused = RawRow::empty(&encoder.shape);
        for line in ["s,u,10,yes", "broken"] {
            fields.split(line.as_bytes());
            let _ = encoder.encode_fields(&fields, &mut reused, &mut Vec::new());
        }
        assert_eq!(reused, RawRow::empty(&encoder.shape));
    }
}
