// The forms that send requests: one, a burst, and steady streams.

import { byId, complain, folds, make } from './dom.js';
import { number } from './words.js';

/** The most streams at a time. */
const MOST_STREAMS = 8;

export class Requests {
  #streams = [];
  #actions;
  #holds = false;

  /** `actions.send(request)` and `actions.streams(streams)` return promises that reject with what is wrong. */
  constructor(actions) {
    this.#actions = actions;
    byId('send-form').addEventListener('submit', event => {
      event.preventDefault();
      this.one();
    });
    folds(byId('more'), byId('send'));
    byId('send-burst').addEventListener('click', () => this.burst());
    byId('stream-form').addEventListener('submit', event => {
      event.preventDefault();
      this.stream();
    });
  }

  get streams() {
    return this.#streams;
  }

  one() {
    return this.#send(1);
  }

  burst() {
    return this.#send(whole('count'));
  }

  /** Starts one more stream. */
  stream() {
    if (this.#streams.length === MOST_STREAMS) {
      complain(byId('stream-error'), `There are ${MOST_STREAMS} streams, which is the most. Stop one first.`);
      return;
    }
    const stream = { ...this.#request(), per_second: byId('per-second').valueAsNumber, spacing: byId('spacing').value };
    this.#put([...this.#streams, stream]);
  }

  stopAll() {
    return this.#put([]);
  }

  /** Shows the streams that are running. */
  show(streams) {
    if (JSON.stringify(streams) === JSON.stringify(this.#streams)) return;
    this.#streams = streams;
    byId('streams').replaceChildren(
      ...streams.map((stream, index) =>
        make(
          'li',
          {},
          make(
            'span',
            {},
            `${stream.key}: ${number(stream.per_second, 3)}/s, weight ${number(stream.cost)}, ${stream.spacing}`,
          ),
          make(
            'button',
            {
              type: 'button',
              class: 'quiet',
              'aria-label': `Stop the stream of key ${stream.key}, ${number(stream.per_second, 3)} a second`,
              title: 'Stop',
              onclick: () => {
                this.#put(this.#streams.filter((_, other) => other !== index));
                byId('start-stream').focus();
              },
            },
            '×',
          ),
        ),
      ),
    );
  }

  /** Says whether a limiter holds requests, which then have a duration. */
  holds(holds) {
    this.#holds = holds;
    byId('hold-field').hidden = !holds;
  }

  #request() {
    const hold = byId('hold').valueAsNumber;
    return { key: byId('key').value, cost: whole('cost'), ...(this.#holds && hold >= 0 ? { hold } : {}) };
  }

  async #send(count) {
    await told(byId('send-error'), this.#actions.send({ ...this.#request(), count }));
  }

  async #put(streams) {
    const done = await told(byId('stream-error'), this.#actions.streams(streams));
    if (done) this.show(streams);
  }
}

/** Waits for an action, and shows what is wrong with it. */
async function told(node, action) {
  try {
    await action;
    complain(node, null);
    return true;
  } catch (error) {
    complain(node, error.errors?.map(({ message }) => message).join(' ') || error.message);
    return false;
  }
}

/** Returns the number of a field; one that is none is left to the server, which says what is allowed. */
function whole(id) {
  const value = byId(id).valueAsNumber;
  return Number.isNaN(value) ? 0 : value;
}
