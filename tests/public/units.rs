//! What statements say of persons, and what the same release means for groups, attributes and attackers with a belief.

use std::path::Path;

use rhograd::accounting::notion::ApproximateDp;
use rhograd::accounting::{gaussian, pld};
use rhograd::data::{Cells, CsvFile, Estimand, Numbers, Schema, SchemaBuilder, Table, Unit};
use rhograd::ledger::{ExactRho, Ledger, Record};
use rhograd::noise::NoiseSource;
use rhograd::optim::{Problem, Settings};
use rhograd::preprocess::{PersonSizes, Survey, TableEncoder, person_places};
use rhograd::privacy::{Adjacency, Delta, DpEvent, Epsilon, NoiseLaw, PrivacyUnit, Scope};
use rhograd::statement::{Facts, LedgerFacts, Statement, WhatIf};
use rhograd::train::{
    Algorithm, Budget, Evidence, ModelFile, TrainConfig, check_parts, check_table, load, load_with, train, verify,
};
use statrs::function::erf::erfc;

fn config(epsilon: f64) -> TrainConfig {
    let delta = Delta::new(1e-6).unwrap();
    let settings = Settings { steps: Some(5), ..Settings::default() };
    TrainConfig { settings, ..TrainConfig::new(Budget::Epsilon(Epsilon::new(epsilon).unwrap(), Some(delta))) }
}

fn model(config: &TrainConfig, ledger: &mut Ledger, noise: NoiseSource) -> ModelFile {
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
    let schema = Schema::read(&datasets.join("fair.schema.json")).unwrap();
    let file = CsvFile::open(&datasets.join("fair.csv")).unwrap();
    let loaded = load(config, schema, &file, &|_, _| Ok(())).unwrap();
    train(loaded, ledger, noise, &mut |_| Ok(())).unwrap().0.model
}

fn statement(config: &TrainConfig) -> Statement {
    model(config, &mut Ledger::in_memory().unwrap(), NoiseSource::from_os().unwrap()).statement
}

/// The same facts about persons.
fn of_persons(facts: &Facts) -> Facts {
    Facts { unit: PrivacyUnit::person("patient").unwrap(), ..facts.clone() }
}

fn number(text: &Option<String>) -> f64 {
    text.as_ref().unwrap().parse().unwrap()
}

fn epsilon_of(statement: &Statement, question: &str) -> f64 {
    number(&statement.what_if(question.parse().unwrap()).unwrap().epsilon)
}

#[test]
fn a_statement_about_persons_names_them_everywhere() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let config = TrainConfig { adjacency, evaluate_budget: Some(0.1), ..config(1.0) };
        let row = statement(&config);
        let person = Statement::new(of_persons(&row.facts)).unwrap();
        let change = match adjacency {
            Adjacency::AddRemove => "adding or removing all rows of one person (column \"patient\").",
            Adjacency::ReplaceOne => "replacing all rows of one person (column \"patient\") by any rows of another.",
        };
        assert!(person.statement.ends_with(change), "{}", person.statement);
        assert_eq!(person.definition.unit, "person (all rows with the same \"patient\")");
        assert_eq!((row.definition.unit.as_str(), person.definition.row_count_is_public), ("row", false));
        assert_eq!(row.definition.row_count_is_public, adjacency == Adjacency::ReplaceOne);
        assert!(person.setting.adversary.contains("knows all rows of everybody else"));
        assert!(person.scope.evaluation_on_private_data.contains("persons held out"));
        assert!(person.in_plain_words().unwrap().contains("any single person"));
        let limits = person.limits.join("\n");
        assert!(limits.contains("somebody with two identifiers is two persons"), "{limits}");
        assert!(limits.contains("weighs persons and not rows") && limits.contains("only if all rows of theirs"));
        assert!(limits.contains("the number of persons and the settings were not chosen"), "{limits}");
        assert_eq!(limits.contains("the number of persons is public"), adjacency == Adjacency::ReplaceOne);
        assert!(row.limits[0] == "protects rows, not persons with several rows" && !limits.contains("protects rows"));
        // The same numbers: what is bounded is another thing.
        assert_eq!(person.guarantee, row.guarantee);
        // Files about rows are as they were, and versions that knew rows alone stated nothing about persons.
        let text = |statement: &Statement| serde_json::to_string(&statement.facts).unwrap();
        assert!(!text(&row).contains("\"unit\":\"row\"") && !text(&row).contains("person"));
        assert!(text(&person).contains(r#""unit":{"person":{"column":"patient"}}"#));
        let back: Facts = serde_json::from_str(&text(&person)).unwrap();
        assert_eq!(back, person.facts);
        assert!(!row.earlier().unwrap().is_empty());
        assert!(person.earlier().unwrap().is_empty());
    }
}

