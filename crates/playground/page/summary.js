// Sums up for readers of screens what has been decided, not more often than one can listen.

import { byId, write } from './dom.js';

/** The time between two summaries, in milliseconds. */
const PAUSE = 5000;

export class Summary {
  #told = [];
  #since = performance.now();

  clear() {
    this.#told = [];
  }

  /** Tells what is new, if there is anything and the last summary is long enough ago. */
  tell(sides) {
    const now = performance.now();
    const counts = sides.map(({ history }) => ({ ...history.counts }));
    if (this.#told.length !== counts.length) this.#told = counts.map(() => ({ granted: 0, refused: 0 }));
    const news = counts.map(({ granted, refused }, side) => ({
      granted: granted - this.#told[side].granted,
      refused: refused - this.#told[side].refused,
    }));
    if (now - this.#since < PAUSE || news.every(({ granted, refused }) => granted + refused === 0)) return;
    const seconds = Math.round(Math.min(now - this.#since, 60_000) / 1000);
    const parts = news.map(
      ({ granted, refused }, side) => `${sides[side].form.definition.name}: ${granted} granted, ${refused} refused`,
    );
    write(byId('summary'), `${parts.join('; ')}, in the last ${seconds} seconds`);
    this.#told = counts;
    this.#since = now;
  }
}
