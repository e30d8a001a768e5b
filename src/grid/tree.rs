//! The tree of intervals over the bounds of a number: each is cut into four, some levels deep.

use super::FULL_SCALE;

/// Intervals that an interval is cut into.
const BRANCHES: usize = 4;

/// Steps of the grid from the lower bound to the upper one, both included.
const STEPS: usize = 2 * FULL_SCALE as usize + 1;

/// A public tree of intervals: level `l` has `4^l` of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tree {
    levels: u32,
}

/// The tree of a numeric feature: 1,024 cells.
pub const FEATURE_TREE: Tree = Tree { levels: 5 };

/// The tree of a numeric target: 4,096 cells.
pub const TARGET_TREE: Tree = Tree { levels: 6 };

impl Tree {
    /// Levels below the root, which is the whole.
    pub fn levels(self) -> usize {
        self.levels as usize
    }

    /// Intervals of the finest level.
    pub fn cells(self) -> usize {
        BRANCHES.pow(self.levels)
    }

    /// Intervals of all levels together.
    pub fn nodes(self) -> usize {
        self.level_sizes().sum()
    }

    /// Intervals of each level, from the coarsest on.
    pub fn level_sizes(self) -> impl Iterator<Item = usize> {
        (1..=self.levels).map(|level| BRANCHES.pow(level))
    }

    /// The cell of an encoded number.
    #[inline(always)]
    pub fn cell(self, q: i16) -> usize {
        (Self::place(q) * self.cells()) / STEPS
    }

    /// The first step of the grid, counted from the lower bound, that lies `eighths` eighths of a cell or more above it.
    pub fn first_step(self, eighths: usize) -> usize {
        (eighths * STEPS).div_ceil(8 * self.cells())
    }

    /// Steps of the grid from the lower bound to an encoded number.
    #[inline(always)]
    pub fn place(q: i16) -> usize {
        // What is below the range is moved into it.
        (i32::from(q.max(-FULL_SCALE)) + i32::from(FULL_SCALE)) as usize
    }

    /// Sums over the intervals of every level, the coarsest first, from sums over cells.
    pub fn sums(self, cells: &[i128]) -> Vec<i128> {
        let mut levels = vec![cells.to_vec()];
        for _ in 1..self.levels {
            let coarser = levels[levels.len() - 1].chunks(BRANCHES).map(|four| four.iter().sum()).collect();
            levels.push(coarser);
        }
        levels.into_iter().rev().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_levels_are_nested() {
        for tree in [FEATURE_TREE, TARGET_TREE] {
            assert_eq!((tree.cell(-FULL_SCALE), tree.cell(FULL_SCALE)), (0, tree.cells() - 1));
            assert_eq!(tree.cell(i16::MIN), 0);
            for q in -FULL_SCALE..FULL_SCALE {
                let (cell, next) = (tree.cell(q), tree.cell(q + 1));
                assert!(next == cell || next == cell + 1);
                // A cell begins where eighths say.
                assert_eq!(next > cell, tree.first_step(8 * next) == Tree::place(q + 1), "{q}");
            }
            assert_eq!(tree.level_sizes().last(), Some(tree.cells()));
        }
        assert_eq!((FEATURE_TREE.nodes(), TARGET_TREE.nodes()), (1364, 5460));
    }

    #[test]
    fn an_interval_holds_what_its_cells_hold() {
        let cells: Vec<i128> = (0..1024).map(|cell| i128::from(cell % 7)).collect();
        let sums = FEATURE_TREE.sums(&cells);
        assert_eq!(sums.len(), FEATURE_TREE.nodes());
        assert_eq!(sums[..4].iter().sum::<i128>(), cells.iter().sum());
        assert_eq!(sums[1], cells[256..512].iter().sum());
        assert_eq!(sums[340..], cells);
    }
}
