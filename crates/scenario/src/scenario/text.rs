//! Texts of scenarios: TOML and JSON are one tree of values, which is read once, and written from.

use super::plain::plain;
use crate::ScenarioError;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};
use serde_path_to_error::{Path, Segment};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads TOML. The error names the path and shows the line.
pub(super) fn read_toml<T: DeserializeOwned>(text: &str) -> Result<T, ScenarioError> {
    let parsed = DeTable::parse(text)
        .map_err(|error| ScenarioError::new("", plain(error.to_string().trim_end())))?;
    let value = table("", parsed.get_ref())?;
    read(value).map_err(|(path, message)| {
        let span = span_of(&parsed, &path, message.starts_with("unknown field"));
        error_at(&path, &shown(text, span, &message))
    })
}

/// Reads JSON. The error names the path.
pub(super) fn read_json<T: DeserializeOwned>(text: &str) -> Result<T, ScenarioError> {
    let value = serde_json::from_str(text).map_err(|error| ScenarioError::new("", error))?;
    read_value(value)
}

/// Reads a tree of values. The error names the path.
pub(super) fn read_value<T: DeserializeOwned>(value: Value) -> Result<T, ScenarioError> {
    read(value).map_err(|(path, message)| error_at(&path, &message))
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, (Path, String)> {
    serde_path_to_error::deserialize(value)
        .map_err(|error| (error.path().clone(), error.inner().to_string()))
}

fn error_at(path: &Path, message: &str) -> ScenarioError {
    let place = path.to_string();
    ScenarioError::new(if place == "." { String::new() } else { place }, plain(message))
}

/// A table at `place` as a tree. Fails with a number that is not finite, or too large.
fn table(place: &str, fields: &DeTable) -> Result<Value, ScenarioError> {
    let fields = fields.iter().map(|(name, field)| {
        let name: &str = name.get_ref();
        let place = if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        Ok((name.to_owned(), tree(&place, field.get_ref())?))
    });
    Ok(Value::Object(fields.collect::<Result<Map<_, _>, _>>()?))
}

fn tree(place: &str, value: &DeValue) -> Result<Value, ScenarioError> {
    let wrong = |number: &str| {
        let message = format!("{number} is not a number to count with; leave it out");
        ScenarioError::new(place, message)
    };
    Ok(match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            let read = i64::from_str_radix(number.as_str(), number.radix());
            Value::Number(read.map_err(|_| wrong(number.as_str()))?.into())
        }
        DeValue::Float(number) => {
            let read = number.as_str().parse().ok().and_then(Number::from_f64);
            Value::Number(read.ok_or_else(|| wrong(number.as_str()))?)
        }
        DeValue::Boolean(switch) => Value::Bool(*switch),
        DeValue::Datetime(date) => Value::String(date.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().enumerate();
            let items = items.map(|(n, item)| tree(&format!("{place}[{n}]"), item.get_ref()));
            Value::Array(items.collect::<Result<Vec<_>, _>>()?)
        }
        DeValue::Table(fields) => table(place, fields)?,
    })
}

/// Where in the text is what `path` leads to, or the last on the way that is there; `key` for the
/// name of a field in place of its value.
fn span_of(parsed: &Spanned<DeTable>, path: &Path, key: bool) -> Range<usize> {
    let mut span = parsed.span();
    let mut fields = Some(parsed.get_ref());
    let mut items = None;
    for segment in path {
        let next = match segment {
            Segment::Map { key: name } => {
                let found = fields.and_then(|fields| fields.get_key_value(name.as_str()));
                found.map(|(name, value)| (if key { name.span() } else { value.span() }, value))
            }
            Segment::Seq { index } => {
                let items: Option<&toml::de::DeArray> = items;
                items.and_then(|it| it.get(*index)).map(|value| (value.span(), value))
            }
            _ => None,
        };
        let Some((at, value)) = next else { return span };
        span = at;
        (fields, items) = (value.get_ref().as_table(), value.get_ref().as_array());
    }
    span
}

/// `message` under the line of `text` that `span` begins in, as TOML's own errors are shown.
fn shown(text: &str, span: Range<usize>, message: &str) -> String {
    let begin = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    let number = text[..begin].matches('\n').count() + 1;
    let column = text[begin..span.start].chars().count();
    let marked = text[span.start..span.end.min(begin + line.len()).max(span.start)].chars().count();
    let gutter = " ".repeat(number.to_string().len());
    let (before, marks) = (" ".repeat(column), "^".repeat(marked.max(1)));
    format!(
        "TOML parse error at line {number}, column {}\n{gutter} |\n{number} | {line}\n{gutter} | \
         {before}{marks}\n{message}",
        column + 1
    )
}
