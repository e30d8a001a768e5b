//! Prefix sums of gradients over one pass, with noise that is correlated between batches.

use std::collections::VecDeque;

use rand::RngCore;
use serde::{Deserialize, Serialize};

use super::describe::root_of;
use super::{DescribeQuery, Gradient, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::noise::NoiseSource;
use crate::privacy::{Adjacency, Charge, GaussianCharge, L2};
use crate::private::{Permit, PrivateDataset, Released};

/// Most batches of one pass.
pub const MAX_BATCHES: u32 = 1 << 14;

/// The first coefficient; the others are near `2^10 binom(2k, k) / 4^k`.
const LOG2_FIRST: u32 = 10;

/// Rows whose batches are drawn from one stream.
const BLOCK: usize = 1024;

/// Integer coefficients `c_0, c_1, ..` of the lower triangular Toeplitz matrix `C`, the square root of that of prefix sums.
///
/// `(1 - x)^(-1/2) = sum_k binom(2k, k) x^k / 4^k`, rounded down to multiples of `2^-10` by a recurrence in integers:
/// `c_k = c_(k-1) (2k - 1) / 2k`.
///
/// # Reference
/// Fichtenberger, Henzinger, Upadhyay 2023, "Constant matters: fine-grained error bound on differentially private continual
/// observation".
pub fn prefix_coefficients(batches: u32) -> Vec<u64> {
    const GUARD: u32 = 30;
    let mut value = 1u128 << (LOG2_FIRST + GUARD);
    let mut next = |k: u32| {
        if k > 0 {
            value = value * u128::from(2 * k - 1) / u128::from(2 * k);
        }
        (value >> GUARD) as u64
    };
    (0..batches.min(MAX_BATCHES)).map(&mut next).collect()
}

/// Prefix sums of clipped gradients over one pass, see [`PrefixPass`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixSums {
    /// Largest norm of a row's gradient, in grid steps.
    #[serde(rename = "bound")]
    pub clip_steps: u64,
    /// Batches of the pass.
    pub batches: u32,
}

impl DescribeQuery for PrefixSums {
    type Norm = L2;

    fn sensitivity(&self, adjacency: Adjacency) -> u64 {
        if self.batches > MAX_BATCHES {
            return u64::MAX;
        }
        let sensitivity = u128::from(adjacency.sum_sensitivity(self.clip_steps));
        let column: u128 = prefix_coefficients(self.batches).iter().map(|&c| u128::from(c) * u128::from(c)).sum();
        sensitivity.checked_mul(sensitivity).and_then(|s| s.checked_mul(column)).map_or(u64::MAX, root_of)
    }

    fn reads(&self) -> Reads {
        Reads {
            rows: RowAccess::Batches(self.batches),
            role: Role::Steps(u64::from(self.batches)),
            clip_steps: Some(self.clip_steps),
            persons: false,
            labels: false,
        }
    }

    fn is_paid_by(&self, charge: &Charge) -> bool {
        matches!(charge, Charge::Gaussian(_))
    }

    fn sampling(&self) -> String {
        let batches = self.batches;
        format!(
            "one pass over {batches} batches; each row is in one, by a secret draw of its own; no amplification claimed"
        )
    }
}

/// One pass over batches: part `t` releases `sum_(s <= t) c_(t-s) G_s` with noise, `G_s` the clipped gradient sum of batch `s`.
///
/// Each row belongs to one batch, by a draw of its own that depends on the run's key and on nothing else. The whole
/// sequence is one vector whose parts are asked for one after the other; each `G_s` may use everything released before.
///
/// # Privacy
/// Given the batches, a row of batch `s` moves part `t >= s` by `c_(t-s)` times one and the same integer vector of norm at
/// most `clip_steps` (twice that if it is replaced: the new row gets the old one's batch), and no other part. So all parts together
/// are one Gaussian mechanism of l2 sensitivity `clip_steps sqrt(sum_k c_k^2)`, also where parts are chosen in view of earlier ones:
/// what was released before batch `s` has the same law for both neighbours and fixes that vector (Denisov, McMahan, Rush,
/// Smith, Thakurta 2022). If a row is removed, those behind it move up to other draws; as all draws are
/// independent with the same law, the draws of the neighbour can be coupled so that every other row keeps its batch. The
/// output is then a mixture of such pairs with equal weights, and both the Renyi divergence and the trade-off are those of
/// the worst pair at most (joint quasi-convexity).
pub struct PrefixPass {
    batches: VecDeque<PrivateDataset>,
    clip_steps: u64,
    coefficients: Vec<u64>,
    noise: VecDeque<i64>,
    sums: Vec<Vec<i128>>,
    values: Vec<i128>,
    permit: Permit<GaussianCharge>,
}

