//! Prefix sums of gradients over passes, with noise that is correlated between batches.

use std::collections::VecDeque;

use rand::RngCore;
use serde::{Deserialize, Serialize};

use super::describe::root_of;
use super::{DescribeQuery, Gradient, Reads, Role, RowAccess};
use crate::error::{Error, Fallible};
use crate::noise::{NoiseSource, integer_noise, poisson_sample};
use crate::privacy::{Adjacency, Charge, GaussianCharge, L2, PoissonGaussianCharge};
use crate::private::{Mechanism, Permit, PrivateDataset, Released, Sensitive};

/// Most batches of all passes together, and so of one.
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

/// Prefix sums of clipped gradients over one pass of several, see [`PrefixPasses`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrefixSums {
    /// Largest norm of a row's gradient, in grid steps.
    #[serde(rename = "bound")]
    pub clip_steps: u64,
    /// Batches of a pass.
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
        matches!(charge, Charge::Gaussian(_) | Charge::PoissonGaussian(_))
    }

    fn sampling(&self, releases: u64) -> String {
        let batches = self.batches;
        let passes = if releases == 1 { "one pass".into() } else { format!("{releases} passes") };
        format!(
            "{passes} over {batches} batches; each row is in one, by a secret draw of its own; no amplification claimed"
        )
    }
}

/// Passes over batches: part `t` releases `sum_(k < B) c_k G_(t-k)` with noise, `G_s` the clipped gradient sum of the batch of part `s`.
///
/// Each row belongs to one of `B` batches, by a draw of its own that depends on the run's key and on nothing else. Every pass meets all
/// batches in one order, so a row takes part at most once in every `B` parts. The whole sequence is one vector whose parts are asked for one
/// after the other; each `G_s` may use everything released before. Where samples are paid for, each row tosses a coin for each pass and
/// stays away from its batch where that says so.
///
/// # Privacy
/// Given the batches, a row of batch `s` moves part `s + e B + k`, `k < B`, by `c_k` times one and the same integer vector `g_e` of norm at
/// most `clip_steps` (twice that if it is replaced: the new row gets the old one's batch). So the parts from `s + e B` to before
/// `s + (e + 1) B` are a Gaussian mechanism of l2 sensitivity `clip_steps sqrt(sum_k c_k^2)`, also where parts are chosen in view of earlier
/// ones: what was released before `s + e B` fixes `g_e` (Denisov, McMahan, Rush, Smith, Thakurta 2022). The passes are as many such
/// mechanisms one after the other, for no two of them share a part: that is why `C` has no more than `B` coefficients. With coins each of
/// them is a Poisson-sampled Gaussian mechanism, for the coin of a row is told by nothing else (after Choquette-Choo et al. 2023).
///
/// If a row is removed, those behind it move up to other draws; as all draws are
/// independent with the same law, the draws of the neighbour can be coupled so that every other row keeps its batch and its coins. The
/// output is then a mixture over batches of such pairs with equal weights, and both the Renyi divergence and the trade-off are those of
/// the worst pair at most (joint quasi-convexity).
///
/// # Reference
/// Choquette-Choo, Ganesh, McKenna, McMahan, Rush, Thakurta, Xu 2023, "(Amplified) banded matrix factorization: a unified approach to
/// private training"; Kalinin and Lampert 2024, "Banded square root matrix factorization for differentially private model training".
pub struct PrefixPasses<M: OfPasses = GaussianCharge> {
    batches: Vec<PrivateDataset>,
    /// The batch of each row.
    dealt: Vec<u16>,
    clip_steps: u64,
    dimension: usize,
    coefficients: Vec<u64>,
    /// The sums of the last batches, the latest first, as many as there are coefficients.
    sums: VecDeque<Vec<i128>>,
    /// Of the passes that were not begun.
    permits: VecDeque<Permit<M>>,
    pass: Option<Pass<M>>,
    ended: Vec<Released>,
}

/// The pass that is being made.
struct Pass<M: OfPasses> {
    permit: Permit<M>,
    /// The rows of each batch that take part; `None` where all do.
    joined: Option<Vec<Vec<usize>>>,
    noise: VecDeque<i64>,
    values: Vec<i128>,
    /// Parts that were made.
    made: usize,
}

/// What pays for passes.
pub trait OfPasses: Mechanism {
    /// The release of a pass.
    fn release(&self) -> &GaussianCharge;

    /// The exponent of the coin of a row, where it tosses one.
    fn exponent(&self) -> Option<u64>;
}

impl OfPasses for GaussianCharge {
    fn release(&self) -> &GaussianCharge {
        self
    }

    fn exponent(&self) -> Option<u64> {
        None
    }
}

impl OfPasses for PoissonGaussianCharge {
    fn release(&self) -> &GaussianCharge {
        &self.sampled
    }

    fn exponent(&self) -> Option<u64> {
        Some(self.exponent)
    }
}

