//! Schemas made in code.

use std::path::Path;

use super::column::{Column, Missing};
use super::schema::{Schema, Task};
use super::unit::Unit;
use crate::error::{Error, Fallible};

/// What stands for the file of a schema in messages.
const HERE: &str = "schema";

/// Makes a [`Schema`] in code, by the rules of a schema file.
///
/// # Privacy
/// All of it is public: bounds, values and labels must be known without a look at the rows.
///
/// ```
/// use rhograd::data::SchemaBuilder;
///
/// let schema = SchemaBuilder::classification("survey", "income")
///     .positive("high")
///     .negative("low")
///     .numeric("age", 18.0, 90.0)
///     .categorical("region", ["north", "south"])
///     .categorical_or("job", ["clerk", "farmer", "none of these"], "none of these")
///     .rows(20_000)
///     .build()?;
/// assert_eq!(schema.features().map(|(name, _)| name).collect::<Vec<_>>(), ["age", "region", "job"]);
///
/// // More than two labels are declared, and none is called positive.
/// let several = SchemaBuilder::classification("flowers", "kind").labels(["a", "b", "c"]).numeric("length", 0.0, 9.0);
/// assert_eq!(several.build()?.classes().map(<[String]>::len), Some(3));
/// # Ok::<(), rhograd::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a schema is made by `build`"]
pub struct SchemaBuilder(Schema);

impl SchemaBuilder {
    /// Begins a schema with a label to predict.
    pub fn classification(name: impl Into<String>, target: impl Into<String>) -> Self {
        SchemaBuilder(Schema::without_columns(name.into(), target.into(), Task::Classification))
    }

    /// Begins a schema with a number to predict, between public bounds.
    pub fn regression(name: impl Into<String>, target: impl Into<String>, lower: f64, upper: f64) -> Self {
        let schema = Schema::without_columns(name.into(), target.into(), Task::Regression);
        SchemaBuilder(Schema { target_lower: Some(lower), target_upper: Some(upper), ..schema })
    }

    /// Names the label that counts as 1.
    pub fn positive(mut self, label: impl Into<String>) -> Self {
        self.0.positive = Some(label.into());
        self
    }

    /// Names the label that counts as 0; a row with a third one then contributes nothing.
    pub fn negative(mut self, label: impl Into<String>) -> Self {
        self.0.negative = Some(label.into());
        self
    }

    /// Declares all labels of the target.
    pub fn labels<L: Into<String>>(self, labels: impl IntoIterator<Item = L>) -> Self {
        let target = self.0.target.clone();
        self.categorical(target, labels)
    }

    /// Adds a numeric feature; values outside the bounds are moved to the nearer one, missing ones to the middle.
    pub fn numeric(self, name: impl Into<String>, lower: f64, upper: f64) -> Self {
        self.column(name.into(), Column::number(lower, upper))
    }

    /// Adds a numeric feature, and a coefficient for its being missing.
    ///
    /// ```
    /// use rhograd::prelude::*;
    ///
    /// let schema = SchemaBuilder::classification("visits", "again").positive("yes").numeric_or_missing("age", 0.0, 110.0).build()?;
    /// assert_eq!(schema.categorical().map(|feature| feature.name).collect::<Vec<_>>(), ["age (missing)"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn numeric_or_missing(self, name: impl Into<String>, lower: f64, upper: f64) -> Self {
        self.column(name.into(), Column::Numeric { lower, upper, missing: Missing::Indicator, public: false })
    }

    /// Adds a categorical feature; an undeclared value counts as none.
    pub fn categorical<V: Into<String>>(self, name: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.column(name.into(), Column::categories(values))
    }

    /// Adds a categorical feature one of whose values stands for every undeclared one.
    pub fn categorical_or<V: Into<String>>(
        self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = V>,
        other: impl Into<String>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.column(name.into(), Column::Categorical { values, other: Some(other.into()), public: false })
    }

    fn column(mut self, name: String, column: Column) -> Self {
        self.0.columns.0.push((name, column));
        self
    }

    /// Leaves a column of the data out.
    pub fn ignore(mut self, name: impl Into<String>) -> Self {
        self.0.ignore.push(name.into());
        self
    }

    /// States the public number of rows.
    pub fn rows(mut self, rows: u64) -> Self {
        self.0.rows = Some(rows);
        self
    }

    /// Protects persons, not rows: all rows with the same text in a column that is no feature.
    pub fn unit(mut self, unit: Unit) -> Self {
        self.0.unit = Some(unit);
        self
    }

    /// Checks the schema as if it had been read from a file.
    ///
    /// # Errors
    /// Names the key or column and the cure, as [`Schema::read`].
    pub fn build(self) -> Fallible<Schema> {
        let SchemaBuilder(schema) = self;
        let mut seen = std::collections::HashSet::new();
        if let Some((twice, _)) = schema.columns.0.iter().find(|(name, _)| !seen.insert(name)) {
            let error = Error::input(Path::new(HERE), "declares the column twice", "declare it once");
            return Err(error.in_column(twice));
        }
        schema.check(Path::new(HERE))?;
        Ok(schema)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_what_a_file_says() {
        let text = r#"{"name":"a","task":"classification","target":"y","positive":"1","negative":"0","rows":9,"ignore":["id"],
            "columns":{"x":{"type":"numeric","lower":0,"upper":1},"c":{"type":"categorical","values":["u","v"],"other":"v"}}}"#;
        let built = SchemaBuilder::classification("a", "y").positive("1").negative("0").rows(9).ignore("id");
        let built = built.numeric("x", 0.0, 1.0).categorical_or("c", ["u", "v"], "v").build().unwrap();
        let read = Schema::parse(text, Path::new("s.json")).unwrap();
        assert_eq!(built, read);
        assert_eq!(built.fingerprint(), read.fingerprint());
        let number = SchemaBuilder::regression("a", "y", -1.0, 2.0).numeric("x", 0.0, 1.0).build().unwrap();
        assert_eq!(number.target_bounds(), Some((-1.0, 2.0)));
    }

    #[test]
    fn what_a_file_may_not_say_is_refused() {
        let label = || SchemaBuilder::classification("a", "y").positive("1");
        for (bad, needle) in [
            (label(), "no feature"),
            (label().numeric("x", 1.0, 1.0), "inverted"),
            (label().numeric("x", f64::NAN, 1.0), "not finite"),
            (label().numeric("x", 0.0, 1.0).categorical("x", ["u"]), "twice"),
            (label().categorical("x", ["u", "u"]), "twice"),
            (label().categorical_or("x", ["u"], "v"), "other"),
            (label().negative("1").numeric("x", 0.0, 1.0), "equals"),
            (label().ignore("y").numeric("x", 0.0, 1.0), "target"),
            (SchemaBuilder::classification("a", "y").labels(["1", "2"]).numeric("x", 0.0, 1.0), "fewer than 3"),
            (SchemaBuilder::classification("a", "y").numeric("x", 0.0, 1.0), "missing"),
            (SchemaBuilder::classification("", "y").positive("1").numeric("x", 0.0, 1.0), "empty"),
            (SchemaBuilder::regression("a", "y", 2.0, 1.0).numeric("x", 0.0, 1.0), "inverted"),
            (SchemaBuilder::regression("a", "y", 0.0, 1.0).positive("1").numeric("x", 0.0, 1.0), "no meaning"),
        ] {
            let message = bad.build().expect_err(needle).to_string();
            assert!(message.contains(needle) && message.contains("schema"), "{message}");
        }
    }
}
