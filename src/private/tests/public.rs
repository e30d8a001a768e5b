//! Sensitivities where some columns are public, in integers.

use ndarray::Array1;
use proptest::prelude::*;

use super::super::{Gradient, PrivateDataset, Sensitive};
use super::{row, shares};
use crate::grid::{FULL_SCALE, MomentWeights, NO_LABEL, PublicColumns, Shape, gram_one};
use crate::kernel::{RawRow, RowsBuilder};
use crate::loss::{Curved, Glm};
use crate::noise::Choice;
use crate::preprocess::{Affine, Recoding, Standardizer};
use crate::privacy::{Adjacency, DatasetId, L2, PrivacyUnit, Scope};

/// Three numbers, of which two are public, and a private category.
fn columns() -> PublicColumns {
    PublicColumns { numeric: vec![true, false, true], categorical: vec![false] }
}

fn scope(adjacency: Adjacency) -> Scope {
    let unit = PrivacyUnit::private_cells(["a", "c"]);
    Scope { dataset: DatasetId::new("d").unwrap(), adjacency, unit }
}

fn dataset(rows: &[RawRow]) -> PrivateDataset {
    let mut builder = RowsBuilder::new(Shape::new(3, &[2]));
    rows.iter().for_each(|row| builder.push(row));
    PrivateDataset::of_private_cells(builder.build(), scope(Adjacency::ReplaceOne), &columns(), true).unwrap()
}

/// As an encoder makes it where some columns are public: no private cell decides whether it is a record.
fn wide() -> impl Strategy<Value = RawRow> {
    let unlabelled = prop::bool::weighted(0.2);
    (row(), prop_oneof![any::<i16>(), Just(FULL_SCALE)], unlabelled).prop_map(|(row, c, unlabelled)| RawRow {
        numeric: [row.numeric.as_slice(), &[c]].concat(),
        label: if unlabelled { NO_LABEL } else { i16::from(row.label > 0) },
        ..row
    })
}

/// A row with the private cells of another.
fn mixed(row: &RawRow, other: &RawRow) -> RawRow {
    let numeric = vec![row.numeric[0], other.numeric[1], row.numeric[2]];
    RawRow { numeric, codes: other.codes.clone(), label: other.label, null: row.null }
}

const MOMENTS: MomentWeights =
    MomentWeights { count: 0, features: 1000, squares: 1000, label: 1000, label_square: 1000, shares: 0, sizes: 0 };

fn gram_bound() -> u64 {
    127 * 3 * u64::from(gram_one(FULL_SCALE).unsigned_abs()).pow(2)
}

/// What may be asked of them that some public column has a part in.
fn asked(data: &PrivateDataset, weights: &Array1<f64>) -> Vec<Sensitive<L2>> {
    let gradient = Gradient { loss: Glm::Logistic.into(), weights, label_scale: 1.0, clip_norm: 0.9 };
    vec![
        data.moments(&MOMENTS).unwrap(),
        data.gram(gram_bound(), 127).unwrap(),
        data.cross_gram(gram_bound(), 127).unwrap(),
        data.hessian(Curved::Logistic, weights, gram_bound(), 127).unwrap(),
        data.clipped(1 << 27).unwrap().gradient_sum(&gradient).unwrap(),
    ]
}

/// What is free of them, in all digits: entries of private columns are left out.
fn free(data: &PrivateDataset) -> (Vec<i128>, Vec<i128>) {
    let weights = MomentWeights { count: 1, features: 3, squares: 2, ..MomentWeights::default() };
    let moments = data.public_moments(&weights).unwrap();
    let gram = data.public_gram(u64::MAX, 127).unwrap();
    let mut entries = Vec::new();
    columns().each_public_entry(data.shape(), |index| entries.push(gram[index]));
    ([0, 1, 3, 4, 6].map(|index| moments[index]).to_vec(), entries)
}

