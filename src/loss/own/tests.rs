use super::*;
use crate::loss::{Logistic, Squared, check};
use crate::model_kind::ModelKind;

fn log_cosh() -> OwnLoss {
    OwnLoss::of_residual("log-cosh", |r| r.abs() + (-2.0 * r.abs()).exp().ln_1p() - 2f64.ln(), f64::tanh).unwrap()
}

fn logistic(name: &str) -> OwnLoss {
    let slope = |t: f64, y: f64| 1.0 / (1.0 + (-t).exp()) - y;
    OwnLoss::of_label(name, |t, y| Logistic.value(t, y), slope).unwrap()
}

fn poisson() -> OwnLoss {
    let own = Poisson { bound: 3.0, most: 3f64.exp() };
    let slope = |t: f64, y: f64| t.clamp(-3.0, 3.0).exp() - y;
    OwnLoss::of_count("my.poisson", |t, y| own.value(t, y), slope).unwrap()
}

#[test]
fn a_table_is_a_convex_loss_and_its_constants_hold() {
    check::holds(&log_cosh(), &[-1.5, 0.0, 0.7], 8.0);
    check::holds(&logistic("logistic"), &[0.0, 1.0], 20.0);
    check::holds(&poisson(), &[0.0, 1.0, 3f64.exp()], 6.0);
    let constants = |loss: OwnLoss| [loss.lipschitz(), loss.smoothness()];
    for (found, exact) in [(constants(logistic("logistic")), [1.0, 0.25]), (constants(log_cosh()), [1.0, 1.0])] {
        assert!(found.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-4), "{found:?} {exact:?}");
    }
}

/// The bound that is documented: an interpolated slope is off by at most `h^2 / 8` times its second derivative.
#[test]
fn a_table_is_as_near_to_its_closures_as_is_said() {
    let (logistic, cosh) = (logistic("logistic"), log_cosh());
    // The largest third derivatives: 1 / (6 sqrt 3) of the logistic loss, 4 / (3 sqrt 3) of log-cosh.
    let rounding = 2e-7;
    for i in -400_000..=400_000 {
        let t = f64::from(i) * 7.7e-5;
        for y in [0.0, 1.0] {
            let exact = 1.0 / (1.0 + (-t).exp()) - y;
            let error = (f64::from(logistic.slope(t as f32, y as f32)) - exact).abs();
            assert!(error < 0.0963 / 32768.0 + rounding, "{t} {y}: {error:e}");
            assert!((logistic.value(t, y) - Logistic.value(t, y)).abs() < 1e-4, "{t} {y}");
        }
        let error = (f64::from(cosh.slope(t as f32, 0.25)) - (t - 0.25).tanh()).abs();
        assert!(error < 0.7699 / 32768.0 + rounding + 1e-7 * t.abs(), "{t}: {error:e}");
    }
    // A jump is spread over the cell below it and told exactly elsewhere.
    let absolute = OwnLoss::of_residual("absolute", f64::abs, |r| if r > 0.0 { 1.0 } else { -1.0 }).unwrap();
    for (r, slope) in [(-3.0, -1.0), (0.0, -1.0), (0.5 / 64.0, 0.0), (1.0 / 64.0, 1.0), (40.0, 1.0)] {
        assert_eq!(absolute.slope(r, 0.0), slope, "{r}");
    }
}

#[test]
fn every_margin_has_a_slope_and_no_number_has_none() {
    for loss in [log_cosh(), logistic("logistic"), poisson()] {
        assert!(loss.slope(f32::NAN, 1.0).is_nan() && loss.value(f64::NAN, 1.0).is_nan());
        for (far, end) in
            [(1e30, 32.0), (f32::INFINITY, 32.0), (-1e30, -32.0), (f32::NEG_INFINITY, -32.0), (33.0, 32.0)]
        {
            let (beyond, at_end) = (loss.slope(far, 0.0), loss.slope(end, 0.0));
            assert_eq!(beyond, at_end, "{loss:?} {far}");
            assert!(
                (loss.value(36.0, 0.0) - loss.value(34.0, 0.0) - 2.0 * f64::from(loss.slope(32.0, 0.0))).abs() < 1e-4
            );
        }
        let bits: Vec<f32> = (0..=65_535u32).map(|i| f32::from_bits(i << 16)).collect();
        assert!(bits.iter().all(|&t| t.is_nan() || !loss.slope(t, 1.0).is_nan()));
    }
    // As steep as is taken, with any label that an encoded row may have.
    let steep = OwnLoss::of_residual("steep", |r| 0.5e28 * r * r, |r| 1e28 * r).unwrap();
    assert!(steep.slope(f32::MAX, -32_768.0).is_finite() && steep.slope(-1.0, 32_767.0).is_finite());
}

