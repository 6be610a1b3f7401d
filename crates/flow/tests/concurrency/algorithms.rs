//! The algorithms, fed by hand. What the peers' tests say of them is in `conformance`.

use std::time::Duration;

use proptest::prelude::*;
use sluicegate_flow::concurrency::{
    Aimd, ConcurrencyLimit, Gradient2, LimitAlgorithm, Sample, Vegas, Windowed,
};

fn millis(millis: u64, in_flight: u64) -> Sample {
    Sample::new(Duration::from_millis(millis), in_flight)
}

fn dropped(in_flight: u64) -> Sample {
    millis(1, in_flight).dropped()
}

/// The limit after each of `samples`.
fn limits(
    algorithm: &mut dyn LimitAlgorithm,
    samples: impl IntoIterator<Item = Sample>,
) -> Vec<u64> {
    let after = |sample| {
        algorithm.sample(&sample);
        algorithm.limit()
    };
    samples.into_iter().map(after).collect()
}

#[test]
fn aimd_grows_by_one_and_shrinks_by_its_ratio() {
    let mut aimd = Aimd::new().with_initial(10).with_max(12).with_min(3).with_backoff(0.5);
    assert_eq!(limits(&mut aimd, [millis(1, 5), millis(1, 6), millis(1, 9)]), [11, 12, 12]);
    assert_eq!(limits(&mut aimd, [dropped(0), dropped(0), dropped(9)]), [6, 3, 3]);
    // Fewer than half are in use.
    assert_eq!(limits(&mut aimd, [millis(1, 1), millis(1, 2)]), [3, 4]);
}

#[test]
fn aimd_takes_a_call_that_takes_too_long_for_a_drop() {
    let mut aimd = Aimd::new().with_initial(10).with_timeout(Duration::from_millis(100));
    assert_eq!(limits(&mut aimd, [millis(100, 10), millis(101, 10)]), [11, 9]);
}

#[test]
fn aimd_loses_at_least_one_permit_by_a_drop() {
    let mut aimd = Aimd::new().with_initial(4).with_backoff(1.0);
    assert_eq!(limits(&mut aimd, [dropped(4); 5]), [3, 2, 1, 1, 1]);
}

#[test]
fn vegas_grows_while_nothing_is_queued_and_shrinks_when_much_is() {
    let mut vegas = Vegas::new().with_initial(100);
    // Steps are of log10 100: 2. Queued are 0, 2, 3, 6 and 20 of a hundred or so.
    assert_eq!(limits(&mut vegas, [millis(100, 100)]), [100]);
    assert_eq!(limits(&mut vegas, [millis(100, 100)]), [112]);
    assert_eq!(limits(&mut vegas, [millis(104, 100)]), [114]);
    assert_eq!(limits(&mut vegas, [millis(107, 100)]), [114]);
    assert_eq!(limits(&mut vegas, [millis(125, 100)]), [112]);
    // Fewer than half are in use.
    assert_eq!(limits(&mut vegas, [millis(100, 55), millis(125, 55)]), [112, 112]);
    assert_eq!(limits(&mut vegas, [millis(100, 56)]), [124]);
}

#[test]
fn vegas_shrinks_by_a_drop_and_does_not_take_its_time_for_that_of_a_call() {
    let mut vegas = Vegas::new().with_initial(100);
    assert_eq!(limits(&mut vegas, [dropped(1)]), [98], "the first of all");
    assert_eq!(limits(&mut vegas, [millis(100, 98), millis(100, 98)]), [98, 104]);
    assert_eq!(limits(&mut vegas, [dropped(104), millis(100, 102)]), [102, 114], "and a short one");
}

#[test]
fn vegas_forgets_the_shortest_time_now_and_then() {
    let mut vegas = Vegas::new().with_initial(10).with_min(10).with_probes_every(2);
    vegas.sample(&millis(10, 10));
    // The service has become slower for good. All seems to be queued, until a probe says
    // otherwise: after 10 to 20 calls.
    let limits = limits(&mut vegas, (0..22).map(|_| millis(1_000, 10)));
    let grows = limits.iter().position(|&limit| limit > 10).unwrap();
    assert!((9..=20).contains(&grows), "{limits:?}");
}

