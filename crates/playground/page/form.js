// The form of a side: its algorithm and parameters, built from the catalogue alone.

import { complain, make } from './dom.js';
import { number, span } from './words.js';
import { NAMES, sideOf } from './setup.js';

const UNITS = { seconds: 's', second: 's' };

/** Begins the values of options that are limiters of a policy. */
const OFFERED = 'policy:';

/**
 * The form of one side. `changed(side)` is called with each new side that may be sent; values that are none are told at
 * their field.
 */
export class SideForm {
  #index;
  #catalogue;
  #offer;
  /** The place of the limiter of the policy that was chosen last. */
  #chosen = -1;
  #changed;
  #side;
  #perKey;
  #summary;
  #goodFor;
  #badFor;
  #fields = new Map();

  constructor({ index, catalogue, offer, side, changed }) {
    this.#index = index;
    this.#catalogue = catalogue;
    this.#offer = offer;
    this.#changed = changed;
    this.#side = side;
    this.algorithm = make(
      'select',
      {
        class: 'algorithm',
        'aria-label': `Algorithm of limiter ${NAMES[index]}`,
        onchange: () => this.#choose(this.algorithm.value),
      },
      ...catalogue.map(({ id, name }) => make('option', { value: id }, name)),
      ...offered(offer),
    );
    this.#perKey = make('input', {
      id: `side-${index}-per_key`,
      type: 'checkbox',
      onchange: () => this.#edit({ per_key: this.#perKey.checked }),
    });
    this.perKey = make(
      'label',
      { class: 'check', title: 'Each key has a limiter of its own, instead of one for all keys.' },
      this.#perKey,
      'per key',
    );
    this.#summary = make('p');
    this.#goodFor = make('dd');
    this.#badFor = make('dd');
    this.summary = make(
      'div',
      { class: 'summary' },
      this.#summary,
      make(
        'dl',
        {},
        make('div', {}, make('dt', {}, 'Good for'), ' ', this.#goodFor),
        make('div', {}, make('dt', {}, 'Bad for'), ' ', this.#badFor),
      ),
    );
    this.parameters = make('form', {
      class: 'parameters',
      novalidate: true,
      onsubmit: event => event.preventDefault(),
    });
    this.#build();
  }

  get side() {
    return this.#side;
  }

  get definition() {
    return this.#catalogue.find(({ id }) => id === this.#side.algorithm);
  }

  /** Shows another side. */
  show(side) {
    const isOther = side.algorithm !== this.#side.algorithm;
    this.#side = side;
    if (isOther) this.#build();
    else this.#fill();
  }

  /** Returns the differences between two sides in words. */
  differences(one, two) {
    if (one.algorithm !== two.algorithm) return [this.#catalogue.find(({ id }) => id === two.algorithm).name];
    const texts = this.definition.parameters
      .filter(({ id }) => one.parameters[id] !== two.parameters[id])
      .map(({ id, label }) => `${label} ${number(one.parameters[id], 3)} → ${number(two.parameters[id], 3)}`);
    if (one.per_key !== two.per_key) texts.push(two.per_key ? 'per key' : 'one for all keys');
    if (one.wait !== two.wait) texts.push(two.wait === undefined ? 'no wait' : `wait up to ${span(two.wait)}`);
    return texts;
  }

  /** Shows what the server says about the fields. Returns the messages that belong to no field of this form. */
  complain(errors) {
    for (const field of this.#fields.values()) this.#mark(field, null);
    return errors.filter(({ parameter, message }) => {
      const field = this.#fields.get(parameter);
      if (field) this.#mark(field, message);
      return !field;
    });
  }

  #choose(id) {
    this.#chosen = id.startsWith(OFFERED) ? Number(id.slice(OFFERED.length)) : -1;
    this.#side = this.#offer.limiters[this.#chosen]?.side ?? sideOf(
      this.#catalogue.find(algorithm => algorithm.id === id),
      this.#side,
    );
    this.#build();
    this.#changed(this.#side);
  }

  #build() {
    const { parameters, shares } = this.definition;
    this.#fields.clear();
    const fields = parameters.map(parameter => this.#field(parameter));
    if (!shares)
      fields.push(
        this.#field({
          id: 'wait',
          label: 'Wait up to',
          unit: 'seconds',
          kind: 'duration',
          minimum: 0,
          help: 'The longest time that a request waits in line before it is refused. Leave it empty to refuse at once.',
        }),
      );
    this.parameters.replaceChildren(...fields);
    this.#fill();
  }

  #field({ id, label, unit, kind, minimum, maximum, help }) {
    const of = `side-${this.#index}-${id}`;
    const input = make('input', {
      id: of,
      name: id,
      type: 'number',
      min: minimum,
      max: maximum,
      step: kind === 'integer' ? 1 : 'any',
      placeholder: id === 'wait' ? 'no' : undefined,
      title: help,
      'aria-describedby': `${of}-error ${of}-help`,
      oninput: () => this.#typed(id, input, { minimum, maximum }),
    });
    const error = make('p', { id: `${of}-error`, class: 'error', hidden: true });
    this.#fields.set(id, { input, error });
    const short = UNITS[unit] ?? '';
    return make(
      'div',
      { class: 'field' },
      make('label', { for: of }, short ? `${label}, ${short}` : label),
      input,
      error,
      make('span', { id: `${of}-help`, hidden: true }, help),
    );
  }

  #typed(id, input, { minimum, maximum }) {
    const text = input.value.trim();
    if (id === 'wait') {
      const { wait, ...rest } = this.#side;
      this.#side = rest;
      this.#edit(text === '' && !input.validity.badInput ? {} : { wait: Number(text) });
      return;
    }
    const value = Number(text);
    if (text === '' || !Number.isFinite(value)) {
      this.#mark(this.#fields.get(id), `Enter a number from ${number(minimum, 6)} to ${number(maximum, 6)}.`);
      return;
    }
    this.#edit({ parameters: { ...this.#side.parameters, [id]: value } });
  }

  #edit(part) {
    this.#side = { ...this.#side, ...part };
    this.#nameAlgorithm();
    this.#changed(this.#side);
  }

  #fill() {
    const { summary, good_for: goodFor, bad_for: badFor } = this.definition;
    this.#nameAlgorithm();
    this.#summary.textContent = summary;
    this.#goodFor.textContent = goodFor;
    this.#badFor.textContent = badFor;
    this.#perKey.checked = this.#side.per_key;
    this.perKey.hidden = this.definition.shares;
    for (const [id, { input }] of this.#fields)
      input.value = (id === 'wait' ? this.#side.wait : this.#side.parameters[id]) ?? '';
    this.complain([]);
  }

  /** Shows the name of the limiter that was copied from the policy, until a value is another one than there. */
  #nameAlgorithm() {
    const copied = this.#offer.limiters[this.#chosen]?.side;
    const isCopy = copied && isSame(copied, this.#side);
    this.algorithm.value = isCopy ? `${OFFERED}${this.#chosen}` : this.#side.algorithm;
  }

  #mark({ input, error }, message) {
    complain(error, message);
    if (message) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
  }
}

/** Returns the options for the limiters of a policy, in a group; none if there is no policy. */
function offered({ source, limiters }) {
  if (limiters.length === 0) return [];
  const options = limiters.map(({ name, side, reason }, place) =>
    make('option', { value: `${OFFERED}${place}`, disabled: !side }, side ? name : `${name}: ${reason}`),
  );
  return [make('optgroup', { label: `Copies of ${source}` }, ...options)];
}

function isSame(one, two) {
  const isEqual = ([id, value]) => two.parameters[id] === value;
  return (
    one.algorithm === two.algorithm &&
    one.per_key === two.per_key &&
    one.wait === two.wait &&
    Object.entries(one.parameters).every(isEqual)
  );
}