#[test]
fn what_is_no_convex_loss_is_refused_with_the_point() {
    type Of = fn(f64) -> f64;
    let cases: [(&str, Of, Of, &str); 6] = [
        ("a", |r| -r.cos(), f64::sin, "falls"),
        ("b", |r| 1.0 / (r - 1.0).abs(), |r| (1.0 - r).signum() / ((r - 1.0) * (r - 1.0)), "at 1 "),
        ("c", |r| 0.5 * r * r, |r| 2.0 * r, "the derivative"),
        ("d", |r| 0.5 * r * r, |r| 1.01 * r, "the derivative"),
        ("e", |_| 7.0, |_| 0.0, "flat"),
        ("f", |r| 1e40 * r * r, |r| 2e40 * r, "1e30"),
    ];
    for (name, value, slope, why) in cases {
        let message = OwnLoss::of_residual(name, value, slope).unwrap_err().to_string();
        assert!(message.contains(why) && message.contains(&format!("loss {name}")), "{message}");
    }
    let square = |t: f64, y: f64| 0.5 * (t - y * y) * (t - y * y);
    let message = OwnLoss::of_count("bent", square, |t, y| t - y * y).unwrap_err().to_string();
    assert!(message.contains("not affine"), "{message}");
    // With two labels every slope is affine.
    OwnLoss::of_label("bent", square, |t, y| t - y * y).unwrap();
    assert!(OwnLoss::of_residual("no name", f64::abs, f64::signum).is_err());
}

#[test]
fn the_same_table_is_made_once_and_another_is_another_loss() {
    let (one, two) = (logistic("logistic"), logistic("logistic"));
    assert!(std::ptr::eq(one.table, two.table) && one == two);
    assert_ne!(one, logistic("other"));
    let near = OwnLoss::of_residual("log-cosh", |r| 0.5 * r * r, |r| r).unwrap();
    assert_ne!(near, log_cosh());
    assert_ne!(near.table_sha256(), log_cosh().table_sha256());
}

#[test]
fn workers_get_the_table_and_files_its_digest() {
    for loss in [log_cosh(), logistic("logistic"), poisson()] {
        let sent = postcard::to_stdvec(&loss).unwrap();
        assert!(sent.len() < 40_000, "{}", sent.len());
        let got: OwnLoss = postcard::from_bytes(&sent).unwrap();
        assert_eq!(got, loss);
        assert_eq!(got.slope(0.3, 1.0).to_bits(), loss.slope(0.3, 1.0).to_bits());
        assert!(postcard::from_bytes::<OwnLoss>(&sent[..sent.len() - 40]).is_err());

        let text = serde_json::to_string(&ModelKind::Own(loss)).unwrap();
        assert!(text.len() < 200 && text.contains(loss.name()) && text.contains(&loss.table_sha256()), "{text}");
        let ModelKind::Own(named) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        assert!(named == loss && loss.is_known() && !named.is_known());
        assert!(named.slope(0.3, 1.0).is_nan(), "without its table it moves nothing");
        let refused = ModelKind::Own(named).check_trainable().unwrap_err().to_string();
        assert!(refused.contains("OwnLoss::of_residual") && refused.contains(loss.name()), "{refused}");
        for broken in [text.replace("table_sha256\":\"", "table_sha256\":\"x"), text.replace(loss.name(), "a b")] {
            assert!(serde_json::from_str::<ModelKind>(&broken).is_err(), "{broken}");
        }
    }
    let mut short = log_cosh().table.knots.clone();
    short.base.pop();
    let sent = postcard::to_stdvec(&("short", short)).unwrap();
    assert!(postcard::from_bytes::<OwnLoss>(&sent).is_err(), "a table of another length");
}

#[test]
fn rules_of_built_in_losses_are_met_in_the_scale_of_the_own_one() {
    let square = OwnLoss::of_residual("square", |r| 0.5 * r * r, |r| r).unwrap();
    let close = |a: f64, b: f64| (a / b - 1.0).abs() < 0.01;
    for (own, built_in) in [(logistic("logistic").tuning(), Logistic.tuning()), (square.tuning(), Squared.tuning())] {
        assert!(close(own.step, built_in.step) && close(own.whitened.rate, built_in.whitened.rate), "{own:?}");
        assert!(own.clip.iter().zip(built_in.clip).all(|(a, b)| close(*a, b)), "{own:?}");
        assert!(close(own.loss_cap.unwrap(), built_in.loss_cap.unwrap()), "{own:?}");
    }
    // One that does not bend still has steps of some length.
    let linear = [
        OwnLoss::of_residual("line", |r| r, |_| 1.0),
        OwnLoss::of_label("unhinged", |t, y| (1.0 - 2.0 * y) * t, |_, y| 1.0 - 2.0 * y),
        OwnLoss::of_count("even", |t, _| t, |_, _| 1.0),
    ];
    for loss in linear {
        let tuning = loss.unwrap().tuning();
        assert!(tuning.step <= 100.0 && tuning.whitened.rate <= 100.0, "{tuning:?}");
    }
    // A loss that is a thousand times as large takes steps a thousand times as short, with a clip a thousand times as long.
    let large = OwnLoss::of_residual("large", |r| 500.0 * r * r, |r| 1000.0 * r).unwrap().tuning();
    assert!(close(large.step * 1000.0, square.tuning().step) && close(large.clip[0], 1000.0 * square.tuning().clip[0]));
}
