//! Masses on points, each spread over the two next to it with its mean kept: larger in convex order.

use super::part::{Part, REACH, UNIT, diagonal, distances, offset};
use crate::num::{normal, vectorized};

/// Masses under Q at the ratios `e^(step (from + i))`.
#[derive(Clone)]
pub(super) struct Spread {
    step: f64,
    from: i64,
    mass: Vec<f64>,
}

/// The share of a mass that goes to the upper of two points, when it lies `above` the lower one in logarithms.
fn share_up(above: f64, step: f64) -> f64 {
    (above.exp_m1() / step.exp_m1()).clamp(0.0, 1.0)
}

impl Spread {
    fn none(step: f64, from: i64, count: usize) -> Self {
        Spread { step, from, mass: vec![0.0; count] }
    }
}

impl Part for Spread {
    fn of_step(mu: f64, step: f64) -> Self {
        let end = |x: f64| normal::loss(x, mu) / step;
        let (from, to) = (end(-REACH).floor() as i64, end(mu + REACH).ceil() as i64);
        let at = |k: i64| k as f64 * step / mu + mu / 2.0;
        let mut law = Spread::none(step, from, (to - from + 1) as usize);
        for k in from..to {
            let cell = normal::cell(at(k), at(k + 1), mu);
            let (ln_mass, up) = (cell.mass.ln(), share_up(cell.ratio.ln - k as f64 * step, step));
            let i = (k - from) as usize;
            law.mass[i] += (1.0 - up) * ln_mass.exp();
            law.mass[i + 1] += up * ln_mass.exp();
        }
        law
    }

    fn average(&self, other: &Self, share: f64) -> Self {
        let (n, m, step) = (self.mass.len(), other.mass.len(), self.step);
        if n == 0 || m == 0 {
            return Spread::none(step, 0, 0);
        }
        let down = (share.min(1.0 - share).ln() / step).floor() as i64;
        let from = self.from.min(other.from).max(self.from.max(other.from) + down) - 1;
        let to = (self.from + n as i64).max(other.from + m as i64) + 1;
        let mut low = vec![0.0; (to - from + 1) as usize];
        let mut high = low.clone();
        vectorized(|| {
            for d in distances((self.from, other.from), (n, m)) {
                // All pairs at this distance have a mean that is as far from them.
                let moved = offset(step, share, d);
                let place = (moved / step).floor();
                let up = share_up(moved - place * step, step);
                let (i, j, pairs) = diagonal((self.from, other.from), (n, m), d);
                let (a, b) = (&self.mass[i..][..pairs], &other.mass[j..][..pairs]);
                let at = (self.from + i as i64 - d.min(0) + place as i64 - from) as usize;
                let (low, high) = (&mut low[at..][..pairs], &mut high[at..][..pairs]);
                let stay = 1.0 - up;
                for i in 0..pairs {
                    let both = a[i] * b[i];
                    low[i] += both * stay;
                    high[i] += both * up;
                }
            }
        });
        for i in 1..low.len() {
            low[i] += high[i - 1];
        }
        Spread { step, from, mass: low }
    }

    fn finer(&self) -> Self {
        let mut law = Spread::none(self.step / 2.0, 2 * self.from, (2 * self.mass.len()).saturating_sub(1));
        self.mass.iter().enumerate().for_each(|(i, it)| law.mass[2 * i] = *it);
        law
    }

    fn coarser(&self, times: u32) -> Self {
        let by = 1 << times;
        let from = self.from.div_euclid(by);
        let to = (self.from + self.mass.len() as i64).div_euclid(by) + 1;
        let mut law = Spread::none(self.step * by as f64, from, (to - from + 1) as usize);
        for (i, mass) in self.mass.iter().enumerate() {
            let k = self.from + i as i64;
            let up = share_up(k.rem_euclid(by) as f64 * self.step, law.step);
            let at = (k.div_euclid(by) - from) as usize;
            law.mass[at] += mass * (1.0 - up);
            law.mass[at + 1] += mass * up;
        }
        law
    }

    fn plus(&self, other: &Self) -> Self {
        if self.mass.is_empty() || other.mass.is_empty() {
            return if self.mass.is_empty() { other.clone() } else { self.clone() };
        }
        let from = self.from.min(other.from);
        let end = |it: &Self| it.from + it.mass.len() as i64;
        let mut law = Spread::none(self.step, from, (end(self).max(end(other)) - from) as usize);
        for part in [self, other] {
            let at = (part.from - from) as usize;
            part.mass.iter().enumerate().for_each(|(i, it)| law.mass[at + i] += it);
        }
        law
    }

    fn split(&self, count: usize) -> (Self, Self) {
        let (first, rest) = self.mass.split_at(count.min(self.mass.len()));
        let part = |from, mass: &[f64]| Spread { step: self.step, from, mass: mass.to_vec() };
        (part(self.from, first), part(self.from + first.len() as i64, rest))
    }

    fn step(&self) -> f64 {
        self.step
    }

    fn points(&self) -> Vec<(f64, f64)> {
        let at = |i: usize| self.step * (self.from + i as i64) as f64;
        self.mass.iter().enumerate().map(|(i, it)| (*it, at(i))).collect()
    }

    fn ratio_error(_: f64) -> f64 {
        32.0 * UNIT
    }
}