#[test]
fn vegas_probes_again_and_at_other_moments_for_another_seed() {
    // The calls up to each of three probes. All seem to be queued until one of them is taken for the
    // shortest.
    let probes = |seed| {
        let mut vegas = Vegas::new().with_initial(1_000).with_max(2_000).with_seed(seed);
        vegas.sample(&millis(1, 0));
        [10, 100, 1_000].map(|time| {
            let is_probe = |_: &u64| {
                vegas.sample(&millis(time, 0));
                let mut next = vegas.clone();
                next.sample(&millis(time, 1_000));
                next.limit() > 1_000
            };
            (1..100_000).find(is_probe).unwrap()
        })
    };
    let [first, second] = [probes(1), probes(2)];
    for calls in [first, second] {
        assert!(calls.iter().all(|calls| (14_999..=30_000).contains(calls)), "{calls:?}");
        assert!(calls[0] != calls[1] && calls[1] != calls[2], "{calls:?}");
    }
    assert_ne!(first, second);
    assert_eq!(first, probes(1));
}

/// The shortest time is that of a call without a queue: a call that takes `n` of 64 nanoseconds
/// longer finds `n` of 64 calls queued.
#[test]
fn vegas_tells_the_calls_that_are_queued_to_one() {
    let limit = |queued: u64| {
        let mut vegas = Vegas::new().with_initial(64);
        vegas.sample(&Sample::new(Duration::from_nanos(64 - queued), 64));
        vegas.sample(&Sample::new(Duration::from_nanos(64), 64));
        vegas.limit()
    };
    let limits: Vec<u64> = (0..9).map(limit).collect();
    assert_eq!(limits, [70, 70, 65, 64, 64, 64, 64, 63, 63]);
}

#[test]
fn vegas_takes_steps_of_one_below_ten() {
    let mut vegas = Vegas::new().with_initial(4);
    assert_eq!(limits(&mut vegas, [millis(1, 4), millis(1, 4), dropped(4)]), [4, 10, 9]);
}

#[test]
fn gradient2_grows_by_its_queue_and_shrinks_by_its_gradient() {
    let mut gradient = Gradient2::new().with_initial(100).with_smoothing(1.0).with_queue(10);
    assert_eq!(limits(&mut gradient, [millis(10, 100), millis(10, 100)]), [110, 120]);
    // Within the tolerance of 1.5; the average is then 11.
    assert_eq!(limits(&mut gradient, [millis(13, 120)]), [130]);
    // The average is of 10, 10, 13 and 47: 20. So the gradient is 1.5 x 20 / 47.
    assert_eq!(limits(&mut gradient, [millis(47, 130)]), [92]);
    // At most by half.
    assert_eq!(limits(&mut gradient, [millis(100_000, 92)]), [56]);
}

#[test]
fn gradient2_counts_a_drop_as_the_smallest_gradient() {
    let mut gradient = Gradient2::new().with_initial(100).with_smoothing(1.0).with_queue(0);
    assert_eq!(limits(&mut gradient, [dropped(0), dropped(0)]), [50, 25]);
    // Nor did their times, of a millisecond, get into the average.
    assert_eq!(limits(&mut gradient, [millis(10, 25), millis(10, 25)]), [25, 25]);
}

#[test]
fn gradient2_shrinks_by_a_drop_whatever_its_queue() {
    let mut gradient = Gradient2::new().with_initial(8).with_smoothing(1.0);
    assert_eq!(
        limits(&mut gradient, [dropped(8), dropped(4), dropped(2), dropped(1)]),
        [4, 2, 1, 1]
    );
}

#[test]
fn gradient2_does_not_grow_while_less_than_half_is_used() {
    let mut gradient = Gradient2::new().with_initial(100);
    assert_eq!(limits(&mut gradient, [millis(10, 49), millis(90, 49)]), [100, 100]);
    assert_eq!(limits(&mut gradient, [millis(10, 60); 4]), [100, 101, 102, 103]);
}

