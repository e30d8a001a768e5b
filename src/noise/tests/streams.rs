//! Keys and streams: never equal, never reused by accident, never replaced by something weaker.

use std::collections::HashSet;

use rand::{RngCore, TryRngCore};

use crate::noise::{NoiseSource, integer_noise};
use crate::privacy::NoiseLaw;

/// An operating system without randomness.
struct Broken;

impl TryRngCore for Broken {
    type Error = std::fmt::Error;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Err(std::fmt::Error)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Err(std::fmt::Error)
    }

    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        Err(std::fmt::Error)
    }
}

fn words(source: &NoiseSource, release: u32, block: u32) -> Vec<u32> {
    let mut stream = source.stream(release, block);
    (0..4096).map(|_| stream.next_u32()).collect()
}

/// Whether no 16 consecutive words occur twice, within or between the lists.
fn no_window_twice(lists: &[Vec<u32>]) -> bool {
    let mut seen = HashSet::new();
    lists.iter().flat_map(|list| list.windows(16)).all(|window| seen.insert(window))
}

#[test]
fn a_failing_operating_system_is_an_error() {
    let error = NoiseSource::from_entropy(&mut Broken).err().unwrap();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("no randomness"), "{error}");
}

#[test]
fn security_is_told() {
    assert!(NoiseSource::from_os().unwrap().is_secure());
    assert!(!NoiseSource::insecure_from_seed(0).is_secure());
}

#[test]
fn streams_of_one_source_do_not_overlap() {
    let source = NoiseSource::insecure_from_seed(3);
    // Pairs that would collide if release and block were added, swapped or cut short.
    let pairs = [(0, 0), (0, 1), (1, 0), (1, 1), (0, u32::MAX), (u32::MAX, 0), (u32::MAX, u32::MAX), (1 << 16, 0)];
    let lists: Vec<_> = pairs.iter().map(|&(release, block)| words(&source, release, block)).collect();
    assert!(no_window_twice(&lists));
    assert!(!no_window_twice(&[words(&source, 5, 6), words(&source, 5, 6)]), "the test can see a reuse");
}

#[test]
fn two_sources_do_not_overlap() {
    let fresh = || words(&NoiseSource::from_os().unwrap(), 0, 0);
    let seeded = |seed| words(&NoiseSource::insecure_from_seed(seed), 0, 0);
    assert!(no_window_twice(&[fresh(), fresh(), seeded(0), seeded(1), seeded(1 << 56)]));
}

#[test]
fn a_seed_can_be_repeated_and_matches_the_cipher() {
    let words = words(&NoiseSource::insecure_from_seed(0), 0, 0);
    // The first words of the ChaCha20 key stream for a zero key and nonce (RFC 8439, appendix A.1, vector 1).
    assert_eq!(words[..4], [0xade0_b876, 0x903d_f1a0, 0xe56a_5d40, 0x28bd_8653]);
}

#[test]
fn noise_does_not_depend_on_threads() {
    let source = NoiseSource::insecure_from_seed(11);
    for law in [NoiseLaw::FlooredNormal, NoiseLaw::DiscreteGaussian] {
        let draw = |threads, len| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| integer_noise(law, 40, len, &source, 7).unwrap())
        };
        let all = draw(1, 5000);
        for threads in [2, 3, 8] {
            assert_eq!(draw(threads, 5000), all);
        }
        assert_eq!(draw(2, 1500), all[..1500], "a shorter draw is a prefix");
        assert_eq!(draw(1, 0), [0i64; 0]);
        assert_ne!(integer_noise(law, 40, 5000, &source, 8).unwrap(), all, "another release");
        assert_ne!(all[..1000], all[1024..2024], "another block");
    }
}

/// The finest grid tells more digits of the same normals, and none is cut off.
#[test]
fn a_finer_grid_tells_more_digits_of_the_same_normal() {
    let source = NoiseSource::insecure_from_seed(5);
    let of = |log2_scale| integer_noise(NoiseLaw::FlooredNormal, log2_scale, 20_000, &source, 0).unwrap();
    let (finest, coarse) = (of(58), of(40));
    assert!(finest.iter().zip(&coarse).all(|(fine, coarse)| fine >> 18 == *coarse));
    assert!(finest.iter().all(|noise| noise.unsigned_abs() < 8 << 58), "beyond 8 deviations");
}

#[test]
fn scales_without_room_are_refused() {
    let source = NoiseSource::insecure_from_seed(0);
    for law in [NoiseLaw::FlooredNormal, NoiseLaw::DiscreteGaussian] {
        assert!(integer_noise(law, 58, 1, &source, 0).is_ok());
        assert!(integer_noise(law, 59, 1, &source, 0).is_err());
        assert!(integer_noise(law, 0, usize::MAX, &source, 0).is_err());
    }
}
