//! Reading questions and writing answers, one JSON object each.

use serde_json::{Map, Value};

use super::answer;
use crate::error::{Error, Fallible};

/// One question.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// The asker's name for it, repeated in the answer.
    pub id: Value,
    /// One of [`QUERIES`](super::QUERIES).
    pub query: String,
    /// Its parameters.
    pub params: Value,
}

/// What stands where a question should be.
#[derive(Debug)]
pub struct Malformed {
    /// The asker's name for it where that much can be read, else null.
    pub id: Value,
    /// `line` or `point`.
    pub place: &'static str,
    /// Which one, counted from 1.
    pub number: usize,
    /// What is wrong, with the cure.
    pub error: Error,
}

/// Reads questions from JSON lines, or from one JSON document that is a question or has a list `points` of them.
///
/// A question is an object `{"id", "query", "params"}`; other keys beside these are ignored, so that a table
/// of expected answers can be asked as it is. An id may be left out and is then null. What is no question is
/// reported in its place, and the others are read all the same.
///
/// # Errors
/// When `points` is not a list.
///
/// ```
/// use rhograd::calculator;
/// let text = r#"{"id": 1, "query": "pure_dp_to_zcdp", "params": {"epsilon": 1.0}}
/// and then?"#;
/// let lines: Vec<String> = calculator::read_queries(text).unwrap().iter().map(calculator::answer_line).collect();
/// assert!(lines[0].starts_with(r#"{"id":1,"answer":{"#));
/// assert!(lines[1].starts_with(r#"{"id":null,"line":2,"error":"line 2: is not JSON"#));
/// ```
pub fn read_queries(text: &str) -> Fallible<Vec<Result<Query, Malformed>>> {
    if let Ok(document) = serde_json::from_str::<Value>(text) {
        let Some(points) = document.get("points") else {
            return Ok(vec![read_one(&document, "line", 1)]);
        };
        let wrong = || Error::parameter("points", "is not a list", "use a list of questions");
        let points = points.as_array().ok_or_else(wrong)?;
        return Ok(points.iter().enumerate().map(|(i, point)| read_one(point, "point", i + 1)).collect());
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    Ok(lines.map(|(i, line)| read_line(line, i + 1)).collect())
}

fn read_line(line: &str, number: usize) -> Result<Query, Malformed> {
    let value = serde_json::from_str(line).map_err(|error| {
        let error =
            Error::parameter(format!("line {number}"), format!("is not JSON ({error})"), "use one object per line");
        Malformed { id: Value::Null, place: "line", number, error }
    })?;
    read_one(&value, "line", number)
}

fn read_one(value: &Value, place: &'static str, number: usize) -> Result<Query, Malformed> {
    let id = value.get("id").cloned().unwrap_or(Value::Null);
    let wrong = |problem: &str| {
        let error = Error::parameter(format!("{place} {number}"), problem, "use {\"id\", \"query\", \"params\"}");
        Malformed { id: id.clone(), place, number, error }
    };
    let object: &Map<String, Value> = value.as_object().ok_or_else(|| wrong("is not an object"))?;
    let query = object.get("query").and_then(Value::as_str).ok_or_else(|| wrong("has no text \"query\""))?;
    let params = object.get("params").ok_or_else(|| wrong("has no \"params\""))?;
    Ok(Query { query: query.to_owned(), params: params.clone(), id })
}

/// The answer to one question as one line of JSON.
///
/// `{"id": ..., "answer": {...}}`, or `{"id": ..., "error": "..."}` when there is none, or
/// `{"id": ..., "line": N, "error": "..."}` (or `"point"`) for what is no question.
pub fn answer_line(question: &Result<Query, Malformed>) -> String {
    let mut line = Map::new();
    let answered = match question {
        Ok(query) => {
            line.insert("id".into(), query.id.clone());
            answer(&query.query, &query.params).map_err(|error| error.to_string())
        }
        Err(malformed) => {
            line.insert("id".into(), malformed.id.clone());
            line.insert(malformed.place.into(), malformed.number.into());
            Err(malformed.error.to_string())
        }
    };
    match answered {
        Ok(map) => line.insert("answer".into(), Value::Object(map)),
        Err(error) => line.insert("error".into(), error.into()),
    };
    Value::Object(line).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_read() {
        let line = r#"{"id":"a","query":"pure_dp_to_zcdp","params":{"epsilon":1.0}}"#;
        let read = |text: &str| -> Vec<Query> { read_queries(text).unwrap().into_iter().map(Result::unwrap).collect() };
        let lines = read(&format!("{line}\n\n{line}\n"));
        let document = format!(r#"{{"points":[{}]}}"#, line.replace("}}", r#"},"expected":{"x":1}}"#));
        assert_eq!(lines[0], read(&document)[0]);
        assert_eq!(lines.len(), 2);
        assert_eq!(read(&line.replace(',', ",\n")), lines[..1]);
        assert!(read("").is_empty() && read_queries(r#"{"points":3}"#).is_err());
    }

    #[test]
    fn what_is_no_question_is_reported_in_its_place() {
        let text = r#"{"query":"x","parameters":{}}
nonsense

{"id":"b","params":{}}
[1]
{"id":"c","query":"pure_dp_to_zcdp","params":{"epsilon":1.0}}"#;
        let lines: Vec<Value> =
            read_queries(text).unwrap().iter().map(|it| serde_json::from_str(&answer_line(it)).unwrap()).collect();
        let numbers: Vec<_> = lines.iter().map(|line| line["line"].as_u64()).collect();
        assert_eq!(numbers, [Some(1), Some(2), Some(4), Some(5), None]);
        assert!(lines[..4].iter().all(|line| line["error"].is_string()) && lines[4]["answer"].is_object());
        assert_eq!([&lines[2]["id"], &lines[4]["id"]], ["b", "c"]);
        let point = answer_line(&read_queries(r#"{"points":[{"id":9}]}"#).unwrap()[0]);
        assert!(point.starts_with(r#"{"id":9,"point":1,"error":"point 1: has no"#), "{point}");
    }

    #[test]
    fn errors_name_the_parameter() {
        let ask = |params: &str| {
            let params = serde_json::from_str(params).unwrap();
            answer_line(&Ok(Query { id: 7.into(), query: "pure_dp_to_zcdp".into(), params }))
        };
        assert!(ask("{}").contains("epsilon: is missing"));
        assert!(ask(r#"{"epsilon":1,"rho":2}"#).contains("rho: is not a parameter here"));
        assert!(ask(r#"{"epsilon":"x"}"#).starts_with(r#"{"id":7,"error":"#));
        let unknown = Ok(Query { id: Value::Null, query: "?".into(), params: Value::Null });
        assert!(answer_line(&unknown).contains("there is no"));
    }
}
