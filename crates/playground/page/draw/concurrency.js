// Requests in flight: a row for each permit, taken from the start of a request to its end.

import { drawGauge, drawNow, drawRequests } from './axis.js';
import { clock, count, level } from '../words.js';

/** The most rows that are drawn. */
const MOST_ROWS = 24;

export function inUse({ in_use: requests }) {
  return requests.reduce((sum, { cost }) => sum + cost, 0);
}

export function drawConcurrency(scene, { state, held, marks, axis, box }) {
  const rows = Math.min(state.limit, MOST_ROWS);
  const [top, bottom] = [box.top + 16, box.bottom - 2];
  const height = (bottom - top) / rows;
  scene.text('note', axis.left, box.top + 9, `limit: ${count(state.limit, 'permit')} at a time`);
  for (let row = 0; row < rows; row += 1)
    scene.line('seat', axis.left, top + (row + 0.5) * height, axis.right, top + (row + 0.5) * height);
  for (const { request, row, taken } of seated(held, rows)) {
    if (request.until < axis.from) continue;
    const [left, now, right] = [request.since, Math.min(axis.now, request.until), request.until].map(at =>
      axis.within(at),
    );
    const y = top + row * height + 1;
    const tall = Math.max(2, height * taken - 2);
    scene.rect('hold coming', left, y, right - left, tall, 3);
    scene.rect(`hold ${request.until > axis.now ? 'live' : 'past'}`, left, y, now - left, tall, 3);
    if (tall > 11 && now - left > 14) scene.text('count live', left + 5, y + tall / 2 + 4, request.key);
  }
  drawNow(scene, axis, box.top, box.bottom);
  scene.line('base', axis.left, box.bottom, axis.right, box.bottom);
  drawRequests(scene, axis, marks, box.bottom);
  const total = inUse(state);
  drawGauge(scene, {
    ...box,
    level: total,
    most: state.limit,
    kind: total >= state.limit ? 'used full' : 'used',
    value: level(total),
    unit: 'permits held',
  });
}

/** Returns the rows of the table of a concurrency limit. */
export function concurrencyRows(state) {
  const rows = state.in_use
    .slice(0, 8)
    .map(({ key, since, until, cost }) => [`${key}, cost ${level(cost)}`, `${clock(since)} to ${clock(until)}`]);
  return [['in use', `${level(inUse(state))} of ${level(state.limit)}`], ...rows];
}

/** Gives each request the first rows that are free when it starts. */
function seated(held, rows) {
  const free = new Array(rows).fill(-Infinity);
  const seats = [];
  for (const request of [...held].sort((one, two) => one.since - two.since)) {
    const taken = Math.min(request.cost, rows);
    let row = 0;
    while (row + taken < rows && free.slice(row, row + taken).some(until => until > request.since + 1e-9)) row += 1;
    free.fill(request.until, row, row + taken);
    seats.push({ request, row, taken });
  }
  return seats;
}
