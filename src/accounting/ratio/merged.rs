//! Masses between points, joined at their mean: smaller in convex order.

use super::part::{Part, REACH, UNIT, diagonal, distances, offset};
use crate::num::{normal, vectorized};

/// Masses under Q, each with its mean ratio, which lies between `e^(step (from + i))` and the next point, or about there.
#[derive(Clone)]
pub(super) struct Merged {
    step: f64,
    from: i64,
    mass: Vec<f64>,
    ratio: Vec<f64>,
}

/// Masses and moments to be added up.
struct Sums {
    step: f64,
    from: i64,
    mass: Vec<f64>,
    moment: Vec<f64>,
}

impl Sums {
    fn none(step: f64, from: i64, count: usize) -> Self {
        Sums { step, from, mass: vec![0.0; count], moment: vec![0.0; count] }
    }

    fn add(&mut self, at: usize, mass: f64, ratio: f64) {
        self.mass[at] += mass;
        self.moment[at] += mass * ratio;
    }

    /// What is so small that it may have underflowed is left out, and where nothing is left stands the point below.
    fn merged(self) -> Merged {
        let Sums { step, from, mut mass, moment } = self;
        let mean = |i: usize, mass: &mut f64| {
            let held = *mass > 1e-290 && moment[i] > 1e-290;
            *mass = if held { *mass } else { 0.0 };
            if held { moment[i] / *mass } else { (step * (from + i as i64) as f64).exp() }
        };
        let ratio = mass.iter_mut().enumerate().map(|(i, mass)| mean(i, mass)).collect();
        Merged { step, from, mass, ratio }
    }
}

impl Merged {
    fn len(&self) -> usize {
        self.mass.len()
    }
}

impl Part for Merged {
    fn of_step(mu: f64, step: f64) -> Self {
        let end = |x: f64| normal::loss(x, mu) / step;
        let (from, to) = (end(-REACH).floor() as i64, end(mu + REACH).ceil() as i64);
        let at = |k: i64| k as f64 * step / mu + mu / 2.0;
        let cells = (from..to).map(|k| normal::cell(at(k), at(k + 1), mu));
        let (mass, ratio) = cells.map(|it| (it.mass.ln().exp(), it.ratio.ln.exp())).unzip();
        Merged { step, from, mass, ratio }
    }

    fn average(&self, other: &Self, share: f64) -> Self {
        let (n, m, step) = (self.len(), other.len(), self.step);
        if n == 0 || m == 0 {
            return Sums::none(step, 0, 0).merged();
        }
        let down = (share.min(1.0 - share).ln() / step).floor() as i64;
        let from = self.from.min(other.from).max(self.from.max(other.from) + down) - 1;
        let to = (self.from + n as i64).max(other.from + m as i64) + 1;
        let count = (to - from + 2) as usize;
        let edges: Vec<f64> = (0..count).map(|i| (step * (from + i as i64) as f64).exp()).collect();
        let mut low = Sums::none(step, from, count);
        let mut high = Sums::none(step, from, count);
        let first: Vec<f64> = self.ratio.iter().map(|it| share * it).collect();
        let second: Vec<f64> = other.ratio.iter().map(|it| (1.0 - share) * it).collect();
        vectorized(|| {
            for d in distances((self.from, other.from), (n, m)) {
                let place = (offset(step, share, d) / step).floor() as i64;
                let (i, j, pairs) = diagonal((self.from, other.from), (n, m), d);
                let (a, b) = (&self.mass[i..][..pairs], &other.mass[j..][..pairs]);
                let (x, y) = (&first[i..][..pairs], &second[j..][..pairs]);
                let at = (self.from + i as i64 - d.min(0) + place - from) as usize;
                let edge = &edges[at + 1..][..pairs];
                let (mass, moment) = (&mut low.mass[at..][..pairs], &mut low.moment[at..][..pairs]);
                let (next, next_moment) = (&mut high.mass[at..][..pairs], &mut high.moment[at..][..pairs]);
                for i in 0..pairs {
                    let (both, ratio) = (a[i] * b[i], x[i] + y[i]);
                    let up = if ratio >= edge[i] { both } else { 0.0 };
                    mass[i] += both - up;
                    moment[i] += (both - up) * ratio;
                    next[i] += up;
                    next_moment[i] += up * ratio;
                }
            }
        });
        for i in 1..count {
            low.mass[i] += high.mass[i - 1];
            low.moment[i] += high.moment[i - 1];
        }
        low.merged()
    }

    fn finer(&self) -> Self {
        let mut law = Sums::none(self.step / 2.0, 2 * self.from, 2 * self.len());
        for (i, (mass, ratio)) in self.mass.iter().zip(&self.ratio).enumerate() {
            let middle = law.step * (2 * (self.from + i as i64) + 1) as f64;
            law.add(2 * i + usize::from(ratio.ln() >= middle), *mass, *ratio);
        }
        law.merged()
    }

    fn coarser(&self, times: u32) -> Self {
        let by = 1 << times;
        let from = self.from.div_euclid(by);
        let to = (self.from + self.len() as i64).div_euclid(by);
        let mut law = Sums::none(self.step * by as f64, from, (to - from + 1) as usize);
        for (i, (mass, ratio)) in self.mass.iter().zip(&self.ratio).enumerate() {
            law.add(((self.from + i as i64).div_euclid(by) - from) as usize, *mass, *ratio);
        }
        law.merged()
    }

    fn plus(&self, other: &Self) -> Self {
        if self.mass.is_empty() || other.mass.is_empty() {
            return if self.mass.is_empty() { other.clone() } else { self.clone() };
        }
        let from = self.from.min(other.from);
        let end = |it: &Self| it.from + it.len() as i64;
        let mut law = Sums::none(self.step, from, (end(self).max(end(other)) - from) as usize);
        for part in [self, other] {
            let at = (part.from - from) as usize;
            part.mass.iter().zip(&part.ratio).enumerate().for_each(|(i, (mass, ratio))| law.add(at + i, *mass, *ratio));
        }
        law.merged()
    }

    fn split(&self, count: usize) -> (Self, Self) {
        let count = count.min(self.len());
        let part = |from: usize, to: usize| Merged {
            step: self.step,
            from: self.from + from as i64,
            mass: self.mass[from..to].to_vec(),
            ratio: self.ratio[from..to].to_vec(),
        };
        (part(0, count), part(count, self.len()))
    }

    fn step(&self) -> f64 {
        self.step
    }

    fn points(&self) -> Vec<(f64, f64)> {
        self.mass.iter().zip(&self.ratio).map(|(mass, ratio)| (*mass, ratio.ln())).collect()
    }

    fn ratio_error(terms: f64) -> f64 {
        6.0 * terms * UNIT
    }
}