#[test]
fn a_sample_of_persons_is_called_so_and_persons_have_a_column() {
    let facts = statement(&TrainConfig { algorithm: Algorithm::DpSgd, ..config(1.0) }).facts;
    let person = Statement::new(of_persons(&facts)).unwrap();
    assert!(person.mechanism.sampling.starts_with("Poisson of persons, each with all rows, rate at most "));
    let nameless = Facts { unit: PrivacyUnit::Person { column: " ".into() }, ..facts };
    assert!(Statement::new(nameless).unwrap_err().to_string().contains("told apart by no column"));
    let rows = statement(&TrainConfig { algorithm: Algorithm::ObjectivePerturbation, ..config(1.0) });
    let refused = Statement::new(of_persons(&rows.facts)).unwrap_err().to_string();
    assert!(refused.contains("no proof for persons"), "{refused}");
}

/// A model whose statement is about the unit, with what a ledger says that charged it for another.
fn forged(model: &ModelFile, unit: &PrivacyUnit, charged: &PrivacyUnit, ledger: &mut Ledger) -> (ModelFile, String) {
    let facts = &model.statement.facts;
    let dataset = rhograd::privacy::DatasetId::new(facts.dataset.clone()).unwrap();
    let scope = Scope { dataset, adjacency: facts.adjacency, unit: charged.clone() };
    let paid = ledger.reserve(&scope, &facts.charges(), true).unwrap();
    let spent = ledger.summary(&scope.dataset).unwrap();
    let stated = LedgerFacts {
        position: paid.position().unwrap().clone(),
        run: paid.run().into(),
        cap_rho: None,
        cap: None,
        spent_after: ExactRho::new(&spent.spent).unwrap(),
        spent_delta_after: Some(spent.spent_delta),
        spent_at_order_after: None,
        runs_before_cap: None,
        cap_raised: 0,
    };
    let facts = Facts { unit: unit.clone(), ledger: Some(stated), ..facts.clone() };
    let mut model = ModelFile { statement: Statement::new(facts).unwrap(), ..model.clone() };
    model.digest = model.expected_digest();
    let text = model.to_json();
    (model, text)
}

