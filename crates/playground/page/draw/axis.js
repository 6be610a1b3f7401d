// The axis of time of a drawing, and what all drawings of limiters share.

import { level as worded } from '../words.js';

/** The share of the axis that is past; the rest is what is known of the future. */
const PAST = 0.8;

/** Room on the right for the gauge. */
export const GAUGE = 84;

/** Room below a chart for the requests that were made. */
export const REQUESTS = 24;

/** Drawings that are lower than this have their gauge's text beside it, in pixels. */
const LOW = 90;

/** Requests nearer than this are one dot, in pixels. */
const NEAR = 5;

/** Room that a number of requests needs beside its dot or cross, and that it needs with the outcome, in pixels. */
const NUMBER = 26;
const WORDS = 84;

/** An axis of `seconds` from `left` to `right`, with an instant on it. */
export class Axis {
  constructor(left, right, now, seconds) {
    Object.assign(this, { left, right, now, seconds });
    // A young clock has no past to leave room for.
    this.from = Math.max(now - seconds * PAST, -0.02 * seconds);
    this.to = this.from + seconds;
    this.nowX = this.x(now);
  }

  x(at) {
    return this.left + ((at - this.from) / this.seconds) * (this.right - this.left);
  }

  /** Returns an x that is not outside of the axis. */
  within(at) {
    return Math.min(this.right, Math.max(this.left, this.x(at)));
  }
}

/** Draws the line of this instant. */
export function drawNow(scene, axis, top, bottom) {
  scene.line('now', axis.nowX, top, axis.nowX, bottom);
  scene.text('note', axis.nowX + 4, bottom - 5, 'now');
}

/** Writes what a span of time is, at its start, if it is wide enough. */
export function drawSpan(scene, left, right, bottom, text) {
  if (right - left > 74) scene.text('note', left + 5, bottom - 5, text);
}

/**
 * Draws requests below a chart: dots that were granted, and under them crosses that were refused; the more at once, the
 * larger, with their number where there is room for it.
 */
export function drawRequests(scene, axis, marks, bottom) {
  let [granted, refused] = ['', ''];
  const found = groups(marks, axis);
  for (const group of found) {
    const r = Math.min(5, 1.6 + Math.sqrt(group.count) * 0.9);
    if (group.granted)
      granted += `M${(group.x - r).toFixed(1)} ${bottom + 8}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`;
    else
      refused += `M${group.x.toFixed(1)} ${bottom + 18}m${-r} ${-r}l${2 * r} ${2 * r}m0 ${-2 * r}l${-2 * r} ${2 * r}`;
  }
  scene.path('dot granted', granted);
  scene.path('dot refused', refused);
  for (const kind of [true, false]) {
    const ofKind = found.filter(({ granted }) => granted === kind);
    ofKind.forEach(({ x, count }, index) => {
      const room = (ofKind[index + 1]?.x ?? axis.right + GAUGE / 4) - x;
      if (room < (count > 1 ? NUMBER : WORDS)) return;
      const text = room < WORDS ? String(count) : `${count} ${kind ? 'granted' : 'refused'}`;
      scene.text('note', x + 8, bottom + (kind ? 12 : 22), text);
    });
  }
}

function groups(marks, axis) {
  const found = [];
  const last = { true: null, false: null };
  for (const { at, granted } of marks) {
    const x = axis.x(at);
    if (x < axis.left) continue;
    const near = last[granted];
    if (near && x - near.x < NEAR) near.count += 1;
    else found.push((last[granted] = { x, granted, count: 1 }));
  }
  return found;
}

/** Draws a vessel with a level from `0` to `most`, and its texts: below, or beside it if the drawing is low. */
export function drawGauge(scene, { right, top, bottom, level, most, kind, value, unit }) {
  const isLow = bottom - top < LOW;
  const [width, left] = isLow ? [18, right - 76] : [46, right - 58];
  const base = isLow ? bottom + REQUESTS - 8 : bottom - 6;
  const height = base - top;
  const share = most > 0 ? Math.min(1, Math.max(0, level / most)) : 0;
  const filled = share * (height - 6);
  scene.rect('vessel', left, top, width, height, 6);
  scene.rect(`fill ${kind}`, left + 3, base - 3 - filled, width - 6, filled, Math.min(4, filled / 2));
  if (!isLow && most <= 20) {
    for (let permit = 1; permit < most; permit += 1) {
      const y = base - 3 - (permit / most) * (height - 6);
      scene.line('mark', left + 3, y, left + 9, y);
    }
  }
  const of = `of ${worded(most)}`;
  if (isLow) {
    // The unit is two words, which have no room beside each other.
    [of, ...unit.split(' ')].forEach((text, line) =>
      scene.text('note', left + width + 5, top + height / 2 + 6 + 13 * line, text),
    );
    scene.text('value', left + width + 5, top + height / 2 - 8, value);
  } else {
    scene.text('value', left + width / 2, base + 16, value, 'middle');
    scene.text('note', left + width / 2, base + 29, of, 'middle');
    scene.text('note', left + width / 2, base + 42, unit, 'middle');
  }
}
