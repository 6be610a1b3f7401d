//! The scenarios: data in `scenarios.json`, checked as if they came from a page.

use std::sync::Arc;
use std::time::Duration;

use crate::command::{CheckedSend, CheckedStream};
use crate::setup::CheckedSetup;
use crate::wire::{Action, FieldProblem, Scenario, Streams};

const SCENARIOS: &str = include_str!("scenarios.json");

/// A scenario in which every value is allowed.
#[derive(Debug)]
pub(crate) struct CheckedScenario {
    pub(crate) id: String,
    pub(crate) setup: CheckedSetup,
    pub(crate) steps: Vec<Step>,
}

/// A step of a scenario.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) at_nanos: u64,
    pub(crate) say: Option<String>,
    pub(crate) send: Vec<CheckedSend>,
    pub(crate) streams: Option<Vec<CheckedStream>>,
}

/// All scenarios.
#[derive(Clone, Debug)]
pub(crate) struct Scenarios {
    pub(crate) told: Arc<[Scenario]>,
    checked: Arc<[Arc<CheckedScenario>]>,
}

impl Scenarios {
    /// Reads the scenarios of the crate. One that is wrong is left out; a test finds none.
    pub(crate) fn new() -> Scenarios {
        let scenarios: Vec<Scenario> = serde_json::from_str(SCENARIOS).unwrap_or_default();
        let checked = scenarios.into_iter().filter_map(|scenario| {
            let checked = CheckedScenario::new(&scenario).ok()?;
            Some((scenario, Arc::new(checked)))
        });
        let (told, checked): (Vec<_>, Vec<_>) = checked.unzip();
        Scenarios { told: told.into(), checked: checked.into() }
    }

    /// Returns the scenario with an `id`.
    pub(crate) fn by_id(&self, id: &str) -> Option<&Arc<CheckedScenario>> {
        self.checked.iter().find(|scenario| scenario.id == id)
    }
}

impl CheckedScenario {
    fn new(scenario: &Scenario) -> Result<CheckedScenario, Vec<FieldProblem>> {
        let setup = CheckedSetup::new(&scenario.setup)?;
        let steps = scenario.actions.iter().map(Step::new).collect::<Result<_, _>>()?;
        Ok(CheckedScenario { id: scenario.id.clone(), setup, steps })
    }
}

impl Step {
    fn new(action: &Action) -> Result<Step, Vec<FieldProblem>> {
        let send = action.send.iter().map(CheckedSend::new).collect::<Result<_, _>>()?;
        let streams =
            action.streams.clone().map(|streams| CheckedStream::all(&Streams { streams }));
        let at = Duration::try_from_secs_f64(action.at).unwrap_or_default();
        let at_nanos = u64::try_from(at.as_nanos()).unwrap_or(u64::MAX);
        Ok(Step { at_nanos, say: action.say.clone(), send, streams: streams.transpose()? })
    }
}