impl<M: OfPasses> PrefixPasses<M> {
    /// Opens passes over random batches of the rows, one for each permit.
    ///
    /// # Errors
    /// When the permits are of several runs or charges, or were used before the run was stopped, the rows belong to another scope or are
    /// not at hand, or a pass moves further than was paid for.
    pub fn open(permits: Vec<Permit<M>>, data: &PrivateDataset, query: PrefixSums) -> Fallible<Self> {
        let PrefixSums { clip_steps, batches } = query;
        let Some(first) = permits.first() else {
            return Err(Error::refused("no pass was paid for", "give the permit of each pass"));
        };
        for permit in &permits {
            if permit.run != first.run || permit.charge() != first.charge() {
                return Err(Error::refused("the passes were paid for by several charges", "pay for all by one"));
            }
            if permit.journal.released(permit.release).is_some() {
                return Err(Error::refused("a pass was released before the run was stopped", "use what was released"));
            }
            // Nothing of the rows is in it: an answer without a value.
            let answer = Sensitive::of(Vec::new(), query, data.origin());
            permit.covers(permit.event.release().sensitivity, &answer)?;
        }
        let mut dealt = Vec::new();
        let mut draw = batch_of(&first.noise, batches);
        // A query has so few batches that 16 bits number them.
        let deal = |row| {
            let batch = draw(row);
            dealt.push(batch as u16);
            batch
        };
        let batches = data.split(batches as usize, deal)?;
        drop(draw);
        Ok(PrefixPasses {
            batches,
            dealt,
            clip_steps,
            dimension: data.shape().dimension(),
            coefficients: prefix_coefficients(query.batches),
            sums: VecDeque::new(),
            permits: permits.into(),
            pass: None,
            ended: Vec::new(),
        })
    }

    /// Releases the part of the next batch, whose gradients are taken at `gradient`.
    ///
    /// # Errors
    /// When every batch was used in every pass.
    pub fn next(&mut self, gradient: &Gradient<'_>) -> Fallible<&[i128]> {
        if self.pass.as_ref().is_none_or(|pass| pass.made >= self.batches.len()) {
            self.begin()?;
        }
        let Some(pass) = &mut self.pass else { return Err(used_up()) };
        let Some(batch) = self.batches.get(pass.made) else { return Err(used_up()) };
        let rows = batch.clipped(self.clip_steps)?;
        let sum = match &pass.joined {
            None => rows.gradient_sum(gradient)?,
            Some(joined) => rows.sampled_sum(gradient, joined.get(pass.made).map(Vec::as_slice).unwrap_or_default())?,
        };
        // From here on nothing fails: a batch that was left out would let two uses of a row move one part.
        pass.made += 1;
        self.sums.truncate(self.coefficients.len().saturating_sub(1));
        self.sums.push_front(sum.values);
        let from = pass.values.len();
        pass.values.extend(pass.noise.drain(..self.dimension.min(pass.noise.len())).map(i128::from));
        let part = pass.values.get_mut(from..).unwrap_or_default();
        for (&coefficient, sum) in self.coefficients.iter().zip(&self.sums) {
            part.iter_mut().zip(sum).for_each(|(value, &entry)| *value += i128::from(coefficient) * entry);
        }
        Ok(part)
    }

    /// Begins the next pass: draws its noise, and its coins where it has some.
    fn begin(&mut self) -> Fallible<()> {
        let permit = self.permits.front().ok_or_else(used_up)?;
        let paid = permit.event.release();
        let len = self.dimension * self.batches.len();
        let noise = integer_noise(paid.noise, paid.log2_scale, len, &permit.noise, permit.release)?;
        let joined = permit.event.exponent().map(|exponent| {
            let chosen = poisson_sample(exponent, self.dealt.len(), &permit.noise, permit.release);
            let mut chosen = chosen.into_iter().peekable();
            let mut joined = vec![Vec::new(); self.batches.len()];
            let mut met = vec![0; self.batches.len()];
            for (row, batch) in self.dealt.iter().map(|batch| usize::from(*batch)).enumerate() {
                if let (Some(joined), Some(met)) = (joined.get_mut(batch), met.get_mut(batch)) {
                    joined.extend(chosen.next_if_eq(&row).map(|_| *met));
                    *met += 1;
                }
            }
            joined
        });
        self.end();
        if let Some(permit) = self.permits.pop_front() {
            self.pass = Some(Pass { permit, joined, noise: noise.into(), values: Vec::new(), made: 0 });
        }
        Ok(())
    }

    /// Opens what the pass released that is being made.
    fn end(&mut self) {
        self.ended.extend(self.pass.take().map(|pass| pass.permit.opened(pass.values)));
    }

    /// Everything that was released, of each pass that was begun.
    pub fn finish(mut self) -> Vec<Released> {
        self.end();
        self.ended
    }
}

fn used_up() -> Error {
    Error::refused("every batch was used in every pass that was paid for", "plan with more batches or passes")
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
