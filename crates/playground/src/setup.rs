//! Set-ups that were checked.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Number, Value};

use crate::algorithm::{Algorithm, Numbers, Parameter, Terms};
use crate::bounds;
use crate::wire::{FieldProblem, ParameterKind, Setup, SideSetup};

/// A set-up in which every value is allowed.
#[derive(Clone, Debug)]
pub(crate) struct CheckedSetup {
    pub(crate) sides: Vec<CheckedSide>,
    pub(crate) speed: f64,
    pub(crate) seed: u64,
    /// The set-up with the value of every parameter.
    pub(crate) shown: Setup,
}

/// The limiter of a side.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheckedSide {
    pub(crate) terms: Terms,
    pub(crate) per_key: bool,
    pub(crate) wait: Option<Duration>,
}

impl CheckedSetup {
    /// Checks every field of a set-up.
    ///
    /// # Errors
    ///
    /// All fields that are wrong.
    pub(crate) fn new(setup: &Setup) -> Result<CheckedSetup, Vec<FieldProblem>> {
        let mut problems = Vec::new();
        let count = setup.sides.len();
        if !(1..=bounds::SIDES).contains(&count) {
            let message =
                format!("sides has {count} entries: must have from 1 to {}", bounds::SIDES);
            problems.push(FieldProblem { side: None, parameter: "sides".to_owned(), message });
        }
        problems.extend(speed(setup.speed).err());
        if setup.seed > bounds::SEED {
            let message = format!("seed is {}: must be from 0 to {}", setup.seed, bounds::SEED);
            problems.push(FieldProblem { side: None, parameter: "seed".to_owned(), message });
        }
        let mut sides = Vec::new();
        let mut shown = Vec::new();
        for (place, side) in setup.sides.iter().take(bounds::SIDES).enumerate() {
            match check_side(side) {
                Ok((checked, side)) => {
                    sides.push(checked);
                    shown.push(side);
                }
                Err(wrong) => problems.extend(wrong.into_iter().map(|(parameter, message)| {
                    FieldProblem { side: Some(place), parameter, message }
                })),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let shown = Setup { sides: shown, ..*setup };
        Ok(CheckedSetup { sides, speed: shown.speed, seed: shown.seed, shown })
    }
}

/// Checks the speed of a clock.
pub(crate) fn speed(speed: f64) -> Result<f64, FieldProblem> {
    let (slowest, fastest) = bounds::SPEED;
    if speed == 0.0 || (slowest..=fastest).contains(&speed) {
        return Ok(speed);
    }
    let message =
        format!("speed is {speed}: must be 0 for a pause, or from {slowest} to {fastest}");
    Err(FieldProblem { side: None, parameter: "speed".to_owned(), message })
}

/// Returns a duration of so many seconds, if it is from 0 to the longest wait.
pub(crate) fn seconds(name: &str, seconds: f64) -> Result<Duration, String> {
    let longest = bounds::LONGEST_WAIT.as_secs_f64();
    if (0.0..=longest).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(format!("{name} is {seconds}: must be from 0 to {longest} seconds"))
}

type Wrong = Vec<(String, String)>;

fn check_side(side: &SideSetup) -> Result<(CheckedSide, SideSetup), Wrong> {
    let Some(algorithm) = Algorithm::by_id(&side.algorithm) else {
        let ids: Vec<_> = Algorithm::all().map(|algorithm| algorithm.id).collect();
        let given: String = side.algorithm.chars().take(bounds::KEY_LENGTH).collect();
        let message = format!("algorithm is {given:?}: must be one of {}", ids.join(", "));
        return Err(vec![("algorithm".to_owned(), message)]);
    };
    let mut side = side.clone();
    if algorithm.has_shares() {
        (side.per_key, side.wait) = (false, None);
    }
    let mut wrong = Vec::new();
    let parameters = algorithm.parameters;
    for id in side.parameters.keys() {
        if !parameters.iter().any(|parameter| parameter.id == id) {
            let ids: Vec<_> = parameters.iter().map(|parameter| parameter.id).collect();
            let given: String = id.chars().take(bounds::KEY_LENGTH).collect();
            let message =
                format!("{algorithm} has no parameter {given:?}: it has {}", ids.join(", "));
            wrong.push((given, message));
        }
    }
    let mut numbers = Numbers::default();
    for parameter in parameters {
        let given = side.parameters.get(parameter.id);
        let number = given.map_or(Ok(parameter.default()), |value| parameter.check(value));
        let number = number.unwrap_or_else(|message| {
            wrong.push((parameter.id.to_owned(), message));
            parameter.default()
        });
        numbers.0.insert(parameter.id, number);
    }
    let wait = side.wait.map(|wait| seconds("wait", wait)).transpose();
    let wait = wait.unwrap_or_else(|message| {
        wrong.push(("wait".to_owned(), message));
        None
    });
    let shown = shown(parameters, &numbers);
    let terms = Terms::new(algorithm, numbers).map_err(|error| {
        wrong.push((error.field().to_owned(), error.to_string()));
    });
    let (Ok(terms), true) = (terms, wrong.is_empty()) else { return Err(wrong) };
    let shown = SideSetup { parameters: shown, ..side };
    Ok((CheckedSide { terms, per_key: shown.per_key, wait }, shown))
}

fn shown(parameters: &[Parameter], numbers: &Numbers) -> BTreeMap<String, Value> {
    let mut shown = BTreeMap::new();
    for parameter in parameters {
        let Some(&value) = numbers.0.get(parameter.id) else { continue };
        let value = match parameter.kind() {
            ParameterKind::Integer => Value::from(value as u64),
            ParameterKind::Duration => Number::from_f64(value).map_or(Value::Null, Value::Number),
        };
        shown.insert(parameter.id.to_owned(), value);
    }
    shown
}
