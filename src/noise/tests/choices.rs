//! Choices by the exponential mechanism: the exact law from every bit string, and frequencies.

use super::tape::enumerate;
use crate::noise::choice::attempt;
use crate::noise::{NoiseSource, exponential_choice};

fn law(scores: &[i128], log2_scale: u32) -> Vec<f64> {
    let least = *scores.iter().min().unwrap() as f64;
    let weight: Vec<f64> =
        scores.iter().map(|&s| (-((s as f64) - least) / 2f64.powi(log2_scale as i32)).exp()).collect();
    let total: f64 = weight.iter().sum();
    weight.into_iter().map(|w| w / total).collect()
}

#[test]
fn one_attempt_has_the_law_promised() {
    for (scores, k) in [(vec![0i128, 1, 5, -3], 1), (vec![2, 2, 9], 2), (vec![-7], 0), (vec![0, 1], 0)] {
        let least = *scores.iter().min().unwrap();
        let found = enumerate::<1, true, _>(26, |source| attempt(&scores, least, k, source));
        for (index, truth) in law(&scores, k).into_iter().enumerate() {
            assert!(found.kept_allows(index, truth), "{scores:?} {index}");
        }
        assert!(found.undetermined() < 1e-3);
        // Twice the epsilon is another law.
        if scores.len() > 1 {
            let doubled = law(&scores, k.wrapping_sub(1).min(k + 1));
            assert!((0..scores.len()).any(|index| !found.kept_allows(index, doubled[index])));
        }
    }
}

#[test]
fn choices_have_their_frequencies() {
    let scores: Vec<i128> = vec![1 << 40, (1 << 40) + 300, (1 << 40) - 700, (1 << 40) + 5000, (1 << 40) - 699];
    let source = NoiseSource::insecure_from_seed(9);
    let draws = 100_000u32;
    let mut seen = [0f64; 5];
    for release in 0..draws {
        seen[exponential_choice(&scores, 9, &source, release).unwrap()] += 1.0;
    }
    for (count, truth) in seen.iter().zip(law(&scores, 9)) {
        let deviation = (f64::from(draws) * truth * (1.0 - truth)).sqrt();
        assert!((count - f64::from(draws) * truth).abs() < 5.0 * deviation + 1e-9, "{seen:?}");
    }
}

#[test]
fn extremes_end() {
    let source = NoiseSource::insecure_from_seed(9);
    let far = [i128::MAX, i128::MIN, i128::MAX];
    for k in [0, 1, 50] {
        assert_eq!(exponential_choice(&far, k, &source, 1).unwrap(), 1);
    }
    assert!(exponential_choice(&[], 3, &source, 1).is_err());
    assert!(exponential_choice(&[1], 51, &source, 1).is_err());
}
