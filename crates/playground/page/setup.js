// Set-ups: what the sides are, made from the catalogue of algorithms.

/** Names of the sides, in their order. */
export const NAMES = ['A', 'B', 'C', 'D'];

/** Returns a side with defaults for what it does not say. */
export function completed(side, algorithm) {
  const { parameters, per_key } = sideOf(algorithm);
  return { ...side, parameters: { ...parameters, ...side.parameters }, per_key: side.per_key ?? per_key };
}

/** Returns a side with an algorithm's defaults. It keeps parameters of the same name from another side. */
export function sideOf(algorithm, other) {
  const value = ({ id, default: usual, minimum, maximum }) => {
    const kept = other?.parameters[id];
    return kept >= minimum && kept <= maximum ? kept : usual;
  };
  const wait = algorithm.shares ? undefined : (other?.wait ?? undefined);
  return {
    algorithm: algorithm.id,
    parameters: Object.fromEntries(algorithm.parameters.map(parameter => [parameter.id, value(parameter)])),
    per_key: (!algorithm.shares && other?.per_key) ?? false,
    ...(wait === undefined ? {} : { wait }),
  };
}

/** Algorithms that are worth comparing, in the order in which they are offered for one more side. */
const WORTH = ['token_bucket', 'fixed_window', 'sliding_log', 'leaky_queue'];

/** Returns the algorithm that one more side begins with: one that no other side has. */
export function companionOf(sides, catalogue) {
  const first = sides.length === 1 && sides[0].algorithm === 'fixed_window' ? ['sliding_log'] : [];
  const wanted = [...first, ...WORTH].find(id => sides.every(({ algorithm }) => algorithm !== id));
  return catalogue.find(({ id }) => id === wanted) ?? catalogue[0];
}
