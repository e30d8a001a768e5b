//! What panels look like: one look for an algorithm or a mechanism in all experiments, and signs for the words of formulas.

use rhograd::plot::{Panel, Series};

/// Names of measurements that mean the same wherever they are drawn, each with its look. Names that are not here get what is free, in order.
const LOOKS: [(&str, usize); 19] = [
    ("dp-gd", 0),
    ("dp-gd, linear loss", 0),
    ("full-batch dp-gd", 0),
    ("dp-sgd", 1),
    ("poisson dp-sgd", 1),
    ("localization", 2),
    ("localization, linear loss", 2),
    ("one-pass", 3),
    ("phased erm", 4),
    // The default algorithm, by its name, and as the linear one among others.
    ("auto", 5),
    ("default", 5),
    ("linear", 5),
    ("additive", 6),
    ("rich", 7),
    ("objective-perturbation", 8),
    ("newton", 9),
    ("adassp", 10),
    ("Laplace", 11),
    ("Gaussian", 12),
];

/// Words of formulas and their signs; those of the font that comes along, which has no negative powers.
const SIGNS: [(&str, &str); 8] = [
    ("alpha", "α"),
    ("epsilon", "ε"),
    ("eps", "ε"),
    ("delta", "δ"),
    ("rho", "ρ"),
    ("mu", "μ"),
    ("sigma", "σ"),
    ("r2", "R²"),
];

/// The panels as they are drawn.
pub fn dressed(panels: &[Panel]) -> Vec<Panel> {
    let series = |series: &Series| {
        let look = LOOKS.iter().find(|(name, _)| *name == series.name()).map(|(_, look)| *look);
        let series = series.clone().renamed(signed);
        match look {
            Some(look) if series.is_measured() => series.looking(look),
            _ => series,
        }
    };
    let panel = |panel: &Panel| Panel {
        title: signed(&panel.title),
        x: (signed(&panel.x.0), panel.x.1),
        y: (signed(&panel.y.0), panel.y.1),
        series: panel.series.iter().map(series).collect(),
    };
    panels.iter().map(panel).collect()
}

/// A text with signs for words, roots, squares and the minus of a number.
pub fn signed(text: &str) -> String {
    let mut signed = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word: usize =
            rest.chars().take_while(|c| c.is_alphabetic() || c.is_ascii_digit()).map(char::len_utf8).sum();
        let before = signed.chars().next_back();
        let apart = !before.is_some_and(|c| c == '-' || c == '_');
        let (found, length) = match first {
            _ if rest.starts_with("sqrt(") && apart => match simple(&rest[5..]) {
                // A root of one letter needs no brackets.
                Some(inner) => (format!("√{}", self::signed(inner)), inner.len() + 6),
                None => ("√".to_owned(), 4),
            },
            '^' if power(&rest[1..]) == Some('2') => ("²".to_owned(), 2),
            '^' if power(&rest[1..]) == Some('3') => ("³".to_owned(), 2),
            '-' if rest[1..].starts_with(|c: char| c.is_ascii_digit())
                && before.is_none_or(|c| c.is_whitespace() || "([".contains(c)) =>
            {
                ("−".to_owned(), 1)
            }
            _ if word > 0 => {
                let whole = &rest[..word];
                let sign =
                    SIGNS.iter().find(|(word, _)| apart && *word == whole && !rest[word.len()..].starts_with('-'));
                (sign.map_or(whole, |(_, sign)| sign).to_owned(), word)
            }
            other => (other.to_string(), other.len_utf8()),
        };
        signed.push_str(&found);
        rest = &rest[length..];
    }
    signed
}

/// The one digit of a power.
fn power(text: &str) -> Option<char> {
    let mut signs = text.chars();
    let digit = signs.next()?;
    (!signs.next().is_some_and(|c| c.is_alphanumeric() || c == '/')).then_some(digit)
}

/// The one word in front of a closing bracket.
fn simple(text: &str) -> Option<&str> {
    let inner = text.split_once(')')?.0;
    inner.chars().all(char::is_alphanumeric).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_formulas_become_signs_and_others_stay() {
        for (text, expected) in [
            ("8 L R sqrt(d ln(1/delta)) / (eps n)", "8 L R √(d ln(1/δ)) / (ε n)"),
            ("exponent -1 in epsilon, delta 1e-6", "exponent −1 in ε, δ 1e-6"),
            ("sqrt(n) excess risk", "√n excess risk"),
            ("n^2 and n^3/2", "n² and n^3/2"),
            ("test r2", "test R²"),
            ("rho-zCDP of dp-sgd, delta-function, mule", "rho-zCDP of dp-sgd, delta-function, mule"),
            ("N(rho, 2 rho)", "N(ρ, 2 ρ)"),
            ("epsilon²: 3 - 4", "ε²: 3 - 4"),
        ] {
            assert_eq!(signed(text), expected);
        }
    }

    #[test]
    fn an_algorithm_looks_the_same_in_every_experiment() {
        let of = |name: &str| Series::measured(name, vec![(1.0, 1.0, 0.0)]);
        let svg = |names: &[&str]| {
            let panel = Panel::of("t", names.iter().map(|name| of(name)).collect());
            let drawn = dressed(&[panel]);
            String::from_utf8(rhograd::plot::Figure::of(&drawn).to_bytes(rhograd::plot::Format::Svg).unwrap()).unwrap()
        };
        // The colour of the first look but one is that of dp-sgd, wherever it stands.
        let blue = "#005AA5".replace("A5", "AA");
        assert!(svg(&["dp-sgd"]).contains(&blue) && svg(&["auto", "poisson dp-sgd"]).contains(&blue));
        assert!(!svg(&["dp-gd", "auto"]).contains(&blue));
        // An unknown name gets what is free.
        assert!(svg(&["dp-gd", "other"]).contains(&blue) && !svg(&["dp-sgd", "other"]).contains("#BE4600"));
    }
}
