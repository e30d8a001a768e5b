//! Summaries of neighbours under the same noise: each sum moves by at most what was charged, and nothing else shows the row.

use crate::invariants::summaries::{ASKED, answers_agree, schema, summarized};

#[test]
fn answers_about_neighbours_move_by_no_more_than_is_paid_for() {
    let schema = schema();
    let shares = answers_agree(|file, adjacency| summarized(&schema, file, adjacency)).unwrap();
    assert_eq!(shares.len(), ASKED.len());
    for (asked, share) in ASKED.iter().zip(shares) {
        // Of a choice nothing is compared but that it is one.
        let least = if ["median:z", "first-above:c:9"].contains(asked) { 0.0 } else { 0.99 };
        assert!((least..=1.0).contains(&share), "{asked}: {share}");
    }
}