#[test]
fn gradient2_takes_a_plain_average_of_ten_and_then_goes_by_its_long_window() {
    let gradient = || Gradient2::new().with_initial(100).with_smoothing(1.0).with_queue(0);
    // The tenth is a tenth of the average, 13, and the eleventh of a window of one is all of it.
    let mut one = gradient().with_long_window(1);
    assert_eq!(limits(&mut one, [millis(10, 0); 9]), [100; 9]);
    assert_eq!(limits(&mut one, [millis(40, 100), millis(40, 100)]), [50, 50]);
    // Of a window of three it is half, so the average is 25 and the gradient 1.5 x 25 / 40.
    let mut three = gradient().with_long_window(3);
    assert_eq!(limits(&mut three, [millis(10, 0); 10]), [100; 10]);
    assert_eq!(limits(&mut three, [millis(40, 100)]), [93]);
}

#[test]
fn gradient2_brings_an_average_of_more_than_twice_the_time_down_by_a_twentieth() {
    let gradient = Gradient2::new().with_initial(100).with_smoothing(1.0).with_queue(0);
    let mut gradient = gradient.with_tolerance(1.0).with_long_window(u32::MAX);
    for _ in 0..10 {
        gradient.sample(&millis(1_000, 0));
    }
    // Not yet at 501 ms, of which it is less than twice as much.
    assert_eq!(limits(&mut gradient, [millis(501, 0), millis(1_001, 100)]), [100, 99]);
    assert_eq!(limits(&mut gradient, [millis(490, 0), millis(1_000, 50)]), [99, 94]);
}

#[test]
fn gradient2_recovers_from_a_long_overload() {
    let mut gradient = Gradient2::new().with_initial(100).with_max(100);
    for _ in 0..10_000 {
        gradient.sample(&millis(1_000, 0));
    }
    // The average is a hundred times too long, and is brought down to twice the present time by 5 %
    // with each sample, not in thousands of them. Then calls that take three times as long count as
    // slow again.
    for _ in 0..100 {
        gradient.sample(&millis(10, 0));
    }
    assert!(limits(&mut gradient, [millis(40, 100)]) < vec![100]);
}

/// An algorithm that keeps its samples.
#[derive(Default)]
struct Kept(Vec<Sample>);
impl LimitAlgorithm for &mut Kept {
    fn limit(&self) -> u64 {
        1
    }
    fn sample(&mut self, sample: &Sample) {
        self.0.push(*sample);
    }
}

/// A call that ended at a time, all in milliseconds.
fn at(ended: u64, rtt: u64, in_flight: u64, was_dropped: bool) -> Sample {
    let sample = millis(rtt, in_flight).ended_at(Duration::from_millis(ended));
    if was_dropped { sample.dropped() } else { sample }
}

#[test]
fn a_window_is_one_sample() {
    let mut kept = Kept::default();
    let mut windowed = Windowed::new(&mut kept).with_least_samples(2);
    let calls = [
        // A window of two calls that count, and one that is too short.
        at(5_000, 10, 3, false),
        at(5_500, 0, 50, false),
        at(6_000, 30, 7, false),
        // One of a single call, which is passed over.
        at(7_000, 40, 7, false),
        // One that was dropped, with another.
        at(7_500, 0, 9, true),
        at(8_000, 60, 2, false),
        // Only a drop.
        at(9_500, 60, 4, true),
        // The clock goes back to before all of that, for good: its first sample ends the window.
        at(20, 15, 1, false),
        at(900, 25, 1, false),
        at(1_020, 35, 2, false),
    ];
    for call in &calls {
        windowed.sample(call);
    }
    let expected = [
        at(6_000, 20, 7, false),
        at(8_000, 60, 9, true),
        at(9_500, 0, 4, true),
        at(1_020, 30, 2, false),
    ];
    assert_eq!(kept.0, expected);
}

#[test]
fn a_window_ends_when_the_clock_has_gone_back_before_its_beginning() {
    let ends = |back: u64| {
        let mut kept = Kept::default();
        let mut windowed = Windowed::new(&mut kept).with_least_samples(2);
        windowed.sample(&at(5_000, 10, 1, false));
        windowed.sample(&at(5_000 - back, 10, 1, false));
        kept.0.len()
    };
    assert_eq!([ends(0), ends(1), ends(500), ends(2_000)], [0, 1, 1, 1]);
}

