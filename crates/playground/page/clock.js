// The clock of the simulation between two frames of the server.

import { clock } from './words.js';

/** The longest that the clock goes on without a frame, in real seconds: the server sends one each second. */
const LONGEST_SILENCE = 1.5;

/** A larger difference is a jump, and a smaller one is made up for by and by; in real seconds. */
const JUMP = 0.4;

export class Clock {
  #at = 0;
  #speed = 0;
  #heard = 0;
  #shown = 0;
  #drawn = 0;

  /** Takes over the clock of a frame. */
  hear(at, speed) {
    const real = performance.now() / 1000;
    if (at < this.#at || speed !== this.#speed) this.#shown = at;
    this.#at = at;
    this.#speed = speed;
    this.#heard = real;
  }

  /** Returns the time of the simulation now, and never goes back but with the server's clock. */
  now() {
    const real = performance.now() / 1000;
    const passed = Math.min(real - this.#heard, LONGEST_SILENCE);
    const target = this.#at + passed * this.#speed;
    const step = (real - this.#drawn) * this.#speed;
    this.#drawn = real;
    const next = this.#shown + step;
    const drift = target - next;
    if (this.#speed === 0 || Math.abs(drift) > JUMP * this.#speed) this.#shown = target;
    else this.#shown = Math.max(this.#shown, next + drift * 0.1);
    return this.#shown;
  }

  /** Returns an instant as it is shown: the faster the clock, the fewer digits. */
  text(now) {
    return clock(now, this.#speed >= 60 ? 0 : this.#speed < 1 && this.#speed > 0 ? 2 : 1);
  }
}
