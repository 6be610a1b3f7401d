// Labels of time below a drawing, with a line for each.

import { clock } from '../words.js';

/** Steps between two labels, in seconds. */
const STEPS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 604_800];

/** The least distance of two labels, and of a label from the edges, in pixels. */
const APART = 62;
const EDGE = 16;

/** Room below a drawing for the labels, in pixels. */
export const TICKS = 16;

/** Draws ticks from `left` to `right`, which are the instants `from` and `to`, and lines up to `top`. */
export function drawTicks(scene, { left, right, from, to, top, bottom }) {
  // A drawing that is narrower than its gauge has no axis.
  if (right - left < EDGE) return;
  const unit = (right - left) / (to - from);
  const step = STEPS.find(step => step * unit > APART) ?? STEPS.at(-1) * Math.ceil(APART / (STEPS.at(-1) * unit));
  for (let number = Math.max(0, Math.ceil(from / step)); number * step <= to; number += 1) {
    const x = left + (number * step - from) * unit;
    scene.line('grid', x, top, x, bottom + 3);
    const isInside = x >= left + EDGE && x <= right - EDGE;
    if (isInside) scene.text('note', x, bottom + TICKS - 2, clock(number * step, step < 1 ? 1 : 0), 'middle');
  }
}
