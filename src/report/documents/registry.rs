//! An entry of the registry of deployments of differential privacy.

use serde_json::{Map, Value, json};

use super::about::About;
use super::besides::{cost_of_the_schema, outside_the_guarantee};
use super::yaml::yaml;
use crate::error::{Error, Fallible};
use crate::privacy::{Adjacency, PrivacyUnit};
use crate::train::ModelFile;

/// What a text says where nothing was told.
const UNTOLD: &str = "Not stated by the curator";

/// The entry as YAML, of the registry's schema of July 2026: all fields of its three tiers, status `Draft`.
///
/// # Errors
/// When the statement gives no guarantee.
pub(super) fn entry(model: &ModelFile, about: &About) -> Fallible<String> {
    Ok(yaml(&fields(model, about)?))
}

fn fields(model: &ModelFile, about: &About) -> Fallible<Value> {
    let statement = &model.statement;
    if !statement.dp {
        return Err(Error::refused(
            format!("a registry holds guarantees, and this model has none: {}", statement.reasons_not_dp.join("; ")),
            "train without a seed, with a schema that was not read off the rows",
        ));
    }
    let (facts, guarantee) = (&statement.facts, &statement.guarantee);
    let told = |text: &str| if text.trim().is_empty() { UNTOLD.to_owned() } else { text.trim().to_owned() };
    let number = |text: &str| match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Value::from(number)),
        _ => {
            Err(Error::refused(format!("the guarantee has no finite number: {text}"), "train within a smaller budget"))
        }
    };
    let mut parameters = Map::new();
    parameters.insert("epsilon".into(), number(&guarantee.epsilon)?);
    parameters.insert("delta".into(), number(&guarantee.delta)?);
    // Where rho alone does not say what the runs cost, it stays out.
    if guarantee.approximate_delta.is_none() {
        parameters.insert("rho".into(), number(&guarantee.rho_upper)?);
    }
    let change = match (facts.adjacency, &facts.unit) {
        (Adjacency::AddRemove, PrivacyUnit::Row) => "one holds one row more than the other",
        (Adjacency::ReplaceOne, PrivacyUnit::Row) => "they have equally many rows and differ in one of them",
        (Adjacency::AddRemove, PrivacyUnit::Person { .. }) => "one holds all rows of one person more than the other",
        (Adjacency::ReplaceOne, PrivacyUnit::Person { .. }) => {
            "all rows of one person stand in the place of all rows of another"
        }
        (_, PrivacyUnit::Label) => "they have the same rows but for the label of one of them",
        (_, PrivacyUnit::PrivateCells { .. }) => "they have the same rows but for the private cells of one of them",
    };
    let mu = guarantee.gaussian_mu.as_ref().map_or(String::new(), |mu| format!("{mu}-Gaussian DP; "));
    let mut unprotected = outside_the_guarantee(statement);
    if !about.also_published.trim().is_empty() {
        unprotected.push_str(&format!(" Besides: {}", about.also_published.trim()));
    }
    let releases = statement.scope.data_accesses.iter().map(|access| {
        let rho = access.rho_upper.as_ref().map_or(String::new(), |rho| format!(", rho {rho}"));
        format!("{} x {} (noise multiplier {}{rho})", access.count, access.what, access.noise_multiplier)
    });
    let ledger = match &facts.ledger {
        Some(_) => "Each run is charged to a ledger before noise is drawn; a cap refuses what would exceed it",
        None => "No durable ledger recorded the run",
    };
    let mut basic = json!({
        "name": about.name,
        "data_curators": about.curators,
        "intended_use": about.intended_use,
        "data_product_type": "Machine learning model",
        "data_product_region": about.region,
        "description": match about.description.trim() {
            "" => format!("{} with {} coefficients", facts.model.words(), facts.dimension),
            text => text.to_owned(),
        },
        "publication_date": about.published,
    });
    if let Some(sector) = &about.sector {
        basic["data_product_sector"] = json!(sector);
    }
    Ok(json!({
        "url_slug": slug(about),
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": basic,
            "dp_variant": {
                "variant_name": if guarantee.approximate_delta.is_none() { "Zero-concentrated DP" } else { "Approximate DP" },
                "data_domain": told(&about.data_domain),
                "unprotected_quantities": unprotected,
            },
            "privacy_loss": {
                "privacy_unit": match facts.unit {
                    PrivacyUnit::Row => "Row of the table",
                    PrivacyUnit::Person { .. } => "Person, with all rows",
                    PrivacyUnit::Label => "Label of a row; features are public",
                    PrivacyUnit::PrivateCells { .. } => "Private cells of a row; some columns are public",
                },
                "privacy_unit_details": format!("Two tables are adjacent if {change} ({}, unit: {}). {}", facts.adjacency, facts.unit, statement.limits.first().map_or("", String::as_str)),
                "privacy_parameters": parameters,
                "privacy_parameters_details": format!("{mu}{}{}", guarantee.conversion, cost_of_the_schema(statement)),
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": "The curator holds the rows and runs the trainer on a machine of their own",
                "actors": format!("{}. {}", statement.limits.iter().find(|limit| limit.starts_with("trusted are")).cloned().unwrap_or_else(|| UNTOLD.into()), told(&about.access_control)),
                "release_type": "One release",
                "release_type_details": told(&about.further_releases),
                "data_source_type": "Static",
                "data_source_type_details": format!("The table called \"{}\", as it was when the run was made", facts.dataset),
                "access_type": "Non-interactive",
                "access_type_details": format!("Model, log and statement are published: {}", statement.setting.released.join(", ")),
            },
            "accounting": {
                "post_processing": match &model.reshaped {
                    Some(reshaped) => format!("Shapes were edited after release: {}", reshaped.words()),
                    None => "Coefficients, intervals and predictions are functions of what was released".into(),
                },
                "composition": format!("{}. {ledger}", releases.collect::<Vec<_>>().join("; ")),
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": format!(
                    "Preprocessing {}. Other runs and choices: {}. Private evaluation: {}",
                    statement.scope.preprocessing, statement.scope.hyperparameter_search, statement.scope.evaluation_on_private_data
                ),
                "mechanisms": format!(
                    "{} by {}: {}, {}. rhograd {}. {}: no floating-point number decides a sensitivity. Random numbers: {}. Timing and memory of \
                     the training host are out of scope",
                    facts.algorithm.name(), statement.mechanism.sampling, statement.mechanism.name, statement.mechanism.norm, facts.version,
                    statement.mechanism.arithmetic, statement.mechanism.rng
                ),
                "justification": told(&about.justification),
            },
            "administrative": {
                "sources": match about.sources.is_empty() {
                    true => format!("SHA-256 of the log of the run: {}", model.log_sha256),
                    false => about.sources.iter().map(|source| format!("- {source}\n")).collect(),
                },
                "notes": format!("{} Limits: {}.", statement.statement, statement.limits.join("; ")),
                "registry_authors": about.authors,
            },
        },
    }))
}

