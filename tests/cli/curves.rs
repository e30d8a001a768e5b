//! Pictures of curves: the files are what their names say and show every curve.

use super::support::Folder;

const NOTIONS: [&str; 5] = ["classical", "optimal", "rdp", "pld", "exact"];

/// Four bytes at `at`, most significant first.
fn number(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

/// Whether every element that is opened is closed, in order.
fn is_well_formed(xml: &str) -> bool {
    let mut open = Vec::new();
    for tag in xml.split('<').skip(1) {
        let Some((tag, _)) = tag.split_once('>') else { return false };
        let name = tag.split_whitespace().next().unwrap_or_default();
        match (name.strip_prefix('/'), tag.ends_with('/')) {
            (Some(closed), _) if open.pop() != Some(closed) => return false,
            (None, false) => open.push(name),
            _ => {}
        }
        if tag.matches('"').count() % 2 == 1 {
            return false;
        }
    }
    open.is_empty()
}

#[test]
fn an_svg_is_well_formed_and_names_every_notion() {
    let folder = Folder::new();
    folder.succeed("account curve delta --noise-multiplier 20 --steps 100 --points 5 --out c.svg");
    let svg = folder.text("c.svg");
    assert!(svg.starts_with("<svg width=\"840\" height=\"560\"") && is_well_formed(&svg));
    for notion in NOTIONS {
        assert!(svg.lines().any(|line| line.trim() == notion), "{notion}");
    }
    assert!(!is_well_formed(&svg.replace("</svg>", "")));
}

#[test]
fn a_png_has_its_signature_its_size_and_every_colour() {
    let folder = Folder::new();
    folder.succeed("account curve delta --noise-multiplier 20 --steps 100 --points 5 --out c.PNG --csv c.csv");
    let bytes = folder.bytes("c.PNG");
    assert_eq!(&bytes[..8], b"\x89PNG\r\n\x1a\n");
    assert_eq!(&bytes[12..16], b"IHDR");
    assert_eq!((number(&bytes, 16), number(&bytes, 20)), (1680, 1120));
    assert!(bytes.ends_with(b"IEND\xae\x42\x60\x82"));
    assert_eq!(folder.text("c.csv").lines().count(), 1 + 5 * 5);
    // More curves make another picture.
    folder.succeed("account curve delta --noise-multiplier 20 --steps 100 --points 5 --notions pld,rdp --out two.png");
    assert_ne!(folder.bytes("two.png"), bytes);
}

#[test]
fn pictures_need_no_fonts_of_the_machine() {
    let folder = Folder::new();
    let draw = |name: &str| format!("account curve trade-off --noise-multiplier 1 --points 4 --out {name}");
    folder.succeed(&draw("a.png"));
    let mut bare = folder.command(&draw("b.png"));
    bare.env_clear().env("HOME", folder.path("tmp")).env("FONTCONFIG_FILE", "/nonexistent");
    assert!(bare.status().unwrap().success());
    assert_eq!(folder.bytes("a.png"), folder.bytes("b.png"));
}

#[test]
fn a_pdf_needs_no_font_and_has_the_size_of_the_svg() {
    let folder = Folder::new();
    folder.succeed("account curve delta --noise-multiplier 20 --steps 100 --points 5 --out c.pdf");
    let bytes = folder.bytes("c.pdf");
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.starts_with("%PDF-") && text.contains("/MediaBox [0 0 840 560]") && !text.contains("/Font"));
}

#[test]
fn other_kinds_of_picture_are_refused_before_anything_is_computed() {
    let folder = Folder::new();
    for name in ["c.gif", "c", "c.svg.gz", "c.ps"] {
        let outcome = folder.run(&format!("account curve delta --noise-multiplier 1 --out {name}"));
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(["--out", ".svg", ".png"].iter().all(|part| outcome.stderr.contains(part)), "{outcome:?}");
        assert!(!folder.path(name).exists());
    }
}

#[test]
fn a_title_says_what_was_drawn() {
    let folder = Folder::new();
    folder.write("one.json", r#"{"kind":"single","mechanism":{"mechanism":"laplace","scale":20.0}}"#);
    for (arguments, title) in [
        ("delta --noise-multiplier 20 --steps 100", "Gaussian noise multiplier 20, 100 steps, add-remove"),
        (
            "steps --noise-multiplier 1.5 --rate 0.01 --steps 50 --delta 1e-7 --notions rdp --adjacency add-remove",
            "Gaussian noise multiplier 1.5, rate 0.01, delta 1e-7, add-remove",
        ),
        (
            "trade-off --noise-multiplier 20 --adjacency replace-one",
            "Gaussian noise multiplier 20, 1 step, replace-one",
        ),
        ("delta --laplace-scale 20", "Laplace scale 20, 1 step, add-remove"),
        ("delta --event one.json --steps 3", "event of one.json, 3 steps, add-remove"),
    ] {
        folder.succeed(&format!("account curve {arguments} --points 3 --out c.svg"));
        let svg = folder.text("c.svg");
        assert!(svg.lines().any(|line| line.trim() == title), "{title}");
        folder.remove("c.svg");
    }
}
