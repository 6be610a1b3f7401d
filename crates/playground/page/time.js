// The controls of time: pause, speed, reset.

import { byId, make, write } from './dom.js';
import { number } from './words.js';

const SPEEDS = [0.1, 1, 10, 60, 600];

/** The slowest and the fastest clock that runs. */
export const [SLOWEST, FASTEST] = [SPEEDS[0], SPEEDS.at(-1)];

export class Time {
  /** The speed at which it goes on after a pause. */
  pace = 1;
  #speed = 1;
  #change;

  /** `change(speed)` and `reset()` are called when they are asked for. */
  constructor({ change, reset }) {
    this.#change = change;
    byId('pause').addEventListener('click', () => this.toggle());
    byId('reset').addEventListener('click', reset);
    byId('speed').append(
      ...SPEEDS.map(speed =>
        make(
          'label',
          {},
          make('input', { type: 'radio', name: 'speed', value: speed, onchange: () => change(speed) }),
          make('span', {}, `${number(speed, 1)}×`),
        ),
      ),
    );
  }

  get speed() {
    return this.#speed;
  }

  /** Pauses, or resumes. */
  toggle() {
    this.#change(this.#speed === 0 ? this.pace : 0);
  }

  /** Shows a speed. */
  show(speed) {
    if (speed > 0) this.pace = speed;
    this.#speed = speed;
    write(byId('pause').firstChild, speed === 0 ? 'Resume' : 'Pause');
    for (const input of byId('speed').querySelectorAll('input')) input.checked = Number(input.value) === this.pace;
  }
}
