//! The privacy loss as a random variable, and delta in four ways.

use super::Pair;

/// The privacy loss random variable `Z = ln(P/Q)` under `P`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Finite losses in increasing order, with their probabilities.
    pub atoms: Vec<(f64, f64)>,
    /// The probability of an infinite loss: outcomes that `Q` never gives.
    pub infinite: f64,
}

/// Delta at one epsilon by four expressions that are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeltaForms {
    /// `sup_S P(S) - e^epsilon Q(S)`.
    pub supremum: f64,
    /// `P[Z > epsilon] - e^epsilon P[-Z' > epsilon]`, with `Z'` the loss of `Q` against `P` under `Q`.
    pub tails: f64,
    /// `E[(1 - e^{epsilon - Z})_+]`.
    pub expectation: f64,
    /// `int_epsilon^inf e^{epsilon - z} P[Z > z] dz`.
    pub integral: f64,
}

impl DeltaForms {
    /// The largest of the four.
    pub fn largest(&self) -> f64 {
        self.supremum.max(self.tails).max(self.expectation).max(self.integral)
    }
}

impl Pair {
    /// The privacy loss random variable.
    ///
    /// `Z = ln(P(y)/Q(y))` for `y` drawn from `P`, infinite where `Q` has no mass.
    ///
    /// Reference: Dwork and Rothblum 2016, section 2.
    pub fn loss(&self) -> Loss {
        let mut loss = Loss { atoms: Vec::new(), infinite: 0.0 };
        for (p, q) in self.outcomes().filter(|&(p, _)| p > 0.0) {
            if q == 0.0 {
                loss.infinite += p;
            } else {
                loss.atoms.push((p.ln() - q.ln(), p));
            }
        }
        loss.atoms.sort_by(|a, b| a.0.total_cmp(&b.0));
        loss
    }

    /// Delta at epsilon by all four expressions.
    ///
    /// See [`DeltaForms`]; all are at most `P[Z > epsilon]`, and the converse is false.
    ///
    /// Reference: Balle and Wang 2018, Theorem 5; Canonne, Kamath and Steinke 2020, Lemma 9.
    pub fn delta_forms(&self, epsilon: f64) -> DeltaForms {
        let (loss, other) = (self.loss(), self.swapped().loss());
        let growth = epsilon.exp();
        let tail_of_q: f64 = other.atoms.iter().filter(|(z, _)| -z > epsilon).map(|(_, mass)| mass).sum();
        DeltaForms {
            supremum: self.hockey_stick(epsilon),
            tails: loss.tail(epsilon) - if tail_of_q > 0.0 { growth * tail_of_q } else { 0.0 },
            expectation: loss.expectation(epsilon),
            integral: loss.integral(epsilon),
        }
    }
}

impl Loss {
    /// The probability that the loss exceeds epsilon.
    pub fn tail(&self, epsilon: f64) -> f64 {
        self.infinite + self.atoms.iter().filter(|(z, _)| *z > epsilon).map(|(_, mass)| mass).sum::<f64>()
    }

    /// The mean, which is the Kullback-Leibler divergence.
    pub fn mean(&self) -> f64 {
        if self.infinite > 0.0 { f64::INFINITY } else { self.atoms.iter().map(|(z, mass)| z * mass).sum() }
    }

    fn expectation(&self, epsilon: f64) -> f64 {
        let inside = self.atoms.iter().filter(|(z, _)| *z > epsilon);
        self.infinite + inside.map(|(z, mass)| -(epsilon - z).exp_m1() * mass).sum::<f64>()
    }

    /// The tail is constant between losses, so the integral is a sum.
    fn integral(&self, epsilon: f64) -> f64 {
        let (mut from, mut total) = (epsilon, 0.0);
        for (z, _) in self.atoms.iter().filter(|(z, _)| *z > epsilon) {
            total += self.tail_from(*z) * (epsilon - from).exp() * -(from - z).exp_m1();
            from = *z;
        }
        total + self.infinite * (epsilon - from).exp()
    }

    /// The probability of a loss of at least `z`.
    fn tail_from(&self, z: f64) -> f64 {
        let start = self.atoms.partition_point(|(at, _)| *at < z);
        self.infinite + self.atoms[start..].iter().map(|(_, mass)| mass).sum::<f64>()
    }
}
