// A side of the page: its form, the drawing of its limiter, its totals, and its numbers as a table.

import { byId, folds, make, write } from './dom.js';
import { describe, drawLimiter, rows } from './draw/limiter.js';
import { Scene } from './draw/scene.js';
import { SideForm } from './form.js';
import { History } from './history.js';
import { NAMES } from './setup.js';
import { number } from './words.js';

export class Side {
  history = new History();
  states = [];
  at = 0;
  totals = { granted: 0, refused: 0, waiting: 0 };
  fields = null;
  /** The set-up that is in force. */
  #inForce;
  #nodes;
  #scene;
  #width = 0;
  #resized;

  /** `changed(side)` is called with a new set-up of this side, `removed()` when it shall go. */
  constructor({ index, catalogue, offer, side, changed, removed }) {
    this.name = NAMES[index];
    this.form = new SideForm({ index, catalogue, offer, side, changed });
    const drawing = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    const label = `side-${index}-drawing`;
    drawing.setAttribute('role', 'img');
    drawing.setAttribute('class', 'drawing');
    drawing.id = label;
    const total = (kind, text) => make('li', { class: kind }, make('b', {}, '0'), ` ${text}`);
    this.#nodes = {
      drawing,
      granted: total('granted', 'granted'),
      refused: total('refused', 'refused'),
      waiting: total('waiting', 'waiting'),
      keys: make('li', { class: 'keys', title: 'Requests of each key that were granted' }),
      table: make('tbody'),
    };
    const remove = make(
      'button',
      {
        type: 'button',
        class: 'quiet',
        'aria-label': `Remove limiter ${this.name}`,
        title: 'Remove',
        onclick: removed,
      },
      '×',
    );
    const edit = make(
      'button',
      { type: 'button', class: 'more', 'aria-expanded': 'false', 'aria-label': `Edit limiter ${this.name}` },
      'Edit',
    );
    const numbers = make(
      'details',
      { class: 'numbers' },
      make('summary', {}, 'Numbers'),
      make('table', {}, make('caption', { class: 'hidden' }, `State of limiter ${this.name}`), this.#nodes.table),
    );
    const { granted, refused, waiting, keys } = this.#nodes;
    this.node = make(
      'article',
      { class: 'side', 'aria-label': `Limiter ${this.name}` },
      make(
        'div',
        { class: 'side-head' },
        make('span', { class: 'letter', 'aria-hidden': 'true' }, this.name),
        this.form.algorithm,
        this.form.perKey,
        edit,
        remove,
      ),
      this.form.summary,
      this.form.parameters,
      drawing,
      make(
        'div',
        { class: 'side-foot' },
        make(
          'ul',
          { class: 'totals', 'aria-label': `Totals of limiter ${this.name}` },
          make('li', {}, 'Requests:'),
          granted,
          refused,
          waiting,
          keys,
        ),
        numbers,
      ),
    );
    folds(edit, this.node);
    this.#inForce = side;
    this.#scene = new Scene(drawing);
    this.#resized = new ResizeObserver(([{ contentRect }]) => (this.#width = contentRect.width));
    this.#resized.observe(drawing);
  }

  /** Forgets what was drawn. */
  clear() {
    this.history = new History();
    this.states = [];
    this.fields = null;
    this.#inForce = this.form.side;
    this.totals = { granted: 0, refused: 0, waiting: 0 };
    this.#tell();
  }

  /** Marks that a set-up is in force from now on, if it is another one than before. */
  changed(side, now) {
    const texts = this.form.differences(this.#inForce, side);
    const isOther = side.algorithm !== this.#inForce.algorithm || side.per_key !== this.#inForce.per_key;
    this.#inForce = side;
    if (texts.length) this.history.change(now, texts.join(', '), isOther);
  }

  /** Takes over its part of a frame. */
  hear(at, { decisions, states, totals, fields }) {
    this.at = at;
    this.states = states;
    this.totals = totals;
    this.fields = fields ?? this.fields;
    this.history.add(at, { decisions, states });
    this.#tell();
  }

  draw(now, seconds, pace) {
    if (this.#width === 0) return;
    drawLimiter(this.#scene, {
      width: this.#width,
      side: this,
      now,
      seconds,
      pace,
      waits: this.form.side.wait !== undefined,
    });
  }

  /** Says in words how the side stands, for readers of screens and in its table. */
  describe(now) {
    const text = this.states.map(state => describe(state, this.at, now)).join('; ');
    this.#nodes.drawing.setAttribute('aria-label', `${this.form.definition.name}: ${text || 'no request yet'}`);
    if (!this.#nodes.table.closest('details').open) return;
    const all = this.states.flatMap(state =>
      rows(state, this.at, now).map(([name, value]) => [state.key === null ? name : `${state.key}: ${name}`, value]),
    );
    this.#nodes.table.replaceChildren(
      ...all.map(([name, value]) => make('tr', {}, make('th', { scope: 'row' }, name), make('td', {}, value))),
    );
  }

  remove() {
    this.#resized.disconnect();
    this.node.remove();
  }

  #tell() {
    for (const kind of ['granted', 'refused', 'waiting'])
      write(this.#nodes[kind].firstChild, number(this.totals[kind]));
    this.#nodes.waiting.hidden = this.totals.waiting === 0 && this.form.side.wait === undefined;
    const keys = [...this.history.keys].sort().slice(0, 3);
    const parts = keys.map(([key, { asked, granted }]) => `${key} ${number(granted)} of ${number(asked)}`);
    write(this.#nodes.keys, keys.length > 1 ? `granted by key: ${parts.join(', ')}` : '');
  }
}

/** The button that adds one more side, with its text or without. */
export function addButton(isLarge, add) {
  const text = isLarge ? 'Compare with a second limiter' : 'Compare with one more limiter';
  return make(
    'button',
    {
      type: 'button',
      id: 'add-side',
      class: isLarge ? 'add' : 'quiet',
      'aria-label': text,
      title: text,
      onclick: () => {
        add();
        byId('sides').focus();
      },
    },
    isLarge ? text : '+',
  );
}
