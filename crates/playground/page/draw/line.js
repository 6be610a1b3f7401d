// The waiting line: a block for each request, as wide as its cost; the first is the next to go.

import { count, soon } from '../words.js';

/** The height of the line below a drawing. */
export const LINE = 30;

/** The width of a letter of the text, at most. */
const LETTER = 6;

export function drawLine(scene, { line, now, left, right, y }) {
  const gate = right - 12;
  scene.line('gate', gate + 6, y + 2, gate + 6, y + LINE - 6);
  if (line.length === 0) {
    scene.text('note', gate - 2, y + 16, 'nobody waits', 'end');
    return;
  }
  const first = line[0];
  const turn = first.turn_at > now ? `next in ${soon(first.turn_at - now)}` : 'next';
  const label = `${count(line.length, 'request')} in line, ${turn}`;
  const start = left + 8 + label.length * LETTER;
  const room = gate - start;
  const costs = line.reduce((sum, { cost }) => sum + cost, 0);
  const unit = Math.max(1.5, Math.min(22, room / costs));
  let x = gate;
  for (const { key, cost } of line) {
    const width = Math.max(10, cost * unit);
    if (x - width < start) break;
    x -= width;
    scene.rect(x + width === gate ? 'waiter first' : 'waiter', x + 1, y + 3, width - 2, LINE - 10, 3);
    if (width > 9)
      scene.text('waiter-key', x + width / 2, y + 17, key.slice(0, Math.max(1, Math.floor(width / 8))), 'middle');
  }
  scene.text('note', left, y + 16, label);
}
