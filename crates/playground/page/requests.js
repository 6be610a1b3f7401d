// The forms that send requests: one, a burst, and steady streams.

import { byId, complain, entered, folds, make } from './dom.js';
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
    return this.#send(() => 1);
  }

  burst() {
    return this.#send(() => entered('count', 'Requests in a burst'));
  }

  /** Starts one more stream. */
  stream() {
    if (this.#streams.length === MOST_STREAMS) {
      complain(byId('stream-error'), `There are ${MOST_STREAMS} streams, which is the most. Stop one first.`);
      return undefined;
    }
    return this.#put(() => [
      ...this.#streams,
      {
        ...this.#request(),
        per_second: entered('per-second', 'Requests per second'),
        spacing: byId('spacing').value,
      },
    ]);
  }

  stopAll() {
    return this.#put(() => []);
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
            `${stream.key}: ${number(stream.per_second, 3)}/s, cost ${number(stream.cost)}, ${stream.spacing === 'random' ? 'Poisson' : 'evenly'}`,
          ),
          make(
            'button',
            {
              type: 'button',
              class: 'quiet',
              'aria-label': `Stop the stream of key ${stream.key}, ${number(stream.per_second, 3)} a second`,
              title: 'Stop',
              onclick: () => {
                this.#put(() => this.#streams.filter((_, other) => other !== index));
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
    const request = { key: byId('key').value, cost: entered('cost', 'Cost') };
    return this.#holds ? { ...request, hold: entered('hold', 'Held for') } : request;
  }

  async #send(count) {
    await told(byId('send-error'), () => this.#actions.send({ ...this.#request(), count: count() }));
  }

  async #put(wanted) {
    await told(byId('stream-error'), async () => {
      const streams = wanted();
      await this.#actions.streams(streams);
      this.show(streams);
    });
  }
}

/** Does an action, and shows what is wrong with it. */
async function told(node, action) {
  try {
    await action();
    complain(node, null);
  } catch (error) {
    complain(node, error.errors?.map(({ message }) => message).join(' ') || error.message);
  }
}