#[test]
fn a_model_is_refused_whose_unit_is_not_that_of_its_charge() {
    let model = model(&config(1.0), &mut Ledger::in_memory().unwrap(), NoiseSource::from_os().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let units = [PrivacyUnit::Row, PrivacyUnit::person("patient").unwrap(), PrivacyUnit::person("household").unwrap()];
    for (i, charged) in units.iter().enumerate() {
        let mut ledger = Ledger::open_or_create(folder.path().join(format!("{i}.sqlite"))).unwrap();
        for unit in &units {
            let (model, text) = forged(&model, unit, charged, &mut ledger);
            let evidence = Evidence { ledger: Some(&mut ledger), ..Evidence::default() };
            let failed: Vec<String> = verify(&model, &text, evidence)
                .unwrap()
                .checks
                .into_iter()
                .filter_map(|check| (!check.held).then_some(check.what))
                .collect();
            // That the file is the one that was noted fails for all: no run wrote it.
            let about: Vec<&String> = failed.iter().filter(|what| !what.contains("noted")).collect();
            assert_eq!(about.is_empty(), unit == charged, "{unit} {charged}: {failed:?}");
            let named = format!("the entry counts by the {charged}, and the statement by the {unit}");
            assert_eq!(failed.contains(&named), unit != charged, "{failed:?}");
        }
        let entries = ledger.history().unwrap();
        assert!(
            entries.iter().all(|(entry, _)| matches!(&entry.record, Record::Reserve { unit, .. } if unit == charged))
        );
    }
}

/// Delta of a mu-Gaussian mechanism, by another implementation of the normal distribution.
fn delta_of(mu: f64, epsilon: f64) -> f64 {
    let tail = |x: f64| 0.5 * erfc(x / std::f64::consts::SQRT_2);
    tail(epsilon / mu - mu / 2.0) - epsilon.exp() * tail(epsilon / mu + mu / 2.0)
}

#[test]
fn a_group_of_k_has_k_times_the_mu() {
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let statement = statement(&TrainConfig { adjacency, ..config(1.0) });
        let mu = number(&statement.guarantee.gaussian_mu);
        let rho: f64 = statement.guarantee.rho_upper.parse().unwrap();
        for k in [2u32, 3, 5, 10] {
            let answer = statement.what_if(WhatIf::Group(u64::from(k))).unwrap();
            let (stated, group) = (number(&answer.epsilon), mu * f64::from(k));
            // Never below the truth, and no more than the digits that are printed above it.
            assert!(delta_of(group * (1.0 - 1e-6), stated) <= 1e-6 * (1.0 + 1e-9), "{k}: {stated}");
            assert!(delta_of(group, stated * (1.0 - 1e-5)) > 1e-6 * (1.0 - 1e-3), "{k}: {stated}");
            assert!((number(&answer.gaussian_mu) / group - 1.0).abs() < 1e-6);
            assert!((number(&answer.rho_upper) / (rho * f64::from(k * k)) - 1.0).abs() < 1e-6);
            assert_eq!((answer.steps, answer.delta.as_deref()), (Some(u64::from(k)), Some("1e-6")));
        }
        assert_eq!(epsilon_of(&statement, "group:1"), statement.guarantee.epsilon.parse::<f64>().unwrap());
        // Another value of one attribute is another row in the place of the old.
        let steps = if adjacency == Adjacency::AddRemove { "group:2" } else { "group:1" };
        assert_eq!(epsilon_of(&statement, "attribute"), epsilon_of(&statement, steps));
        let person = Statement::new(of_persons(&statement.facts)).unwrap();
        let words = person.what_if(WhatIf::Group(5)).unwrap().words;
        assert!(
            words.starts_with("For 5 persons together (") && words.contains("5 persons, each with all rows"),
            "{words}"
        );
        assert!(person.what_if(WhatIf::Attribute).unwrap().words.starts_with("For one attribute of a person ("));
    }
    let huge = statement(&config(8.0)).what_if(WhatIf::Group(1_000_000)).unwrap();
    assert!(number(&huge.epsilon) > 1e9 || huge.words.contains("nothing is guaranteed"), "{huge:?}");
}

#[test]
fn discrete_noise_gives_a_group_the_square_of_its_size_times_the_rho() {
    let statement = statement(&TrainConfig { noise: NoiseLaw::DiscreteGaussian, ..config(1.0) });
    let rho: f64 = statement.guarantee.rho_upper.parse().unwrap();
    for k in [2u32, 7] {
        let answer = statement.what_if(WhatIf::Group(u64::from(k))).unwrap();
        let group = rho * f64::from(k * k);
        // Canonne, Kamath and Steinke 2020, Proposition 12, at every order of a fine grid.
        let at =
            |alpha: f64| group * alpha + (1.0 / (1e-6 * alpha)).ln() / (alpha - 1.0) + ((alpha - 1.0) / alpha).ln();
        let best = (1..200_000).map(|i| at(1.0 + f64::from(i) * 2e-3)).fold(f64::INFINITY, f64::min);
        let stated = number(&answer.epsilon);
        assert!(stated <= best * (1.0 + 1e-5) && stated >= best * (1.0 - 1e-4), "{k}: {stated} {best}");
        assert!(answer.gaussian_mu.is_none());
    }
}

