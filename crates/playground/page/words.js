// Numbers and times as a person reads them.

/** Returns a number with separators of thousands and at most `digits` decimals. */
export function number(value, digits = 0) {
  return value.toLocaleString('en', { maximumFractionDigits: digits });
}

/** Returns a level: with one decimal, or none if it is large. */
export function level(value) {
  return number(value, Math.abs(value) < 100 ? 1 : 0);
}

/** Returns a span of seconds in three significant digits, with its unit. */
export function span(seconds) {
  const [value, unit] =
    seconds < 0.9995
      ? [seconds * 1000, 'ms']
      : seconds < 600
        ? [seconds, 's']
        : seconds < 36_000
          ? [seconds / 60, 'min']
          : [seconds / 3600, 'h'];
  return `${Number(value.toPrecision(3)).toLocaleString('en')} ${unit}`;
}

/** Returns how long something takes from now on: a number that changes all the time, so with few digits. */
export function soon(seconds) {
  return seconds < 60 ? `${Math.max(0, seconds).toFixed(seconds < 10 ? 1 : 0)} s` : span(Math.ceil(seconds / 60) * 60);
}

/** Returns an instant of the simulation: minutes and seconds, and hours if there are any. */
export function clock(seconds, digits = 1) {
  const tenths = Math.max(0, Math.floor(seconds * 10 ** digits + 1e-6) / 10 ** digits);
  const hours = Math.floor(tenths / 3600);
  const minutes = Math.floor((tenths % 3600) / 60);
  const rest = (tenths % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, '0');
  return hours ? `${hours}:${String(minutes).padStart(2, '0')}:${rest}` : `${minutes}:${rest}`;
}

/** Returns `1 permit` or `3 permits`. */
export function count(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** Names of outcomes, which are shown. */
export const OUTCOMES = {
  granted: 'granted',
  refused: 'refused',
  waiting: 'waiting',
  granted_late: 'granted late',
  gave_up: 'gave up',
};
