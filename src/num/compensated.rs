/// A sum with its rounding errors added back (Neumaier 1974).
pub(crate) fn compensated(terms: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for term in terms {
        let next: f64 = sum + term;
        lost += if f64::abs(sum) >= f64::abs(term) { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    sum + lost
}