#[test]
fn a_group_of_a_claim_rests_on_a_smaller_delta() {
    let statement = statement(&TrainConfig { algorithm: Algorithm::DpSgd, ..config(1.0) });
    let answer = statement.what_if(WhatIf::Group(3)).unwrap();
    let (together, delta) = (number(&answer.epsilon), number(&answer.delta));
    assert!(together >= 3.0 * statement.guarantee.epsilon.parse::<f64>().unwrap() && together < 12.0, "{together}");
    assert!(delta <= 1e-6 && answer.rho_upper.is_none() && answer.gaussian_mu.is_none());
    // Three steps from neighbour to neighbour, each of a third of the epsilon at the delta that adds up to no more.
    let single = together / 3.0;
    let allowed = delta / ((3.0 * single).exp_m1() / single.exp_m1());
    let event = DpEvent::Composed {
        events: statement.facts.charges().iter().map(|charge| charge.event(statement.facts.adjacency)).collect(),
    };
    let known = pld::epsilon(&event, statement.facts.adjacency, Delta::new(allowed).unwrap(), 1e-4).unwrap();
    assert!(known.lower <= single && single <= known.upper * 1.05, "{single} {known:?}");
}

#[test]
fn beliefs_are_bounded_by_the_trade_off() {
    let statement = statement(&config(1.0));
    let epsilon: f64 = statement.guarantee.epsilon.parse().unwrap();
    let mu = number(&statement.guarantee.gaussian_mu);
    let mut before = 0.0;
    for prior in [0.001, 0.01, 0.2, 0.5, 0.9] {
        let answer = statement.what_if(WhatIf::Prior(prior)).unwrap();
        let (after, right) = (number(&answer.posterior_at_most), number(&answer.right_at_most));
        assert_eq!(answer.but_for_a_probability_of.as_deref(), Some("1e-6"));
        // More than pure privacy of this epsilon would allow, and not much more.
        let pure = prior * epsilon.exp() / (1.0 - prior + prior * epsilon.exp());
        assert!(after >= pure && after < 1.3 * pure && after > before, "{prior}: {after} {pure}");
        before = after;
        // Losses of the worst pair, normal with mean mu^2/2 and deviation mu, go further with at most the stated probability.
        let factor = (after / (1.0 - after) / (prior / (1.0 - prior))).ln();
        let beyond = 0.5 * erfc((factor - mu * mu / 2.0) / mu / std::f64::consts::SQRT_2);
        assert!(beyond <= 1e-6, "{prior}: {beyond}");
        // The best threshold between N(0, 1) and N(mu, 1), found by looking at many.
        let tail = |x: f64| 0.5 * erfc(x / std::f64::consts::SQRT_2);
        let guessed = |t: f64| prior * tail(t - mu) + (1.0 - prior) * tail(-t);
        let best = (-80_000..80_000).map(|i| guessed(f64::from(i) * 1e-3)).fold(0.0, f64::max);
        assert!(right >= best - 1e-9 && right <= best + 2e-7, "{prior}: {right} {best}");
    }
    let words = statement.what_if(WhatIf::Prior(0.01)).unwrap().words;
    assert!(
        words.contains("with a probability of 0.01") && words.contains("that some row is among the data"),
        "{words}"
    );
    assert!(words.ends_with("without the release it is in 99%."), "{words}");
    // The curve of one point is never below that of the exact trade-off.
    let point = rhograd::accounting::belief::right_at_most(ApproximateDp::new(epsilon, 1e-6).unwrap(), 0.5).unwrap();
    assert!(number(&statement.what_if(WhatIf::Prior(0.5)).unwrap().right_at_most) < point);
    // Claims, and choices among candidates, have an answer, too.
    for algorithm in [Algorithm::DpSgd, Algorithm::ObjectivePerturbation] {
        let answer = self::statement(&TrainConfig { algorithm, ..config(1.0) }).what_if(WhatIf::Prior(0.1)).unwrap();
        assert!((0.23..0.4).contains(&number(&answer.posterior_at_most)), "{answer:?}");
    }
}

