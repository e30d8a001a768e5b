//! How many cells of a column are numbers.

use crate::data::Fields;

/// Counts of rows and, for each column, of its numbers and other texts.
pub(super) struct Kinds<'a> {
    columns: &'a [usize],
    rows: Option<u64>,
    /// Numbers and other texts.
    of: Vec<[u64; 2]>,
}

impl<'a> Kinds<'a> {
    pub(super) fn new(columns: &'a [usize], counted: bool) -> Self {
        Kinds { columns, rows: counted.then_some(0), of: vec![[0; 2]; columns.len()] }
    }

    pub(super) fn add(&mut self, fields: &Fields) {
        self.rows = self.rows.map(|rows| rows + 1);
        for (&column, of) in self.columns.iter().zip(&mut self.of) {
            if !fields.get(column).is_empty() {
                of[usize::from(fields.number(column).is_none())] += 1;
            }
        }
    }

    pub(super) fn values(&self, weight: u64) -> Vec<i128> {
        let counts = self.rows.into_iter().chain(self.of.iter().flatten().copied());
        counts.map(|count| i128::from(count) * i128::from(weight)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::privacy::Adjacency;
    use crate::private::Query;
    use proptest::prelude::*;

    fn vector(lines: &[String], counted: bool) -> Vec<i128> {
        let columns = [0, 2, 1];
        let mut kinds = Kinds::new(&columns, counted);
        let mut fields = Fields::default();
        for line in lines {
            fields.split(line.as_bytes());
            kinds.add(&fields);
        }
        kinds.values(5)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn neighbours_move_the_kinds_by_no_more_than_is_paid_for(
            lines in proptest::collection::vec("(1|x|-2e3|inf|nan|),(7|y|),(0|z|)", 1..12), other in "(3|u|),(4|v|),(5|w|)",
        ) {
            let mut replaced = lines.clone();
            replaced[0] = other;
            for counted in [false, true] {
                let query = Query::Kinds { weight: 5, columns: 3, counted };
                for (neighbour, adjacency) in
                    [(&lines[1..], Adjacency::AddRemove), (&replaced[..], Adjacency::ReplaceOne)]
                {
                    let (a, b) = (vector(&lines, counted), vector(neighbour, counted));
                    let square: i128 = a.iter().zip(&b).map(|(x, y)| (x - y).pow(2)).sum();
                    let reach = i128::from(query.sensitivity(adjacency));
                    prop_assert!(square <= reach * reach, "{} {}", square, reach);
                }
            }
        }
    }

    #[test]
    fn numbers_and_texts_are_told_apart() {
        let lines = ["1,x,".to_string(), "inf,2,nan".into(), ",,3".into()];
        // Rows; the first column; the third; the second.
        assert_eq!(vector(&lines, true), [15, 10, 0, 5, 5, 5, 5]);
    }
}
