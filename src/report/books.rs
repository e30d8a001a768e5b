//! A ledger for people.

use crate::ledger::{Cap, DatasetSummary, Record};
use crate::num::round::{decimal_down, decimal_up};
use crate::privacy::PrivacyUnit;
use crate::text::{counted, visible};

use super::words::DIGITS;

/// Seconds of a day.
const DAY: u64 = 86_400;

/// When it was, where that is on record, and what happened.
pub(crate) fn entry_in_words(record: &Record, after: &DatasetSummary) -> (Option<u64>, String) {
    match record {
        Record::Open { adjacency, unit, .. } | Record::OpenCapped { adjacency, unit, .. } => {
            let by = by_unit(unit);
            (None, format!("opened for {adjacency}{by}, {}", cap_words(after.cap.as_ref())))
        }
        Record::SetCap { .. } | Record::ChangeCap { .. } => {
            let raised =
                if after.cap_raised > 0 { format!("; raised {} times", after.cap_raised) } else { String::new() };
            (None, format!("{}{raised}", cap_words(after.cap.as_ref())))
        }
        Record::Reserve { at, run, rho, rho_at_order, private, .. } => {
            let delta = match after.spent_delta {
                0.0 => String::new(),
                delta => format!(" and delta {}", decimal_up(delta, DIGITS)),
            };
            let seeded = if *private { "" } else { ", NOT PRIVATE: its noise came from a fixed seed" };
            let (rho, spent) = (rho.rho().upper(), after.spent.upper());
            let (rho, spent) = (decimal_up(rho, DIGITS), decimal_up(spent, DIGITS));
            let order = after.cap.as_ref().and_then(Cap::order);
            let at_order = match (order, rho_at_order, &after.spent_at_order) {
                (Some(order), Some(rho), Some(spent)) => format!(
                    " (at order {order}: {}, in all {})",
                    decimal_up(rho.rho().upper(), DIGITS),
                    decimal_up(spent.upper(), DIGITS)
                ),
                _ => String::new(),
            };
            let runs = counted(after.runs, "run");
            (Some(*at), format!("run {run} charged rho {rho}; in all {spent}{delta}{at_order} in {runs}{seeded}"))
        }
        Record::Resume { run, releases } => {
            (None, format!("run {run} went on after {releases} releases, charged before"))
        }
        Record::Complete { run, artefact_sha256 } => {
            (None, format!("run {run} released its result, SHA-256 {artefact_sha256}"))
        }
    }
}

/// The unit of an account, visibly, where it is not a row.
pub(crate) fn by_unit(unit: &PrivacyUnit) -> String {
    if unit.is_row() { String::new() } else { format!(" by the {}", visible(&unit.to_string())) }
}

pub(super) fn cap_words(cap: Option<&Cap>) -> String {
    match cap {
        None => "without a cap".into(),
        Some(cap) => {
            let at = cap.order().map_or(String::new(), |order| format!(" at order {order}"));
            let rho = format!("{}{at}", decimal_down(cap.most_rho().lower(), DIGITS));
            match cap.asked() {
                Some(asked) => format!("cap epsilon {} at delta {:e} (rho {rho})", asked.epsilon, asked.delta),
                None => format!("cap rho {rho}"),
            }
        }
    }
}

/// What was spent, as the cap counts it, where there is one.
pub(crate) fn spent_in_words(summary: &DatasetSummary) -> String {
    let order = summary.cap.as_ref().and_then(Cap::order).zip(summary.spent_at_order.as_ref());
    match order {
        Some((order, spent)) => format!("rho {} at order {order}", decimal_up(spent.upper(), DIGITS)),
        None => format!("rho {}", decimal_up(summary.spent.upper(), DIGITS)),
    }
}

/// What is left of an account, where it has a cap.
pub(crate) fn left_under_cap(summary: &DatasetSummary) -> Option<String> {
    let left = decimal_down(summary.left.as_ref()?.lower(), DIGITS);
    if let Some(order) = summary.cap.as_ref().and_then(Cap::order) {
        // Named once, beside what was spent.
        return Some(format!("{left} left under its cap at that order ({order})"));
    }
    Some(match summary.left_delta {
        Some(delta) => format!("{left} left under its cap, and delta {} for claims", decimal_down(delta, DIGITS)),
        None => format!("{left} left under its cap, which bounds no delta"),
    })
}

/// Seconds since 1970 as a date and a time of day.
///
/// # Reference
/// Hinnant 2021, "chrono-compatible low-level date algorithms", `civil_from_days`.
pub(crate) fn utc(seconds: u64) -> String {
    let (days, time) = (seconds / DAY + 719_468, seconds % DAY);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // Years begin in March here, so that the day that is sometimes there is the last.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let year = year + 400 * era;
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", time / 3600, time / 60 % 60, time % 60)
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn seconds_are_dates() {
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (951_868_800, "2000-03-01 00:00:00"),
            (1_735_689_599, "2024-12-31 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(utc(seconds), date);
        }
    }
}