#[test]
fn nothing_follows_from_no_guarantee_and_no_other_question_is_known() {
    let seeded = model(&config(1.0), &mut Ledger::in_memory().unwrap(), NoiseSource::insecure_from_seed(1)).statement;
    for question in ["group:2", "attribute", "prior:0.5"] {
        let asked: WhatIf = question.parse().unwrap();
        assert_eq!(asked.to_string(), question);
        assert!(seeded.what_if(asked).unwrap_err().to_string().contains("nothing is guaranteed"));
    }
    for question in [
        "",
        "group",
        "group:0",
        "group:-1",
        "group:1000001",
        "group:two",
        "prior",
        "prior:0",
        "prior:1",
        "prior:nan",
        "age",
    ] {
        let text = question.parse::<WhatIf>().unwrap_err().to_string();
        assert!(text.contains("group:K") && text.contains("prior:P"), "{text}");
    }
}

#[test]
fn the_figures_of_the_page_about_units_are_rounded_up() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/units.md")).unwrap();
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let (one, delta) = (Epsilon::new(1.0).unwrap(), Delta::new(1e-6).unwrap());
    let mu = gaussian::max_mu(one, delta).unwrap();
    for (rows, said) in [(2.0, "2.13"), (5.0, "5.93"), (10.0, "13.51"), (20.0, "33.02")] {
        assert!(page.contains(&format!("{rows} rows")) && page.contains(said), "{rows} {said}");
        let exact = gaussian::epsilon(rows * mu, delta).unwrap().value();
        assert!((0.0..0.01).contains(&(said.parse::<f64>().unwrap() - exact)), "{rows}: {exact}");
    }
    // Three patients: every mean over rows is one over visits, every mean over persons one over patients.
    let (visits, yes) = ([1.0, 1.0, 98.0], [1.0, 1.0, 0.0]);
    let rows = yes.iter().sum::<f64>() / visits.iter().sum::<f64>();
    let persons = yes.iter().zip(visits).map(|(yes, visits)| yes / visits).sum::<f64>() / 3.0;
    assert!(page.contains(&format!("| **{rows}** |")) && page.contains(&format!("| **{persons:.3}** |")));
}

/// The rows of `fair`, of 400 persons in turns, and their schema.
fn shared(folder: &Path) -> (Schema, CsvFile) {
    let datasets = Path::new(env!("CARGO_MANIFEST_DIR")).join("datasets");
    let text = std::fs::read_to_string(datasets.join("fair.csv")).unwrap();
    let (header, lines) = text.split_once('\n').unwrap();
    let rows = lines.lines().enumerate().map(|(number, line)| format!("p{},{line}\n", number * number % 401));
    let path = folder.join("shared.csv");
    std::fs::write(&path, format!("person,{header}\n{}", rows.collect::<String>())).unwrap();
    let mut schema = Schema::read(&datasets.join("fair.schema.json")).unwrap();
    schema.rows = None;
    schema.unit = Some(Unit { persons: Some(201), ..Unit::new("person") });
    (schema, CsvFile::open(&path).unwrap())
}

