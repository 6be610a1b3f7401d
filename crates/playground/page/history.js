// What a side has decided in this run, for the drawings that look back.

/** The most decisions that are remembered; older ones are forgotten first. */
const MOST_MARKS = 20_000;
const MOST_SAMPLES = 2_000;

/** The precision of instants, in seconds: a grant that is a whole window older counts no more. */
const MICROSECOND = 1e-6;

const GRANTED = new Set(['granted', 'granted_late']);

export class History {
  /** Decisions with an end: granted, refused, granted late, gave up. */
  marks = [];
  /** States of buckets by key, as `{at, state}`. */
  samples = new Map();
  /** Windows that have ended, by their start; they are drawn until they are out of sight. */
  windows = new Map();
  /** Requests that were held, by key and start. */
  held = new Map();
  /** Requests and grants by key. */
  keys = new Map();
  /** Changes of the limiter, as `{at, text}`. */
  changes = [];
  /** Granted and refused of this run, as remembered for the summary. */
  counts = { granted: 0, refused: 0 };
  #busiest = null;

  get #changedAt() {
    return this.changes.at(-1)?.at ?? -Infinity;
  }

  /** Takes over the frame of a side. */
  add(at, { decisions, states }) {
    for (const decision of decisions) {
      if (decision.outcome === 'waiting') continue;
      const granted = GRANTED.has(decision.outcome);
      const mark = { ...decision, granted };
      this.marks.push(mark);
      if (mark.at >= this.#changedAt) this.#busiest?.add(mark);
      this.counts[granted ? 'granted' : 'refused'] += 1;
      const key = this.keys.get(decision.key) ?? { asked: 0, granted: 0 };
      key.asked += 1;
      key.granted += granted ? 1 : 0;
      this.keys.set(decision.key, key);
    }
    if (this.marks.length > MOST_MARKS) this.marks.splice(0, this.marks.length - MOST_MARKS);
    for (const { key, state } of states) {
      if ('level' in state || state.kind === 'queue') this.#sample(key, at, state);
      for (const window of state.windows ?? [])
        this.windows.set(`${key}:${window.window}:${window.from.toFixed(6)}`, { key, ...window });
      for (const request of state.in_use ?? [])
        this.held.set(`${key}:${request.since}:${request.until}:${request.key}`, request);
    }
    forgetOld(this.windows, 200);
    forgetOld(this.held, 200);
  }

  #sample(key, at, state) {
    const samples = this.samples.get(key) ?? [];
    samples.push({ at, state });
    if (samples.length > MOST_SAMPLES) samples.splice(0, samples.length - MOST_SAMPLES);
    this.samples.set(key, samples);
  }

  /** Marks a change of the limiter. Another algorithm keeps none of the counts of the one before. */
  change(at, text, isOther) {
    this.changes.push({ at, text });
    this.#busiest = null;
    if (!isOther) return;
    for (const map of [this.samples, this.windows, this.held]) map.clear();
  }

  /** Returns the span of `window` seconds since the last change in which the most was granted, or nothing before a grant. */
  busiest(window, areKeysOne) {
    if (this.#busiest?.window !== window || this.#busiest.areKeysOne !== areKeysOne) {
      this.#busiest = new Busiest(window, areKeysOne);
      for (const mark of this.since(this.#changedAt)) this.#busiest.add(mark);
    }
    return this.#busiest.span;
  }

  /** Returns the decisions since an instant. */
  since(at) {
    return this.marks.slice(firstSince(this.marks, at));
  }
}

/** The span of `window` seconds in which the most was granted: to all keys together, or to the one that got most. */
class Busiest {
  /** Nothing before the first grant. */
  span = null;
  #recent = new Map();

  constructor(window, areKeysOne) {
    this.window = window;
    this.areKeysOne = areKeysOne;
  }

  add({ at, key, cost, granted }) {
    if (!granted) return;
    const of = this.areKeysOne ? null : key;
    const recent = this.#recent.get(of) ?? { grants: [], first: 0, sum: 0 };
    this.#recent.set(of, recent);
    recent.grants.push({ at, cost });
    recent.sum += cost;
    while (recent.grants[recent.first].at <= at - this.window + MICROSECOND)
      recent.sum -= recent.grants[recent.first++].cost;
    if (recent.first > 1000) {
      recent.grants.splice(0, recent.first);
      recent.first = 0;
    }
    if (!this.span || recent.sum > this.span.sum)
      this.span = { from: recent.grants[recent.first].at, to: at, sum: recent.sum };
  }
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