fn standardized(data: PrivateDataset) -> PrivateDataset {
    let of = |centre: f64, scale: f64| Affine { centre, scale, limit: 2.0 };
    let features = vec![of(0.1, 0.5), of(-0.2, 0.3), of(0.3, 0.7)];
    data.recoded(&Recoding::Standardized(Standardizer { features, target: None, limit: 2.0 })).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn private_cells_move_nothing_further_than_stated_and_what_is_free_not_at_all(
        common in prop::collection::vec(wide(), 0..40), first in wide(), second in wide(),
        weights in prop::collection::vec(prop_oneof![6 => -3.0f64..3.0, 1 => Just(f64::NAN)], 6),
        chosen in any::<u64>(),
    ) {
        let with = |row: &RawRow| dataset(&[std::slice::from_ref(row), common.as_slice()].concat());
        let (one, other) = (with(&first), with(&mixed(&first, &second)));
        let weights = Array1::from(weights);
        shares(&asked(&one, &weights), &asked(&other, &weights), Adjacency::ReplaceOne);
        prop_assert_eq!(free(&one), free(&other));
        let part = |data: PrivateDataset| {
            let rows = (0..=common.len()).filter(|row| chosen >> row & 1 == 1).collect();
            data.divided(Choice::Positions(rows)).unwrap()
        };
        let ((a, b), (c, d)) = (part(one.duplicate().unwrap()), part(other.duplicate().unwrap()));
        prop_assert_eq!((free(&a), free(&b)), (free(&c), free(&d)));
        let (one, other) = (standardized(one), standardized(other));
        shares(&asked(&one, &weights), &asked(&other, &weights), Adjacency::ReplaceOne);
        prop_assert_eq!(free(&one), free(&other));
    }
}

#[test]
fn some_private_cells_use_all_of_what_is_stated() {
    let row = |private: i16, code: u16| RawRow {
        numeric: vec![FULL_SCALE, private, FULL_SCALE],
        codes: vec![code],
        label: 1,
        null: false,
    };
    // Opposite in a small private number beside large public ones: entries of a public and a private one change sign.
    let pair = [row(1024, 9), row(-1024, 9)].map(|row| dataset(&[row]));
    let one = i128::from(gram_one(FULL_SCALE));
    let (a, b) = (3 * one * one, 32 * 32);
    let bound = ((b * (2 * a + b)) as f64).sqrt().ceil() as u64 * 100;
    let of = |data: &PrivateDataset| vec![data.cross_gram(bound, 127).unwrap()];
    let used = shares(&of(&pair[0]), &of(&pair[1]), Adjacency::ReplaceOne);
    assert!(used[0] > 0.99, "{used:?}");
    // The root of two would not be enough.
    assert!(used[0] * 2.0 > 2f64.sqrt() * 1.3);
    // Private numbers from bound to bound, and a label.
    let pair = [row(FULL_SCALE, 0), RawRow { label: 0, ..row(-FULL_SCALE, 1) }].map(|row| dataset(&[row]));
    let weights = MomentWeights { features: 1000, ..MomentWeights::default() };
    let of = |data: &PrivateDataset| vec![data.moments(&weights).unwrap()];
    let used = shares(&of(&pair[0]), &of(&pair[1]), Adjacency::ReplaceOne);
    assert!(used[0] > 0.99, "{used:?}");
}

#[test]
fn a_row_without_a_label_counts_in_what_is_public_and_in_nothing_else() {
    let row = RawRow { numeric: vec![9000, 8000, 7000], codes: vec![1], label: NO_LABEL, null: false };
    let data = dataset(std::slice::from_ref(&row));
    let nothing = dataset(&[RawRow { null: true, ..row }]);
    assert_ne!(free(&data), free(&nothing));
    let weights = Array1::from_elem(6, 0.3);
    let values = |data: &PrivateDataset| asked(data, &weights).into_iter().map(|it| it.values).collect::<Vec<_>>();
    assert_eq!(values(&data), values(&nothing));
    assert!(values(&data).iter().flatten().all(|value| *value == 0));
}

#[test]
fn what_has_no_public_columns_is_refused() {
    let built = || {
        let mut builder = RowsBuilder::new(Shape::new(3, &[2]));
        builder.push(&RawRow { numeric: vec![1, 2, 3], codes: vec![0], label: 1, null: false });
        builder.build()
    };
    let whole = PrivateDataset::new(built(), scope(Adjacency::ReplaceOne));
    assert_eq!(whole.scope().unit, PrivacyUnit::Row);
    assert!(whole.cross_gram(1 << 20, 1).is_err() && whole.public_gram(1, 1).is_err());
    let of = |scope: Scope, columns: &PublicColumns| PrivateDataset::of_private_cells(built(), scope, columns, true);
    assert!(of(scope(Adjacency::AddRemove), &columns()).is_err());
    assert!(of(Scope { unit: PrivacyUnit::Row, ..scope(Adjacency::ReplaceOne) }, &columns()).is_err());
    let fewer = PublicColumns { numeric: vec![true], ..columns() };
    assert!(of(scope(Adjacency::ReplaceOne), &fewer).is_err());
    let labels = MomentWeights { label: 1, ..MomentWeights::default() };
    assert!(of(scope(Adjacency::ReplaceOne), &columns()).unwrap().public_moments(&labels).is_err());
}
