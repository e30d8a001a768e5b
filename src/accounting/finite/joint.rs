//! Joint privacy on an example that is small enough to enumerate: see `docs/accounting/joint.md`.
//!
//! Four persons want one of two goods. A billboard shows how many want the first one, with geometric noise of ratio 1/2, which is
//! ln(2)-DP under replace-one. Everyone reads it and picks for themselves. All probabilities are integers over `3 * 2^4`.

use std::collections::BTreeMap;

const PERSONS: u32 = 4;

/// Copies of the good that may run out.
const COPIES: u32 = 2;

/// How often each vector of outputs comes up, of `3 * 2^4` times.
type Law = BTreeMap<u32, u64>;

/// How often a count is shown as another one: geometric noise, cut to the range.
fn shown(count: u32, as_count: u32) -> u64 {
    let ends = u64::from(as_count == 0 || as_count == PERSONS);
    (1 << (PERSONS - count.abs_diff(as_count))) << ends
}

/// The law of all outputs for the wishes of all: bit i is the wish of person i, or what the person gets.
fn law(wishes: u32, gets: impl Fn(u32, u32) -> bool) -> Law {
    let mut law = Law::new();
    for billboard in 0..=PERSONS {
        let outputs = (0..PERSONS).filter(|&i| gets(billboard, i)).fold(0, |all, i| all | 1 << i);
        *law.entry(outputs).or_default() += shown(wishes.count_ones(), billboard);
    }
    law
}

/// The law of what all get but one person.
fn without(law: &Law, person: u32) -> Law {
    let mut rest = Law::new();
    for (&outputs, &weight) in law {
        *rest.entry(outputs & !(1 << person)).or_default() += weight;
    }
    rest
}

/// Whether no outcome is more than twice as likely under the first law, and so no event is.
fn within_twice(one: &Law, other: &Law) -> bool {
    one.iter().all(|(outputs, &weight)| weight <= 2 * other.get(outputs).copied().unwrap_or(0))
}

/// Everyone who wants the good takes it unless the billboard says that it is crowded.
fn allocation(wishes: u32) -> Law {
    law(wishes, |billboard, i| wishes >> i & 1 == 1 && billboard <= COPIES)
}

/// The first ones who want it get it: what each gets depends on the wishes of others.
fn in_turn(wishes: u32) -> Law {
    law(wishes, |_, i| wishes >> i & 1 == 1 && (wishes & ((1 << i) - 1)).count_ones() < COPIES)
}

/// A billboard without noise, and the same rule.
fn told_exactly(wishes: u32) -> Law {
    let crowded = wishes.count_ones() > COPIES;
    Law::from([(if crowded { 0 } else { wishes }, 3 << PERSONS)])
}

/// All pairs of wishes that differ in those of one person.
fn neighbours() -> impl Iterator<Item = (u32, u32, u32)> {
    (0..1u32 << PERSONS).flat_map(|wishes| (0..PERSONS).map(move |i| (wishes, wishes ^ 1 << i, i)))
}

#[test]
fn the_billboard_is_private_and_its_bound_is_used() {
    for count in 0..=PERSONS {
        assert_eq!((0..=PERSONS).map(|k| shown(count, k)).sum::<u64>(), 3 << PERSONS);
    }
    let pairs = || (0..PERSONS).flat_map(|c| (0..=PERSONS).map(move |k| (shown(c, k), shown(c + 1, k))));
    assert!(pairs().all(|(p, q)| p <= 2 * q && q <= 2 * p));
    assert!(pairs().any(|(p, q)| p == 2 * q));
}

#[test]
fn what_the_others_get_is_as_private_as_the_billboard() {
    let mut reached = false;
    for (wishes, changed, i) in neighbours() {
        let (here, there) = (without(&allocation(wishes), i), without(&allocation(changed), i));
        assert!(within_twice(&here, &there), "{wishes:04b} {i}");
        reached |= here.iter().any(|(outputs, &weight)| there.get(outputs).is_some_and(|&other| weight == 2 * other));
    }
    assert!(reached, "some outcome is twice as likely");
}

#[test]
fn what_all_get_is_not_private() {
    // Who holds the good wanted it.
    let (wishes, changed) = (0b0001, 0b0000);
    assert!(!within_twice(&allocation(wishes), &allocation(changed)));
    assert!(allocation(wishes).contains_key(&1) && !allocation(changed).contains_key(&1));
    // Nor is it with any factor: for every neighbour some outcome never comes up without the wish.
    let never = |a: u32, b: u32| allocation(a).keys().any(|outputs| !allocation(b).contains_key(outputs));
    assert!(neighbours().all(|(a, b, _)| never(a, b) || never(b, a)));
}

#[test]
fn an_allocation_in_turn_is_not_jointly_private() {
    let broken = |(a, b, i): (u32, u32, u32)| !within_twice(&without(&in_turn(a), i), &without(&in_turn(b), i));
    assert!(neighbours().any(broken), "whoever comes later learns who came before");
}

#[test]
fn a_billboard_without_noise_is_not_jointly_private() {
    let broken =
        |(a, b, i): (u32, u32, u32)| !within_twice(&without(&told_exactly(a), i), &without(&told_exactly(b), i));
    // The third wish takes the good from two others.
    assert!(broken((0b0011, 0b0111, 2)) && !broken((0b0001, 0b0011, 1)));
    assert_eq!(neighbours().filter(|pair| broken(*pair)).count(), 24);
}
