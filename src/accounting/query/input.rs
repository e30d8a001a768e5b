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

/// Reads questions from a JSON document with a list `points`, or from JSON lines.
///
/// A question is an object `{"id", "query", "params"}`; other keys beside these are ignored, so that a table
/// of expected answers can be asked as it is. An id may be left out and is then null.
///
/// # Errors
/// When the text is neither, naming the line or the point.
///
/// ```
/// use rhograd::accounting::query;
/// let text = r#"{"id": 1, "query": "pure_dp_to_zcdp", "params": {"epsilon": 1.0}}"#;
/// let queries = query::read_queries(text).unwrap();
/// assert!(query::answer_line(&queries[0]).starts_with(r#"{"id":1,"answer":{"#));
/// ```
pub fn read_queries(text: &str) -> Fallible<Vec<Query>> {
    if let Ok(Value::Object(document)) = serde_json::from_str(text)
        && let Some(points) = document.get("points")
    {
        let wrong = || Error::parameter("points", "is not a list", "use a list of questions");
        let points = points.as_array().ok_or_else(wrong)?;
        return points.iter().enumerate().map(|(i, point)| read_one(point, i + 1, "point")).collect();
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(i, line)| {
            let value = serde_json::from_str(line).map_err(|error| {
                Error::parameter(format!("line {}", i + 1), format!("is not JSON ({error})"), "use one object per line")
            })?;
            read_one(&value, i + 1, "line")
        })
        .collect()
}

fn read_one(value: &Value, number: usize, what: &str) -> Fallible<Query> {
    let wrong =
        |problem: &str| Error::parameter(format!("{what} {number}"), problem, "use {\"id\", \"query\", \"params\"}");
    let object: &Map<String, Value> = value.as_object().ok_or_else(|| wrong("is not an object"))?;
    let query = object.get("query").and_then(Value::as_str).ok_or_else(|| wrong("has no text \"query\""))?;
    let params = object.get("params").ok_or_else(|| wrong("has no \"params\""))?;
    let id = object.get("id").cloned().unwrap_or(Value::Null);
    Ok(Query { id, query: query.to_owned(), params: params.clone() })
}

/// The answer to one question as one line of JSON.
///
/// `{"id": ..., "answer": {...}}`, or `{"id": ..., "error": "..."}` when there is none.
pub fn answer_line(query: &Query) -> String {
    let mut line = Map::new();
    line.insert("id".into(), query.id.clone());
    match answer(&query.query, &query.params) {
        Ok(map) => line.insert("answer".into(), Value::Object(map)),
        Err(error) => line.insert("error".into(), error.to_string().into()),
    };
    Value::Object(line).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let line = r#"{"id":"a","query":"pure_dp_to_zcdp","params":{"epsilon":1.0}}"#;
        let lines = read_queries(&format!("{line}\n\n{line}\n")).unwrap();
        let document = format!(r#"{{"points":[{}]}}"#, line.replace("}}", r#"},"expected":{"x":1}}"#));
        assert_eq!(lines[0], read_queries(&document).unwrap()[0]);
        assert_eq!(lines.len(), 2);
        assert!(read_queries(r#"{"query":"x","parameters":{}}"#).is_err());
        assert!(read_queries("not json").is_err() && read_queries(r#"{"points":3}"#).is_err());
        assert!(read_queries("").unwrap().is_empty());
    }

    #[test]
    fn errors_name_the_parameter() {
        let ask = |params: &str| {
            let params = serde_json::from_str(params).unwrap();
            answer_line(&Query { id: 7.into(), query: "pure_dp_to_zcdp".into(), params })
        };
        assert!(ask("{}").contains("epsilon: is missing"));
        assert!(ask(r#"{"epsilon":1,"rho":2}"#).contains("rho: is not a parameter here"));
        assert!(ask(r#"{"epsilon":"x"}"#).starts_with(r#"{"id":7,"error":"#));
        let unknown = Query { id: Value::Null, query: "?".into(), params: Value::Null };
        assert!(answer_line(&unknown).contains("there is no"));
    }
}
