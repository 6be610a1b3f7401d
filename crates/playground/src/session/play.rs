//! Scenarios: steps that are taken at their instants.

use std::sync::Arc;

use super::Session;
use super::events::Event;
use crate::scenario::CheckedScenario;
use crate::wire::Progress;

/// A scenario that is played.
pub(super) struct Playing {
    scenario: Arc<CheckedScenario>,
    step: usize,
    say: String,
}

impl Session {
    /// Begins anew with the set-up of a scenario, and plays it.
    pub(crate) fn play(&mut self, scenario: &Arc<CheckedScenario>) {
        self.streams.clear();
        self.setup = scenario.setup.clone();
        self.begin();
        if let Some(step) = scenario.steps.first() {
            self.events.add(step.at_nanos, Event::Step);
        }
        let (scenario, say) = (Arc::clone(scenario), String::new());
        self.scenario = Some(Playing { scenario, step: 0, say });
    }

    /// Takes the next step.
    pub(super) fn step(&mut self) {
        let Some(playing) = &mut self.scenario else { return };
        let scenario = Arc::clone(&playing.scenario);
        let Some(step) = scenario.steps.get(playing.step) else { return };
        playing.step += 1;
        if let Some(say) = &step.say {
            playing.say.clone_from(say);
        }
        if let Some(next) = scenario.steps.get(playing.step) {
            self.events.add(next.at_nanos, Event::Step);
        }
        // A scenario has few keys.
        if let Some(streams) = &step.streams {
            let _ = self.set_streams(streams.clone());
        }
        for send in &step.send {
            let _ = self.send(send);
        }
    }
}

impl Playing {
    pub(super) fn progress(&self) -> Progress {
        Progress {
            id: self.scenario.id.clone(),
            step: self.step,
            of: self.scenario.steps.len(),
            say: self.say.clone(),
        }
    }
}
