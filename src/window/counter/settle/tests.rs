//! Every word of a few bits, settled.

use super::*;

/// Returns fields of two bits each: with a previous count, and without.
fn fields(has_previous: bool) -> CountFields {
    let current = Field::low(2);
    let previous = current.then(2);
    let window = previous.then(2);
    CountFields { window, current, previous: has_previous.then_some(previous) }
}

/// A number, the previous count and the present one.
fn decoded(fields: &CountFields, word: u64) -> [u64; 3] {
    [fields.number(word), (word >> 2) & 3, fields.current.get(word)]
}

fn words() -> impl Iterator<Item = u64> {
    (0..64).flat_map(|word| [word, with_gate(word, true)])
}

#[test]
fn every_small_state_loses_as_much_as_is_given_back_in_the_window_that_was_charged() {
    for has_previous in [false, true] {
        let fields = fields(has_previous);
        for (word, charged) in words().flat_map(|word| (0..4).map(move |number| (word, number))) {
            let [number, previous, current] = decoded(&fields, word);
            for permits in 0..6 {
                let counts = match (number + 4 - charged) % 4 {
                    0 => Some([previous, current - permits.min(current)]),
                    1 if has_previous => Some([previous - permits.min(previous), current]),
                    _ => None,
                };
                let Some((next, given)) = fields.less(word, charged, permits) else {
                    assert_eq!(counts, None, "{word:b} {charged}");
                    continue;
                };
                let [after, before_it, present] = decoded(&fields, next);
                assert_eq!((Some([before_it, present]), after), (counts, number), "{word:b}");
                assert_eq!(given, previous + current - before_it - present);
                assert!(given <= permits && is_gated(next) == is_gated(word));
            }
        }
    }
}

#[test]
fn every_small_state_counts_what_is_taken_beyond_as_far_as_it_can() {
    for has_previous in [false, true] {
        let fields = fields(has_previous);
        for word in words() {
            let [number, previous, current] = decoded(&fields, word);
            for permits in [0, 1, 2, 3, 4, u64::MAX] {
                let (next, taken) = fields.more(word, permits);
                assert_eq!(taken, permits.min(3 - current));
                assert_eq!(decoded(&fields, next), [number, previous, current + taken]);
                assert_eq!(is_gated(next), is_gated(word));
            }
        }
    }
}

/// Estimates of a window of two bits, in every order of six steps: each takes some, gives back, or
/// takes beyond. The count is the sum of what is charged.
#[test]
fn every_small_state_that_settlements_lead_to_counts_what_is_charged() {
    let fields = fields(false);
    let mut states = vec![(fields.window.put(2), [0_u64; 2])];
    for _ in 0..6 {
        let mut next = Vec::new();
        for &(word, charges) in &states {
            let count = fields.current.get(word);
            assert_eq!(count, charges.iter().sum::<u64>());
            for which in 0..2 {
                for permits in 0..4 {
                    let mut settled = charges;
                    if permits <= charges[which] {
                        let (less, given) = fields.less(word, 2, permits).unwrap();
                        assert_eq!(given, permits);
                        settled[which] -= given;
                        next.push((less, settled));
                    }
                    let (more, taken) = fields.more(word, permits);
                    settled = charges;
                    settled[which] += taken;
                    next.push((more, settled));
                }
            }
        }
        next.sort_unstable();
        next.dedup();
        states = next;
    }
    // All ways to share up to three.
    assert_eq!(states.len(), 10);
}