/// With a hold-out of persons, under both relations.
#[test]
fn every_algorithm_trains_on_persons_or_refuses_before_a_charge() {
    let folder = tempfile::tempdir().unwrap();
    let (schema, file) = shared(folder.path());
    let (mut served, mut refused) = (Vec::new(), Vec::new());
    for algorithm in Algorithm::ALL {
        for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
            let config = TrainConfig {
                algorithm,
                adjacency,
                evaluate_budget: Some(0.1),
                settings: Settings::default(),
                ..config(8.0)
            };
            let loaded = match load(&config, schema.clone(), &file, &|_, _| Ok(())) {
                Ok(loaded) => loaded,
                Err(error) => {
                    refused.push((algorithm.name(), error.to_string()));
                    continue;
                }
            };
            let path = folder.path().join(format!("{}-{adjacency}.sqlite", algorithm.name()));
            let mut ledger = Ledger::open_or_create(&path).unwrap();
            let (trained, _) = train(loaded, &mut ledger, NoiseSource::from_os().unwrap(), &mut |_| Ok(())).unwrap();
            let facts = &trained.model.statement.facts;
            assert_eq!(facts.unit, PrivacyUnit::person("person").unwrap());
            assert_eq!(facts.rows, Some(201), "persons are counted");
            assert_eq!(ledger.summaries().unwrap()[0].unit, facts.unit);
            let rows = trained.model.evaluation.as_ref().unwrap().rows;
            assert!(rows < 200.0, "{rows} persons of 201 were held out, and a quarter or so should be");
            served.push(algorithm.name());
        }
    }
    served.dedup();
    assert_eq!(
        served,
        ["auto", "whitened", "dp-gd", "dp-sgd", "dp-gd-theory", "adassp", "boosted-adassp", "newton", "additive"],
        "{refused:#?}"
    );
    let without_proof: Vec<&String> = refused.iter().map(|(_, why)| why).filter(|why| why.contains("--unit")).collect();
    assert!(without_proof.len() >= 8, "{refused:#?}");
    assert!(without_proof.iter().all(|why| why.contains("dp-sgd or newton")), "{refused:#?}");
}

#[test]
fn an_optimizer_of_one_s_own_is_told_which_queries_serve_persons() {
    let folder = tempfile::tempdir().unwrap();
    let (schema, file) = shared(folder.path());
    let config = TrainConfig { algorithm: Algorithm::Custom, settings: Settings::default(), ..config(8.0) };
    let planner = |algorithm: Algorithm| move |problem: &Problem<'_>| (algorithm.description().plan)(problem);
    let load = |algorithm| load_with(&config, schema.clone(), &file, &|_, _| Ok(()), &planner(algorithm));
    let refused = load(Algorithm::ObjectivePerturbation).err().unwrap().to_string();
    assert!(refused.contains("--unit") && refused.contains("`Reads::persons`"), "{refused}");
    assert!(load(Algorithm::DpGd).is_ok());
    // Nor can it say whose mean it estimates.
    let unit = schema.unit.clone().map(|unit| Unit { estimand: Some(Estimand::Rows), ..unit });
    let of_rows = Schema { unit, ..schema.clone() };
    let planner = planner(Algorithm::DpGd);
    let refused = load_with(&config, of_rows, &file, &|_, _| Ok(()), &planner).err().unwrap().to_string();
    assert!(refused.contains("an optimizer from outside") && !refused.contains("--algorithm custom"), "{refused}");
}

/// Rows of persons: whose each is, a number and a label.
struct Visits {
    who: Vec<f64>,
    age: Vec<f64>,
    ill: Vec<f64>,
}

impl Visits {
    /// Those of the rows for which it holds.
    fn some(&self, chosen: impl Fn(usize) -> bool) -> Self {
        let of = |all: &[f64]| (0..all.len()).filter(|&row| chosen(row)).map(|row| all[row]).collect();
        Visits { who: of(&self.who), age: of(&self.age), ill: of(&self.ill) }
    }

    /// Fifty persons; a place beyond them is a missing cell.
    fn persons(&self) -> Cells<'_> {
        let list = (0..50).map(|person| format!("p{person}")).collect();
        Cells::Texts { list, places: Numbers::F64(self.who.as_slice().into()) }
    }

    fn table(&self) -> Table<'_> {
        let ill =
            Cells::Texts { list: vec!["no".into(), "yes".into()], places: Numbers::F64(self.ill.as_slice().into()) };
        let age = Cells::Numbers(Numbers::F64(self.age.as_slice().into()));
        Table::new(vec![("who".into(), self.persons()), ("age".into(), age), ("ill".into(), ill)]).unwrap()
    }
}

