// What a side has decided in this run, for the drawings that look back.

/** The most decisions that are remembered; older ones are forgotten first. */
const MOST_MARKS = 20_000;
const MOST_SAMPLES = 2_000;

const GRANTED = new Set(['granted', 'granted_late']);

export class History {
  /** Decisions with an end: granted, refused, granted late, gave up. */
  marks = [];
  /** Levels of buckets by key, as `{at, level}`. */
  levels = new Map();
  /** Windows that have ended, by their start; they are drawn until they are out of sight. */
  windows = new Map();
  /** Requests that were held, by key and start. */
  held = new Map();
  /** Requests and grants by key. */
  keys = new Map();
  /** Granted and refused of this run, as remembered for the summary. */
  counts = { granted: 0, refused: 0 };

  /** Takes over the frame of a side. */
  add(at, { decisions, states }) {
    for (const decision of decisions) {
      if (decision.outcome === 'waiting') continue;
      const granted = GRANTED.has(decision.outcome);
      this.marks.push({ ...decision, granted });
      this.counts[granted ? 'granted' : 'refused'] += 1;
      const key = this.keys.get(decision.key) ?? { asked: 0, granted: 0 };
      key.asked += 1;
      key.granted += granted ? 1 : 0;
      this.keys.set(decision.key, key);
    }
    if (this.marks.length > MOST_MARKS) this.marks.splice(0, this.marks.length - MOST_MARKS);
    for (const { key, state } of states) {
      if ('level' in state || state.kind === 'queue') this.#sample(key, at, state.level ?? state.queued);
      for (const window of state.windows ?? []) this.windows.set(`${key}:${window.window}:${window.from.toFixed(6)}`, { key, ...window });
      for (const request of state.in_use ?? []) this.held.set(`${key}:${request.since}:${request.until}:${request.key}`, request);
    }
    forgetOld(this.windows, 200);
    forgetOld(this.held, 200);
  }

  #sample(key, at, level) {
    const samples = this.levels.get(key) ?? [];
    samples.push({ at, level });
    if (samples.length > MOST_SAMPLES) samples.splice(0, samples.length - MOST_SAMPLES);
    this.levels.set(key, samples);
  }

  /** Returns the decisions since an instant. */
  since(at) {
    return this.marks.slice(firstSince(this.marks, at));
  }
}

/**
 * Returns the span of `window` seconds in which the most permits were granted to one key, or nothing if there was no grant.
 * `one` says that all keys share the limit.
 */
export function busiestSpan(marks, window, one) {
  const grants = new Map();
  let busiest = null;
  for (const { at, key, cost, granted } of marks) {
    if (!granted) continue;
    const of = one ? null : key;
    const recent = grants.get(of) ?? { queue: [], first: 0, sum: 0 };
    recent.queue.push({ at, cost });
    recent.sum += cost;
    while (recent.queue[recent.first].at <= at - window) recent.sum -= recent.queue[recent.first++].cost;
    grants.set(of, recent);
    if (!busiest || recent.sum > busiest.sum) busiest = { from: recent.queue[recent.first].at, to: at, sum: recent.sum };
  }
  return busiest;
}

/** Returns the index of the first entry at or after an instant. */
function firstSince(entries, at) {
  let [low, high] = [0, entries.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (entries[middle].at < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Forgets what was added first. (A map keeps the order in which keys came.) */
function forgetOld(map, most) {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