/// A name for an address: letters and digits, with hyphens between words.
fn slug(about: &About) -> String {
    let year = about.published.split('-').next().unwrap_or_default();
    let curator = about.curators.first().map_or("", String::as_str);
    let text = format!("{} {curator} {year}", about.name).to_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn golden(name: &str) -> ModelFile {
        let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/runs");
        ModelFile::read(&home.join(name)).unwrap()
    }

    fn schema() -> Value {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/registry-schema.json");
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    }

    /// What of a value does not fit a schema, of the few words that the registry's has.
    fn misfit(value: &Value, schema: &Value, at: &str) -> Option<String> {
        let types = match &schema["type"] {
            Value::Array(types) => types.clone(),
            Value::Null => Vec::new(),
            one => vec![one.clone()],
        };
        let fits = |name: &Value| match name.as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("number") => value.is_number(),
            Some("integer") => value.is_u64() || value.is_i64(),
            _ => panic!("{name}"),
        };
        if !types.is_empty() && !types.iter().any(fits) {
            return Some(format!("{at} is of another type"));
        }
        if schema["enum"].as_array().is_some_and(|known| !known.contains(value)) {
            return Some(format!("{at} is none of the enumeration"));
        }
        if let Some(name) =
            schema["required"].as_array().into_iter().flatten().find(|name| value.get(name.as_str().unwrap()).is_none())
        {
            return Some(format!("{at} lacks {name}"));
        }
        if let (Some(items), least) = (value.as_array(), schema["minItems"].as_u64().unwrap_or(0)) {
            let each = items.iter().find_map(|item| misfit(item, &schema["items"], at));
            return each.or((items.len() as u64).lt(&least).then(|| format!("{at} has too few items")));
        }
        let fields = value.as_object().into_iter().flatten();
        fields.into_iter().find_map(|(name, field)| match schema["properties"].get(name) {
            None => Some(format!("{at}.{name} is unknown")),
            Some(schema) => misfit(field, schema, &format!("{at}.{name}")),
        })
    }

    /// Every field that the schema has, with its tier.
    fn leaves(schema: &Value, at: &str, found: &mut Vec<String>) {
        match schema["properties"].as_object() {
            None => found.push(at.to_owned()),
            Some(fields) => fields.iter().for_each(|(name, field)| leaves(field, &format!("{at}/{name}"), found)),
        }
    }

    #[test]
    fn an_entry_is_valid_and_has_every_field_of_the_highest_tier() {
        let about = About::parse(&About::template(), Path::new("about.json")).unwrap();
        let mut fields_of_schema = Vec::new();
        leaves(&schema(), "", &mut fields_of_schema);
        assert!(fields_of_schema.len() > 30);
        for name in ["dp-gd", "dp-sgd", "objective-perturbation", "amp", "tuned", "held-out-replace-one", "discrete"] {
            let entry = fields(&golden(&format!("first/{name}.model.json")), &about).unwrap();
            assert_eq!(misfit(&entry, &schema(), ""), None, "{name}");
            for field in &fields_of_schema {
                // rho is no cost of what is claimed by other notions.
                let text = entry.pointer(field);
                assert!(
                    text.is_some_and(|text| text.as_str() != Some("")) || field.ends_with("/rho"),
                    "{name}: {field}"
                );
            }
        }
        // The check itself finds what is wrong.
        let entry = fields(&golden("first/dp-gd.model.json"), &about).unwrap();
        for (pointer, wrong) in [
            ("/tier", json!(4)),
            ("/status", json!("Done")),
            ("/deployment/basic/name", json!(1)),
            ("/deployment/basic/data_curators", json!([])),
            ("/deployment/privacy_loss/privacy_parameters/epsilon", json!("1")),
        ] {
            let mut edited = entry.clone();
            *edited.pointer_mut(pointer).unwrap() = wrong;
            assert!(misfit(&edited, &schema(), "").is_some(), "{pointer}");
        }
        let mut edited = entry;
        edited["surprise"] = json!(1);
        assert!(misfit(&edited, &schema(), "").is_some());
    }

    #[test]
    fn a_schema_from_the_rows_is_not_called_public() {
        let about = About::parse(&About::template(), Path::new("about.json")).unwrap();
        let said = |model: &ModelFile| fields(model, &about).unwrap().to_string();
        let mut model = golden("first/dp-gd.model.json");
        assert!(said(&model).contains("set without looking at the rows"));
        model.statement.facts.released_schema = Some(crate::data::SchemaRelease {
            statement: "drafted".into(),
            adjacency: Adjacency::AddRemove,
            unit: crate::privacy::PrivacyUnit::Row,
            rho: "0.01".into(),
            approximate_delta: "1e-9".into(),
            epsilon: "0.5".into(),
            delta: "1e-6".into(),
            ledger: Vec::new(),
        });
        let found = said(&model);
        assert!(!found.contains("set without looking at the rows"), "{found}");
        assert!(found.contains("which these parameters do not hold: epsilon 0.5 at delta 1e-6"), "{found}");
        // Under replace-one the number of rows is public.
        assert!(said(&golden("first/held-out-replace-one.model.json")).contains("the number of rows"));
    }

    #[test]
    fn what_is_not_private_has_no_entry() {
        let about = About::parse(&About::template(), Path::new("about.json")).unwrap();
        let refused = entry(&golden("first/seeded.model.json"), &about).unwrap_err().to_string();
        assert!(refused.contains("a registry holds guarantees"), "{refused}");
    }

    #[test]
    fn an_address_has_letters_digits_and_hyphens() {
        let about = About {
            name: "Affairs: a model!".into(),
            curators: vec!["A. Custodian".into()],
            published: "2026-11-25".into(),
            ..About::default()
        };
        assert_eq!(slug(&about), "affairs-a-model-a-custodian-2026");
        assert_eq!(slug(&About::default()), "");
    }
}
