// Elements of the page.

import { number } from './words.js';

/** Returns the element with an id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Makes an element: `make('p', { class: 'note', onclick: … }, 'text', child)`. Names that begin with `on` are listeners. */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Writes a text if it is another than before, so that a live region does not speak again. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Shows an error, or hides it if there is none. */
export function complain(node, message) {
  write(node, message ?? '');
  node.hidden = !message;
}

/** Returns the number of a field. Throws an error that says what the field allows if it has another value. */
export function entered(id, name) {
  const { value, valueAsNumber, validity, min, max, step } = byId(id);
  if (validity.valid && !Number.isNaN(valueAsNumber)) return valueAsNumber;
  const kind = step === '1' ? 'a whole number' : 'a number';
  const range = max ? `from ${number(Number(min), 3)} to ${number(Number(max))}` : `of at least ${number(Number(min), 3)}`;
  throw new Error(`${name} is ${value || 'no number'}: must be ${kind} ${range}.`);
}

/** Lets a button fold and unfold a node, for screens that have no room for all of it. */
export function folds(button, node) {
  button.addEventListener('click', () => {
    const isOpen = node.classList.toggle('open');
    button.setAttribute('aria-expanded', isOpen);
  });
}

/** Whether the reader asks for less movement. */
export const calm = matchMedia('(prefers-reduced-motion: reduce)');
