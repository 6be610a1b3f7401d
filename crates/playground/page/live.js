// The page of the live limiters: asks those of the service that it comes from, and shows what they have left.

import { byId, complain, entered, make, write } from './dom.js';
import { offerColours } from './colours.js';
import { count, number, soon, span } from './words.js';

/** The time between two looks at what is left, and between two readings of the list, in milliseconds. */
const LOOK = 500;
const LIST = 5000;

/** The time that is drawn, in milliseconds. */
const DRAWN = 60_000;

/** The most rows of the list of decisions. */
const ROWS = 100;

const [WIDTH, HEIGHT] = [600, 120];

class LiveLimiters {
  #limiters = [];
  #samples = [];
  #stream = 0;

  async start() {
    byId('limiter').addEventListener('change', () => this.#choose());
    byId('parts').addEventListener('input', () => this.#forget());
    byId('ask-form').addEventListener('submit', event => {
      event.preventDefault();
      this.#ask();
    });
    byId('ask-burst').addEventListener('click', () => this.#ask('count'));
    byId('stream').addEventListener('click', () => (this.#stream ? this.#stop() : this.#flow()));
    await this.#list();
    this.#choose();
    repeat(LOOK, () => this.#look());
    repeat(LIST, () => this.#list());
  }

  get #chosen() {
    return this.#limiters.find(({ name }) => name === byId('limiter').value);
  }

  /** Reads which limiters there are, and their terms, which change with the policy file. */
  async #list() {
    const { limiters } = await call('GET', 'limiters');
    const isOther = JSON.stringify(limiters) !== JSON.stringify(this.#limiters);
    this.#limiters = limiters;
    if (!isOther) return;
    const before = byId('limiter').value;
    byId('limiter').replaceChildren(...limiters.map(({ name }) => make('option', { value: name }, name)));
    if (limiters.some(({ name }) => name === before)) byId('limiter').value = before;
    const { name, key } = this.#chosen ?? {};
    if (name === before && key.length === byId('parts').children.length) write(byId('kind'), this.#terms());
    else this.#choose();
  }

  #terms() {
    const { kind, shadow } = this.#chosen;
    return shadow ? `${kind}; in shadow: it only counts what it would refuse` : kind;
  }

  /** Shows the fields of the limiter that is chosen. */
  #choose() {
    this.#stop();
    this.#forget();
    const limiter = this.#chosen;
    for (const id of ['ask-one', 'ask-burst', 'stream']) byId(id).disabled = !limiter;
    write(byId('kind'), limiter ? this.#terms() : 'The policy has no limiter.');
    const fields = (limiter?.key ?? []).map(part => {
      const input = make('input', { value: 'a', autocomplete: 'off', spellcheck: false });
      return make('label', { class: 'field' }, `Key: ${part} `, input);
    });
    byId('parts').replaceChildren(...fields);
  }

  /** Begins a new drawing: what is left is that of another key now. */
  #forget() {
    this.#samples = [];
    this.#draw();
    write(byId('remaining'), '–');
    for (const id of ['limit', 'reset']) write(byId(id), '');
  }

  #question() {
    const key = [...byId('parts').querySelectorAll('input')].map(({ value }) => value);
    const limiter = byId('limiter').value;
    return { limiter, ...(key.length === 0 ? {} : { key: key.length === 1 ? key[0] : key }) };
  }

  /** Asks for one request, or for as many at once as a field says. */
  async #ask(field) {
    try {
      const question = { ...this.#question(), cost: entered('cost', 'Cost') };
      const checks = Array(field ? entered(field, 'Requests in a burst') : 1).fill(question);
      const { answers } = await call('POST', 'check/batch', { checks });
      complain(byId('ask-error'), null);
      this.#tell(question, answers);
      // What is left is seen at the next look anyway, if requests come all the time.
      if (!this.#stream) await this.#look();
    } catch (error) {
      this.#stop();
      complain(byId('ask-error'), error.message);
    }
  }

  #tell({ limiter, key = 'all' }, answers) {
    const time = new Date().toLocaleTimeString('en-GB');
    const rows = answers.map(answer => {
      const isGranted = answer.decision === 'granted';
      const outcome = make('td', { class: `outcome ${isGranted ? 'granted' : 'refused'}` });
      outcome.append(make('span', {}, isGranted ? 'granted' : 'refused'), ' ', details(answer));
      return make(
        'tr',
        {},
        make('th', { scope: 'row' }, time),
        make('td', { class: 'limiter' }, limiter),
        make('td', {}, [key].flat().join(', ')),
        make('td', { class: 'cost' }, number(answer.cost)),
        outcome,
      );
    });
    const list = byId('decisions').tBodies[0];
    list.prepend(...rows.reverse());
    while (list.rows.length > ROWS) list.deleteRow(-1);
    byId('empty').hidden = true;
    const granted = answers.filter(({ decision }) => decision === 'granted').length;
    write(byId('said'), `${count(granted, 'request')} granted, ${number(answers.length - granted)} refused`);
    write(byId('answer'), JSON.stringify(answers.at(-1), null, 2));
  }

  /** Looks at what is left, which takes nothing. */
  async #look() {
    if (!this.#chosen || document.hidden) return;
    const question = this.#question();
    let answer;
    try {
      answer = await call('POST', 'peek', { ...question, cost: 0 });
    } catch (error) {
      // Until there is an answer: that to another key, for example.
      complain(byId('notice'), error.message);
      return;
    }
    // Another limiter or key was chosen meanwhile.
    if (JSON.stringify(question) !== JSON.stringify(this.#question())) return;
    const now = performance.now();
    this.#samples = [...this.#samples, { now, ...answer }].filter(sample => now - sample.now <= DRAWN);
    write(byId('remaining'), number(answer.remaining));
    write(byId('limit'), answer.limit === undefined ? 'left' : `of ${number(answer.limit)} left`);
    write(byId('reset'), answer.reset_after > 0 ? `(full again in ${soon(answer.reset_after)})` : '');
    this.#draw();
  }

  #draw() {
    const last = this.#samples.at(-1);
    const most = Math.max(1, ...this.#samples.map(({ limit = 0, remaining }) => Math.max(limit, remaining)));
    const y = remaining => (HEIGHT - 2) * (1 - remaining / most) + 1;
    const points = this.#samples.map(({ now, remaining }) => `${WIDTH * (1 - (last.now - now) / DRAWN)},${y(remaining)}`);
    byId('level-line').setAttribute('points', points.join(' '));
    const lowest = Math.min(...this.#samples.map(({ remaining }) => remaining));
    write(byId('levels-text'), last ? `${number(last.remaining)} left now; the fewest were ${number(lowest)}.` : 'Nothing is known yet.');
  }

  #flow() {
    try {
      this.#stream = setInterval(() => this.#ask(), 1000 / entered('per-second', 'Requests per second'));
    } catch (error) {
      complain(byId('ask-error'), error.message);
      return;
    }
    this.#pressed(true);
  }

  #stop() {
    clearInterval(this.#stream);
    this.#stream = 0;
    this.#pressed(false);
  }

  #pressed(isRunning) {
    byId('stream').setAttribute('aria-pressed', isRunning);
    write(byId('stream'), isRunning ? 'Stop' : 'Start');
  }
}

/** Returns what an answer tells beside the decision. */
function details({ remaining, retry_after: retryAfter, reason, fallback }) {
  const retry = retryAfter > 0 ? `retry in ${span(retryAfter)}` : '';
  const cause = reason && reason !== 'rate' ? reason.replaceAll('_', ' ') : '';
  const away = fallback ? 'the Redis server gave no answer' : '';
  return make('small', {}, [retry || `${count(remaining, 'permit')} left`, cause, away].filter(Boolean).join('; '));
}

/** Does something again and again, each time when the one before has ended. */
function repeat(pause, action) {
  const next = () => action().catch(error => complain(byId('notice'), error.message)).finally(() => setTimeout(next, pause));
  setTimeout(next, pause);
}

async function call(method, path, body) {
  const content = body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(`v1/${path}`, { method, ...content });
  } catch {
    throw new Error('The service cannot be reached.');
  }
  complain(byId('notice'), null);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.detail ?? answer.title ?? `The service answered ${response.status}.`);
  return answer;
}

offerColours();
new LiveLimiters().start().catch(error => complain(byId('notice'), `There are no live limiters: ${error.message}`));