#[test]
fn a_window_counts_calls_of_the_least_time() {
    let mut kept = Kept::default();
    let mut windowed = Windowed::new(&mut kept).with_least_samples(1);
    let least = Duration::from_micros(100);
    let ended = |seconds| Duration::from_secs(seconds);
    windowed.sample(&Sample::new(least, 1).ended_at(ended(1)));
    windowed.sample(&Sample::new(Duration::from_nanos(99_999), 1).ended_at(ended(3)));
    windowed.sample(&Sample::new(least, 1).ended_at(ended(4)));
    assert_eq!(kept.0, [Sample::new(least, 1).ended_at(ended(4))]);
}

/// Options with anything in them.
#[derive(Clone, Debug)]
struct Options {
    limits: [u64; 3],
    ratios: [f64; 3],
    count: u32,
}

fn options() -> impl Strategy<Value = Options> {
    let limit = prop_oneof![0..50_u64, prop::sample::select(vec![1 << 31, u64::MAX])];
    let ratio = prop_oneof![-1.0..3.0, any::<f64>()];
    let count = prop_oneof![0..20_u32, Just(u32::MAX)];
    (prop::array::uniform3(limit), prop::array::uniform3(ratio), count)
        .prop_map(|(limits, ratios, count)| Options { limits, ratios, count })
}

fn any_sample() -> impl Strategy<Value = Sample> {
    let rtt = prop_oneof![
        (0..1_000_000_u64).prop_map(Duration::from_nanos),
        (0..10_000_u64).prop_map(Duration::from_millis),
        prop::sample::select(vec![Duration::ZERO, Duration::MAX, Duration::from_nanos(u64::MAX)]),
    ];
    let in_flight = prop_oneof![0..60_u64, Just(u64::MAX)];
    let ended = prop_oneof![
        (0..5_000_u64).prop_map(Duration::from_millis),
        prop::sample::select(vec![Duration::ZERO, Duration::MAX]),
    ];
    (rtt, in_flight, any::<bool>(), ended).prop_map(|(rtt, in_flight, was_dropped, ended)| {
        let sample = Sample::new(rtt, in_flight).ended_at(ended);
        if was_dropped { sample.dropped() } else { sample }
    })
}

proptest! {
    #[test]
    fn every_algorithm_stays_in_its_range_and_grows_by_no_drop(options in options(), samples in prop::collection::vec(any_sample(), 1..50)) {
        let Options { limits: [initial, least, most], ratios: [one, two, three], count } = options;
        let algorithms: [Box<dyn LimitAlgorithm>; 4] = [
            Box::new(Aimd::new().with_initial(initial).with_min(least).with_max(most).with_backoff(one)),
            Box::new(
                Vegas::new().with_initial(initial).with_min(least).with_max(most).with_alpha(count)
                    .with_beta(count).with_decrease(one).with_smoothing(two).with_probes_every(count)
            ),
            Box::new(
                Gradient2::new().with_initial(initial).with_min(least).with_max(most)
                    .with_tolerance(one).with_smoothing(two).with_long_window(count).with_queue(count)
            ),
            Box::new(
                Windowed::new(Vegas::new().with_initial(initial).with_min(least).with_max(most).with_smoothing(three))
                    .with_least_samples(count).with_window(Duration::from_millis(u64::from(count)))
            ),
        ];
        // The most is set last.
        let most = most.clamp(1, ConcurrencyLimit::MAX);
        let least = least.clamp(1, most);
        for mut algorithm in algorithms {
            prop_assert_eq!(algorithm.limit(), initial.clamp(least, most));
            for sample in &samples {
                let before = algorithm.limit();
                algorithm.sample(sample);
                prop_assert!((least..=most).contains(&algorithm.limit()), "{}", algorithm.limit());
                prop_assert!(!sample.was_dropped || algorithm.limit() <= before, "from {before}");
            }
        }
    }
}
