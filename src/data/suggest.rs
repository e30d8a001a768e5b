//! What somebody may have meant by a name that is not there.

/// The known name that is nearest to a misspelt one; `None` where none is near. Names of columns are public.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted: Vec<char> = folded(name);
    let most = (wanted.len() / 3).max(1);
    let near = known.filter_map(|candidate| {
        let candidate_folded = folded(candidate);
        let far = candidate_folded.len().abs_diff(wanted.len()) > most;
        let distance = if far { most + 1 } else { distance(&wanted, &candidate_folded) };
        (distance <= most && distance < wanted.len().max(1)).then_some((distance, candidate))
    });
    near.min_by_key(|(distance, _)| *distance).map(|(_, candidate)| candidate)
}

/// Case, blanks and punctuation are what is misspelt most.
fn folded(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Insertions, deletions and changes that make one of the other (Levenshtein 1966).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_names_are_recognized_and_others_are_not() {
        let known = ["age", "hours_per_week", "Income", "x1"];
        for (name, expected) in [
            ("Age", Some("age")),
            ("aeg", None),
            ("agee", Some("age")),
            ("hours per week", Some("hours_per_week")),
            ("hour_perweek", Some("hours_per_week")),
            ("income", Some("Income")),
            ("imcome", Some("Income")),
            ("wage", Some("age")),
            ("zip", None),
            ("", None),
            ("y", None),
        ] {
            assert_eq!(nearest(name, known.into_iter()), expected, "{name}");
        }
        let distance = |a: &str, b: &str| distance(&folded(a), &folded(b));
        assert_eq!((distance("kitten", "sitting"), distance("", "abc"), distance("abc", "abc")), (3, 3, 0));
    }
}