#[test]
fn an_average_over_the_rows_is_near_that_over_new_ones() {
    let answer = |config: &TrainConfig| self::statement(config).what_if(WhatIf::NewRows).unwrap();
    let gap = |config: &TrainConfig| number(&answer(config).gap_at_most);
    let mu = |config: &TrainConfig| number(&self::statement(config).guarantee.gaussian_mu);
    // The largest distance of N(0, 1) and N(mu, 1), by a sum.
    let variation = |mu: f64| -> f64 {
        let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let places = (-100_000..100_000).map(|i| (f64::from(i) + 0.5) * 1e-4);
        places.map(|x| (density(x - mu) - density(x)).max(0.0) * 1e-4).sum()
    };
    let one = TrainConfig { adjacency: Adjacency::ReplaceOne, ..config(1.0) };
    // A row for another is one step under replace-one, and two under add-remove.
    for (config, steps) in [(one.clone(), 1), (config(1.0), 2)] {
        let (found, truth) = (gap(&config), variation(f64::from(steps) * mu(&config)));
        assert!(found >= truth - 1e-6 && found <= truth + 1e-6, "{steps}: {found} {truth}");
    }
    // Where the cost is no rho, by epsilon and delta of both steps.
    let sampled = gap(&TrainConfig { algorithm: Algorithm::DpSgd, ..config(1.0) });
    let two = (2f64.exp() - 1.0) / (2f64.exp() + 1.0);
    assert!(sampled > gap(&config(1.0)) && sampled < 1.2 * two, "{sampled}");
    assert!(answer(&one).words.contains("and its mean over new rows differ by at most 0."), "{}", answer(&one).words);
}

/// What a check of parts says is what a check of all rows says, persons included, whoever looked at which rows.
#[test]
fn a_check_of_parts_counts_persons_wherever_their_rows_are() {
    let schema =
        SchemaBuilder::classification("visits", "ill").numeric("age", 0.0, 100.0).positive("yes").negative("no");
    let schema = schema.unit(Unit { max_rows: Some(9), ..Unit::new("who") }).build().unwrap();
    let columns = ["who", "age", "ill"].map(String::from);
    let all = Visits {
        who: (0..900).map(|row| f64::from(row * row % 53)).collect(),
        age: (0..900).map(|row| f64::from(row * 7 % 113)).collect(),
        ill: (0..900).map(|row| f64::from(row % 11 % 2)).collect(),
    };
    let places = person_places(&all.persons());
    let survey = |part: &Visits| -> Survey { TableEncoder::new(&schema, &part.table()).unwrap().survey().unwrap().1 };
    for adjacency in [Adjacency::AddRemove, Adjacency::ReplaceOne] {
        let config = TrainConfig { adjacency, algorithm: Algorithm::DpGd, ..config(8.0) };
        let mut whole = check_table(Some(&config), &schema, &all.table()).unwrap();
        whole.outlook.as_mut().unwrap().seconds = None;
        let of_parts = |persons: &[PersonSizes], parts: usize| {
            let looked: Vec<Survey> =
                (0..parts).map(|part| survey(&all.some(|row| row * parts / 900 == part))).collect();
            check_parts(Some(&config), &schema, &looked, persons, &columns)
        };
        for parts in [1, 4] {
            let own = |part: usize| all.some(|row| usize::from(places[row]) % parts == part);
            let persons: Vec<PersonSizes> = (0..parts).map(|part| PersonSizes::of(&own(part).persons())).collect();
            // However many parts were looked at.
            let checked = of_parts(&persons, 5 - parts).unwrap();
            assert_eq!(serde_json::to_value(&checked).unwrap(), serde_json::to_value(&whole).unwrap(), "{adjacency}");
            assert!(checked.persons.unwrap().above > 0 && !checked.findings.is_empty());
        }
        let refused = |persons: &[PersonSizes]| of_parts(persons, 3).err().unwrap().to_string();
        assert!(refused(&[]).contains("nothing says how many rows persons have"));
        let twice = PersonSizes::of(&all.persons());
        assert!(refused(&[twice.clone(), twice]).contains("one person in two of them"));
        // No rows at all: what is refused without a row is refused so.
        assert_eq!(check_parts(Some(&config), &schema, &[], &[], &columns).unwrap().rows, 0);
    }
}
