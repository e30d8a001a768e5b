//! Bounded noise: the exact law from every bit string, and frequencies of long draws.

use statrs::distribution::{ChiSquared, ContinuousCDF};

use super::tape::enumerate;
use crate::noise::bounded::Lookup;
use crate::noise::{NoiseSource, bounded_noise};
use crate::privacy::BoundedLaw;

fn law(weights: &[u64]) -> BoundedLaw {
    BoundedLaw::new(weights.to_vec()).unwrap()
}

#[test]
fn one_draw_has_the_law_promised() {
    for weights in [&[1, 1][..], &[6, 4, 1], &[3, 4, 2], &[11, 4, 3, 2]] {
        let law = law(weights);
        let found = enumerate::<1, false, _>(24, |source| Lookup::new(&law).draw(source));
        assert!(found.undetermined() < 1e-4);
        let total = law.total() as f64;
        for y in -5..=5 {
            assert!(found.allows(&y, law.weight(y) as f64 / total), "{weights:?} {y} {:?}", found.bounds(&y));
        }
        // One more of a total is another law.
        assert!(!found.allows(&0, (law.weight(0) + 1) as f64 / total));
    }
}

#[test]
fn draws_have_their_frequencies_and_never_leave_the_interval() {
    let source = NoiseSource::insecure_from_seed(22);
    let largest = BoundedLaw::MAX_WEIGHT;
    for (release, weights) in
        [vec![60, 50, 30, 9, 1], vec![1, 2, 3], vec![largest, largest / 3, largest / 7]].iter().enumerate()
    {
        let law = law(weights);
        let reach = law.reach() as i64;
        let drawn = bounded_noise(&law, 400_000, &source, release as u32).unwrap();
        assert!(drawn.iter().all(|y| y.abs() <= reach));
        let statistic: f64 = (-reach..=reach)
            .map(|y| {
                let expected = drawn.len() as f64 * law.weight(y) as f64 / law.total() as f64;
                let seen = drawn.iter().filter(|&&drawn| drawn == y).count() as f64;
                (seen - expected).powi(2) / expected
            })
            .sum();
        let p = ChiSquared::new(2.0 * reach as f64).unwrap().sf(statistic);
        assert!(p > 1e-6, "{weights:?}: {p}");
    }
    // The number of threads and what is drawn beside do not matter.
    let law = law(&[60, 50, 30, 9, 1]);
    let (long, short) = (bounded_noise(&law, 5000, &source, 9), bounded_noise(&law, 1500, &source, 9));
    assert_eq!(long.unwrap()[..1024], short.unwrap()[..1024]);
}
