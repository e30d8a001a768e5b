//! Slopes of a loss for whole tiles: one virtual call, behind it code for each instruction set.
//!
//! A pass is long and a loss is short. With the loss inside it a pass would be compiled once for each loss; called row by row, a loss
//! would not be compiled for wide registers.

use super::LANES;
use super::simd::{Level, WithWords, Words};

/// The slopes of a loss of one margin, on an instruction set.
#[derive(Clone, Copy)]
pub(super) struct Slopes<'a> {
    level: Level,
    of: &'a dyn OfTiles,
}

impl<'a> Slopes<'a> {
    pub(super) fn new<F: Fn(f32, f32) -> f32 + Sync>(level: Level, slope: &'a F) -> Self {
        Slopes { level, of: slope }
    }

    /// Replaces the margins of tiles by slopes; the label of a lane is `labels * label_scale`.
    pub(super) fn replace(self, margins: &mut [[f32; LANES]], labels: &[[i16; LANES]], label_scale: f32) {
        self.of.replace(self.level, margins, labels, label_scale);
    }
}

trait OfTiles: Sync {
    fn replace(&self, level: Level, margins: &mut [[f32; LANES]], labels: &[[i16; LANES]], label_scale: f32);
}

impl<F: Fn(f32, f32) -> f32 + Sync> OfTiles for F {
    fn replace(&self, level: Level, margins: &mut [[f32; LANES]], labels: &[[i16; LANES]], label_scale: f32) {
        level.run(Replace { slope: self, margins, labels, label_scale });
    }
}

struct Replace<'a, F> {
    slope: &'a F,
    margins: &'a mut [[f32; LANES]],
    labels: &'a [[i16; LANES]],
    label_scale: f32,
}

impl<F: Fn(f32, f32) -> f32> WithWords for Replace<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<W: Words>(self, _: W) {
        for (margins, labels) in self.margins.iter_mut().zip(self.labels) {
            for lane in 0..LANES {
                margins[lane] = (self.slope)(margins[lane], f32::from(labels[lane]) * self.label_scale);
            }
        }
    }
}

/// The slopes of a loss of several margins a row, on an instruction set.
#[derive(Clone, Copy)]
pub(super) struct JointSlopes<'a> {
    level: Level,
    of: &'a dyn OfTile,
}

impl<'a> JointSlopes<'a> {
    pub(super) fn new<F: Fn(&mut [[f32; LANES]], &[i16; LANES]) + Sync>(level: Level, slopes: &'a F) -> Self {
        JointSlopes { level, of: slopes }
    }

    /// Replaces the margins of a tile, one output after the other, by slopes.
    pub(super) fn replace(self, margins: &mut [[f32; LANES]], labels: &[i16; LANES]) {
        self.of.replace(self.level, margins, labels);
    }
}

trait OfTile: Sync {
    fn replace(&self, level: Level, margins: &mut [[f32; LANES]], labels: &[i16; LANES]);
}

impl<F: Fn(&mut [[f32; LANES]], &[i16; LANES]) + Sync> OfTile for F {
    fn replace(&self, level: Level, margins: &mut [[f32; LANES]], labels: &[i16; LANES]) {
        level.run(ReplaceJointly { slopes: self, margins, labels });
    }
}

struct ReplaceJointly<'a, F> {
    slopes: &'a F,
    margins: &'a mut [[f32; LANES]],
    labels: &'a [i16; LANES],
}

impl<F: Fn(&mut [[f32; LANES]], &[i16; LANES])> WithWords for ReplaceJointly<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<W: Words>(self, _: W) {
        (self.slopes)(self.margins, self.labels);
    }
}
