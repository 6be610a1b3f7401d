// The last decisions of all sides, request by request, and the response to the last one.

import { byId, make } from './dom.js';
import { NAMES } from './setup.js';
import { clock, count, number, OUTCOMES, span } from './words.js';

/** Requests that are listed. */
const MOST = 40;

const STATUSES = { 200: 'OK', 429: 'Too Many Requests', 503: 'Service Unavailable' };

export class Decisions {
  #requests = new Map();
  #sides = 0;

  clear(sides) {
    this.#requests.clear();
    this.layOut(sides);
  }

  /** Shows so many sides. */
  layOut(sides) {
    this.#sides = sides;
    const heads = ['no.', 'time', 'key', 'cost', ...NAMES.slice(0, sides)];
    const cell = text => make('th', { scope: 'col', class: text === 'cost' && 'cost' }, text);
    byId('decisions').tHead.replaceChildren(make('tr', {}, ...heads.map(cell)));
    this.draw();
  }

  hear(sides) {
    sides.forEach(({ decisions }, side) => {
      for (const decision of decisions.slice(-MOST)) {
        const { n, key, cost } = decision;
        const request = this.#requests.get(n) ?? {
          n,
          key,
          cost,
          at: decision.at - (decision.waited ?? 0),
          answers: [],
        };
        request.answers[side] = decision;
        this.#requests.set(n, request);
      }
    });
    const old = [...this.#requests.keys()].sort((one, two) => two - one).slice(MOST);
    for (const n of old) this.#requests.delete(n);
  }

  /** Writes the table, newest first. */
  draw() {
    const requests = [...this.#requests.values()].sort((one, two) => two.n - one.n);
    const {
      tBodies: [body],
    } = byId('decisions');
    body.replaceChildren(
      ...requests.map(({ n, key, cost, at, answers }) =>
        make(
          'tr',
          {},
          make('th', { scope: 'row' }, String(n)),
          make('td', {}, clock(at, 2)),
          make('td', {}, key),
          make('td', { class: 'cost' }, number(cost)),
          ...Array.from({ length: this.#sides }, (_, side) => outcome(answers[side])),
        ),
      ),
    );
    byId('decisions').nextElementSibling.hidden = requests.length > 0;
    byId('decisions').hidden = requests.length === 0;
  }
}

function outcome(decision) {
  if (!decision) return make('td', {}, '');
  return make(
    'td',
    { class: `outcome ${decision.outcome}` },
    make('span', {}, OUTCOMES[decision.outcome]),
    ' ',
    make('small', { title: decision.reason }, detail(decision)),
  );
}

function detail({ outcome, remaining, retry_after: retry, waited, reason, borrowed }) {
  if (outcome === 'granted') {
    const left = remaining === undefined ? '' : `${count(remaining, 'permit')} left`;
    return borrowed ? `borrowed, ${left}` : left;
  }
  if (outcome === 'granted_late' || outcome === 'gave_up') return `after ${span(waited ?? 0)}`;
  if (outcome === 'waiting') return 'in line';
  return retry === undefined ? (reason ?? '') : `retry in ${span(retry)}`;
}

/** Shows the status and fields of each side's last response. */
export function drawResponses(sides) {
  byId('responses').replaceChildren(
    ...sides.map(({ name, fields }) =>
      make(
        'div',
        { class: 'response' },
        make('h3', {}, make('span', { class: 'letter' }, name)),
        fields
          ? make(
              'pre',
              {},
              make(
                'b',
                { class: fields.status < 400 ? 'granted' : 'refused' },
                `${fields.status} ${STATUSES[fields.status] ?? ''}`,
              ),
              ...fields.headers.flatMap(([field, value]) => ['\n', make('span', {}, `${field}:`), ` ${value}`]),
            )
          : make('p', { class: 'empty' }, 'No request yet.'),
      ),
    ),
  );
}
