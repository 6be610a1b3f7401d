// The connection to the server: a session with its event stream, which is mended when it breaks.

const BASE = 'playground';

/** Waits before new attempts to connect, in milliseconds; the last one is repeated. */
const PAUSES = [250, 1000, 2000, 4000];

/** The longest silence of a server that is there, in milliseconds: it sends a frame each second. */
const SILENCE = 3000;

/** The time between two looks whether the server has gone silent, in milliseconds. */
const LOOK = 500;

/** The longest wait for an answer, in milliseconds. */
const ANSWER = 10_000;

/** An answer that refuses a request, with the problem details of the server. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `the server answered ${status}`);
    this.status = status;
    this.errors = problem.errors ?? [];
  }
}

/**
 * A session on the server. Its events: `frame` (detail: the frame), `connection` (detail: `connecting`, `live`, `lost`, or
 * `refused` if the set-up is none) and `renewed`, when a lost session was replaced by a new one with the same set-up.
 */
export class Session extends EventTarget {
  #id = null;
  #events = null;
  #attempt = 0;
  #wanted = null;
  #timer = 0;
  #heard = Infinity;

  /** Asks for what the page offers: `algorithms`, the `limiters` of the server's policy, or `scenarios`. */
  static async list(name) {
    return answer(await fetch(`${BASE}/${name}`));
  }

  /** Starts a session. `wanted()` returns the set-up and the streams of now, for each attempt. */
  async start(wanted) {
    this.#wanted = wanted;
    setInterval(() => this.#watch(), LOOK);
    await this.#connect(false);
  }

  /** Changes the terms in place. Rejects with `Refused` if a value is out of its range. */
  change(setup) {
    // Without a session, the set-up of the page was refused; this one may be better.
    return this.#id === null ? this.#connect(false) : this.#call('PUT', '', setup);
  }

  /** Begins anew with another set-up. */
  async restart(setup, streams) {
    await this.change(setup);
    await this.streams(streams);
    await this.reset();
  }

  send(request) {
    return this.#call('POST', '/send', request);
  }

  streams(streams) {
    return this.#call('PUT', '/streams', { streams });
  }

  speed(speed) {
    return this.#call('PUT', '/speed', { speed });
  }

  reset() {
    return this.#call('POST', '/reset');
  }

  play(id) {
    return this.#call('POST', '/scenario', { id });
  }

  async #connect(again) {
    this.#tell('connection', 'connecting');
    const { setup, streams } = this.#wanted();
    try {
      const made = await answer(await post('POST', `${BASE}/sessions`, setup));
      this.#id = made.session;
    } catch (error) {
      if (error instanceof Refused && error.status === 422) {
        this.#tell('connection', 'refused');
        throw error;
      }
      this.#retry();
      return;
    }
    // First, so that the page lives on if the server refuses the streams of a link.
    this.#listen();
    if (again) this.#tell('renewed');
    if (streams.length) await this.streams(streams);
  }

  #listen() {
    this.#events?.close();
    const events = new EventSource(`${BASE}/sessions/${this.#id}/events`);
    this.#events = events;
    this.#heard = performance.now();
    events.addEventListener('open', () => {
      this.#heard = performance.now();
      this.#attempt = 0;
      this.#tell('connection', 'live');
    });
    events.addEventListener('frame', event => {
      this.#heard = performance.now();
      this.#tell('frame', JSON.parse(event.data));
    });
    events.addEventListener('error', () => {
      // The browser tries again by itself, unless the server knows the session no more.
      if (events.readyState === EventSource.CLOSED) this.#retry();
      else this.#tell('connection', 'lost');
    });
  }

  /**
   * Replaces a stream that is open and silent: a browser does not notice that its server has stopped or the network is gone.
   * The session may still be there, so the new stream is one of the same.
   */
  #watch() {
    if (performance.now() - this.#heard <= SILENCE) return;
    this.#tell('connection', 'lost');
    this.#listen();
  }

  #retry() {
    this.#events?.close();
    this.#heard = Infinity;
    this.#tell('connection', 'lost');
    const pause = PAUSES[Math.min(this.#attempt++, PAUSES.length - 1)];
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(true).catch(() => this.#retry()), pause);
  }

  async #call(method, path, body) {
    let response;
    try {
      response = await post(method, `${BASE}/sessions/${this.#id}${path}`, body);
    } catch {
      this.#tell('connection', 'lost');
      throw new Refused(0, { title: 'The server cannot be reached.' });
    }
    if (response.status === 404) this.#retry();
    return answer(response);
  }

  #tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

function post(method, path, body) {
  const content =
    body === undefined ? {} : { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) };
  return fetch(path, { method, signal: AbortSignal.timeout(ANSWER), ...content });
}

async function answer(response) {
  if (response.ok)
    return response.headers.get('Content-Type')?.includes('json') ? response.json().catch(() => null) : null;
  throw new Refused(response.status, await response.json().catch(() => ({})));
}
