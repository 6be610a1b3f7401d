// Set-ups: what the sides are, made from the catalogue of algorithms.

/** Names of the sides, in their order. */
export const NAMES = ['A', 'B'];

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
  const wait = algorithm.waits ? (other?.wait ?? undefined) : undefined;
  return {
    algorithm: algorithm.id,
    parameters: Object.fromEntries(algorithm.parameters.map(parameter => [parameter.id, value(parameter)])),
    per_key: other?.per_key ?? false,
    ...(wait === undefined ? {} : { wait }),
  };
}

/** Returns the algorithm that a second side begins with: one that the first is worth comparing with. */
export function companionOf(side, catalogue) {
  const wanted = { fixed_window: 'sliding_log', token_bucket: 'fixed_window' }[side.algorithm] ?? 'token_bucket';
  return catalogue.find(({ id }) => id === wanted) ?? catalogue[0];
}