impl Permit<GaussianCharge> {
    /// Opens one pass over `batches` random batches of the rows.
    ///
    /// # Errors
    /// When the rows belong to another scope, or the pass moves further than was paid for.
    pub fn prefix_sums(self, data: &PrivateDataset, clip_steps: u64, batches: u32) -> Fallible<PrefixPass> {
        self.check(data.origin(), PrefixSums { clip_steps, batches })?;
        let len = data.shape().dimension() * batches as usize;
        let noise = self.draw(len)?;
        Ok(PrefixPass {
            batches: data.split(batches as usize, batch_of(&self.noise, batches))?.into(),
            clip_steps,
            coefficients: prefix_coefficients(batches),
            noise: noise.into(),
            sums: Vec::new(),
            values: Vec::new(),
            permit: self,
        })
    }
}

/// The batch of each row in turn, uniform up to `2^-50` and independent of everything else.
pub(crate) fn batch_of(source: &NoiseSource, batches: u32) -> impl FnMut(usize) -> usize {
    let mut stream = None;
    move |row| {
        if row.is_multiple_of(BLOCK) {
            stream = None;
        }
        // Opened once: no stream serves two purposes.
        let stream = stream.get_or_insert_with(|| source.row_stream((row / BLOCK) as u32));
        ((u128::from(stream.next_u64()) * u128::from(batches)) >> 64) as usize
    }
}

impl PrefixPass {
    /// Releases the part of the next batch, whose gradients are taken at `gradient`.
    ///
    /// # Errors
    /// When every batch was used.
    pub fn next(&mut self, gradient: &Gradient<'_>) -> Fallible<&[i128]> {
        let Some(batch) = self.batches.pop_front() else {
            return Err(Error::refused("every batch of this pass was used", "plan with more batches"));
        };
        self.sums.push(batch.clipped(self.clip_steps)?.gradient_sum(gradient)?.values);
        let from = self.values.len();
        let dimension = batch.shape().dimension();
        self.values.extend(self.noise.drain(..dimension.min(self.noise.len())).map(i128::from));
        let part = self.values.get_mut(from..).unwrap_or_default();
        for (&coefficient, sum) in self.coefficients.iter().zip(self.sums.iter().rev()) {
            part.iter_mut().zip(sum).for_each(|(value, &entry)| *value += i128::from(coefficient) * entry);
        }
        Ok(part)
    }

    /// Everything that was released.
    pub fn finish(self) -> Released {
        self.permit.opened(self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_the_rounded_root() {
        let exact = |k: u32| (1..=k).fold(1.0, |c, j| c * (2.0 * f64::from(j) - 1.0) / (2.0 * f64::from(j)));
        for (k, c) in prefix_coefficients(500).into_iter().enumerate() {
            assert!((c as f64 - 1024.0 * exact(k as u32)).abs() < 1.001, "{k}");
        }
        assert_eq!(prefix_coefficients(3), [1024, 512, 384]);
        assert_eq!(prefix_coefficients(u32::MAX).len(), MAX_BATCHES as usize);
    }

    #[test]
    fn every_row_draws_its_own_batch() {
        let source = NoiseSource::insecure_from_seed(1);
        let mut batch = batch_of(&source, 8);
        let drawn: Vec<usize> = (0..8_192).map(&mut batch).collect();
        for b in 0..8 {
            let count = drawn.iter().filter(|&&x| x == b).count();
            assert!((count as f64 - 1024.0).abs() < 5.0 * 30.0, "{b}: {count}");
        }
        // Nothing but the position decides: another pass gives the same draws.
        assert_eq!((0..8_192).map(batch_of(&source, 8)).collect::<Vec<_>>(), drawn);
    }
}
