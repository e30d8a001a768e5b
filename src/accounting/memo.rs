//! Answers that are asked for again: a plan, its charge, its statement and the next run of the same request ask the same question.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::error::Fallible;

/// Answers that are kept; all are forgotten when there are more.
const MOST: usize = 512;
/// The longest question whose answer is kept.
const LONGEST: usize = 1 << 15;

/// Numbers by the question that they answer, which says everything that they follow from.
///
/// # Privacy
/// Questions are public parameters, and an answer is the one that would be computed, bit by bit.
#[derive(Default)]
pub(super) struct Memo(Mutex<Option<HashMap<String, f64>>>);

impl Memo {
    /// No answers yet.
    pub(super) const fn new() -> Self {
        Memo(Mutex::new(None))
    }

    /// The answer to a question, computed where it is not known.
    ///
    /// # Errors
    /// Those of the computation, which are not kept.
    pub(super) fn answer(&self, question: String, compute: impl FnOnce() -> Fallible<f64>) -> Fallible<f64> {
        if question.len() > LONGEST {
            return compute();
        }
        // What a panic left behind is whole: answers are stored in one step, and nothing is computed under the lock.
        let known =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|it| it.get(&question).copied());
        if let Some(known) = known {
            return Ok(known);
        }
        let answer = compute()?;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(HashMap::new);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(question, answer);
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_question_is_computed_once_and_an_error_again() {
        let memo = Memo::new();
        let wrong = || memo.answer("a".into(), || Err(Error::numerical("a", "failed"))).is_err();
        assert!(wrong() && wrong());
        assert_eq!(memo.answer("a".into(), || Ok(1.5)).unwrap(), 1.5);
        assert_eq!(memo.answer("a".into(), || panic!("it is known")).unwrap(), 1.5);
        assert_eq!(memo.answer("b".into(), || Ok(2.0)).unwrap(), 2.0);
        // Neither many questions nor a long one fill the memory.
        for i in 0..3 * MOST {
            assert_eq!(memo.answer(format!("{i}"), || Ok(i as f64)).unwrap(), i as f64);
            assert!(memo.0.lock().unwrap().as_ref().unwrap().len() <= MOST);
        }
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(memo.answer(long.clone(), || Ok(1.0)).unwrap(), 1.0);
        assert_eq!(memo.answer(long, || Ok(2.0)).unwrap(), 2.0);
    }
}
