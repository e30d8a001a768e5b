//! No copy of a key is left in memory when its source and streams are gone.

use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom};
use std::process::Command;

use rand::TryRngCore;

use crate::noise::{NoiseSource, RunCoins, exponential_choice, integer_noise, poisson_sample};
use crate::privacy::NoiseLaw;

/// Says to the program of these tests that it runs this one alone, so that its memory is quiet.
const ALONE: &str = "RHOGRAD_WIPING_ALONE";

const NAME: &str = "noise::tests::wiping::no_copy_of_a_key_outlives_its_source";

/// Byte `at` of the key, which stands in memory as a whole nowhere but where the source puts it.
fn byte(at: usize) -> u8 {
    (black_box(at) as u8).wrapping_mul(73).wrapping_add(41) ^ 0xa5
}

/// An operating system that gives this key.
struct Given;

impl TryRngCore for Given {
    type Error = std::fmt::Error;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Err(std::fmt::Error)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Err(std::fmt::Error)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.iter_mut().enumerate().for_each(|(at, place)| *place = byte(at));
        Ok(())
    }
}

/// Copies of either half of the key in what this process may write to.
fn copies() -> usize {
    const CHUNK: usize = 1 << 16;
    let mut buffer = vec![0; CHUNK + 15];
    let (maps, mut memory) =
        (std::fs::read_to_string("/proc/self/maps").unwrap(), File::open("/proc/self/mem").unwrap());
    let mut found = 0;
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        let (range, rights) = (words.next().unwrap(), words.next().unwrap());
        if !rights.starts_with("rw") || line.ends_with("[vvar]") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let (from, to) = (usize::from_str_radix(from, 16).unwrap(), usize::from_str_radix(to, 16).unwrap());
        for start in (from..to).step_by(CHUNK) {
            let length = buffer.len().min(to - start);
            // What is given back meanwhile is gone.
            if memory.seek(SeekFrom::Start(start as u64)).is_ok() && memory.read_exact(&mut buffer[..length]).is_ok() {
                let is_half = |window: &[u8]| [0, 16].iter().any(|&from| (0..16).all(|k| window[k] == byte(from + k)));
                found += buffer[..length].windows(16).filter(|window| is_half(window)).count();
            }
            // So that the next look does not find this one.
            buffer.fill(0);
            black_box(&mut buffer);
        }
    }
    found
}

fn alone() {
    let source = NoiseSource::from_entropy(&mut Given).unwrap();
    assert!(copies() > 0, "the search finds a key that is there");
    let noise: i64 = [NoiseLaw::FlooredNormal, NoiseLaw::DiscreteGaussian]
        .into_iter()
        .enumerate()
        .flat_map(|(release, law)| integer_noise(law, 20, 100_000, &source, release as u32).unwrap())
        .fold(0, i64::wrapping_add);
    let sample = poisson_sample(1 << 60, 100_000, &source, 2).len();
    let choice = exponential_choice(&[1, 2, 3], 4, &source, 3).unwrap();
    let mut coins = RunCoins::new(&source, 4);
    let _ = black_box((noise, sample, choice, coins.stop(1 << 31)));
    drop(coins);
    // Moved about, as a run moves it.
    let moved = std::thread::spawn(move || Some(black_box(source))).join().unwrap();
    drop(moved);
    assert_eq!(copies(), 0, "copies of the key are left");
}

#[test]
fn no_copy_of_a_key_outlives_its_source() {
    if std::env::var_os(ALONE).is_some() {
        return alone();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", NAME, "--test-threads=1"]).env(ALONE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}
