// The scenarios: their buttons, and the caption of the one that is played.

import { byId, make, write } from './dom.js';

export class Scenarios {
  #scenarios;
  #buttons;
  #playing = null;

  /** `play(scenario)` is called when one is chosen. */
  constructor(scenarios, play) {
    this.#scenarios = scenarios;
    this.#buttons = scenarios.map((scenario, index) =>
      make(
        'button',
        {
          type: 'button',
          id: `scenario-${scenario.id}`,
          'aria-pressed': 'false',
          'aria-keyshortcuts': index + 1,
          title: scenario.summary,
          onclick: () => play(scenario),
        },
        make('span', {}, scenario.name),
        ' ',
        make('kbd', {}, String(index + 1)),
        make('progress', { max: 1, value: 0, 'aria-hidden': 'true' }),
      ),
    );
    byId('scenarios').replaceChildren(...this.#buttons);
  }

  get playing() {
    return this.#playing;
  }

  named(id) {
    return this.#scenarios.find(scenario => scenario.id === id);
  }

  at(index) {
    return this.#scenarios[index];
  }

  /** Shows the caption of a scenario, or of none. */
  show(scenario) {
    this.#playing = scenario;
    this.#buttons.forEach((button, index) => {
      const isPlaying = this.#scenarios[index] === scenario;
      button.setAttribute('aria-pressed', isPlaying);
      // Small screens show a part of the list.
      if (isPlaying) byId('scenarios').scrollTo({ left: button.offsetLeft - 60 });
      button.querySelector('progress').value = 0;
    });
    write(byId('caption-heading'), scenario?.name ?? 'Your own set-up');
    write(byId('watch'), scenario?.watch ?? 'Choose the algorithms and their parameters, send requests, and compare.');
    write(byId('say'), '');
  }

  /** Shows how far the server has played. */
  hear(progress) {
    if (!progress || progress.id !== this.#playing?.id) return;
    const button = this.#buttons[this.#scenarios.indexOf(this.#playing)];
    button.querySelector('progress').value = progress.of ? progress.step / progress.of : 0;
    write(byId('say'), progress.say);
  }
}
