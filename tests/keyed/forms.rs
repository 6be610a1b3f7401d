//! The forms in which a key is given: borrowed, in parts, and types of the caller's own.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Mutex;

use sluicegate::keyed::{AsKey, Buckets, Each, HotKeys, Observe, Parts};
use sluicegate::*;

use super::{InOneShard, SECOND, keyed};

type Routes<'a> = Keyed<(String, u32), Buckets<&'a ManualClock>>;

fn owned(tenant: &str, route: u32) -> (String, u32) {
    (tenant.to_owned(), route)
}

#[test]
fn parts_and_the_tuple_name_the_same_key() {
    let clock = ManualClock::new();
    let routes: Routes<'_> = keyed(quota!(3 / second), &clock);
    let (tenant, route) = (String::from("ada"), 7_u32);
    assert_eq!(routes.try_acquire(&owned("ada", 7), 1).unwrap().remaining(), 2);
    assert_eq!(routes.try_acquire(&Parts((tenant.as_str(), &route)), 1).unwrap().remaining(), 1);
    assert_eq!(routes.try_acquire(&Parts((&tenant, &route)), 1).unwrap().remaining(), 0);
    // A literal has the type of its part.
    assert!(routes.try_acquire(&Parts(("ada", &7)), 1).is_err());
    assert!(routes.try_acquire(&owned("ada", 7), 1).is_err());
    assert_eq!(routes.len(), 1);
    // Each part counts.
    for (tenant, route) in [("ada", 8), ("bob", 7)] {
        assert_eq!(routes.try_acquire(&Parts((tenant, &route)), 1).unwrap().remaining(), 2);
    }
    assert_eq!(routes.len(), 3);
}

#[test]
fn every_verb_takes_parts_and_a_new_key_is_inserted_from_them() {
    let clock = ManualClock::new();
    let routes: Routes<'_> = keyed(quota!(4 / second), &clock);
    let (tenant, route) = ("ada", 7_u32);
    let parts = Parts((tenant, &route));
    assert_eq!(routes.peek(&parts, 0).unwrap().remaining(), 4);
    assert!(routes.is_empty() && !routes.contains(&parts) && !routes.remove(&parts));
    assert_eq!(routes.snapshot_of(&parts), None);

    assert_eq!(routes.force(&parts, 6).unwrap().permits(), 6);
    assert_eq!(routes.iter().map(|(key, _)| key).collect::<Vec<_>>(), [owned("ada", 7)]);
    assert_eq!(routes.peek(&parts, 1).unwrap_err().retry_after(), Some(SECOND * 3 / 4));
    assert_eq!(routes.snapshot_of(&parts), routes.snapshot_of(&owned("ada", 7)));
    routes.reset(&parts);
    assert_eq!(routes.peek(&owned("ada", 7), 0).unwrap().remaining(), 4);
    assert_eq!(routes.try_acquire_up_to(&parts, 9).unwrap().permits(), 4);
    assert!(routes.contains(&parts) && routes.remove(&parts) && routes.is_empty());
    assert_eq!(routes.drain(&parts).unwrap().permits(), 4);
    assert!(routes.remove(&owned("ada", 7)));
}

#[test]
fn a_batch_takes_parts() {
    let clock = ManualClock::new();
    let routes: Routes<'_> = keyed(quota!(2 / second), &clock);
    // More than are fetched side by side.
    let numbers: Vec<u32> = (0..40).map(|number| number % 20).collect();
    let parts: Vec<_> = numbers.iter().map(|number| Parts(("ada", number))).collect();
    for is_granted in [true, false] {
        let answers = routes.try_acquire_batch(&parts, 1);
        assert!(answers.len() == 40 && answers.iter().all(|said| said.is_ok() == is_granted));
    }
    assert_eq!(routes.len(), 20);
    assert!(routes.try_acquire(&owned("ada", 19), 1).is_err());
}

#[test]
fn parts_are_of_any_form_and_may_have_parts() {
    let clock = ManualClock::new();
    let nested = keyed::<((String, u8), Vec<u8>, bool)>(quota!(1 / second), &clock);
    let outer = Parts((&Parts(("ada", &7)), &[1, 2][..], &true));
    nested.try_acquire(&outer, 1).unwrap();
    assert!(nested.try_acquire(&((String::from("ada"), 7), vec![1, 2], true), 1).is_err());
    assert!(nested.try_acquire(&outer, 1).is_err());
    for other in [
        Parts((&Parts(("bob", &7)), &[1, 2][..], &true)),
        Parts((&Parts(("ada", &8)), &[1, 2][..], &true)),
        Parts((&Parts(("ada", &7)), &[1, 2, 3][..], &true)),
        Parts((&Parts(("ada", &7)), &[1, 2][..], &false)),
    ] {
        nested.try_acquire(&other, 1).unwrap();
    }
    assert_eq!(nested.len(), 5);
}

#[test]
fn parts_hash_as_the_tuple_does() {
    let state = RandomState::new();
    for (text, number) in [("", 0), ("ada", 7), ("a longer name, of more than a word", u32::MAX)] {
        let hash = state.hash_one((text.to_owned(), number));
        assert_eq!(state.hash_one(Parts((text, &number))), hash);
        let hash = state.hash_one((text.to_owned(), number, text.to_owned()));
        assert_eq!(state.hash_one(Parts((text, &number, text))), hash);
    }
}

#[test]
fn keys_of_one_hash_are_told_apart_by_each_of_their_parts() {
    let clock = ManualClock::new();
    let routes = Keyed::<(String, u32), _>::builder(Buckets::with_clock(quota!(1 / hour), &clock))
        .hasher(InOneShard::default())
        .build()
        .unwrap();
    for round in 0..2 {
        for tenant in ["ada", "bob", "eve"] {
            for route in 0..20 {
                let answer = routes.try_acquire(&Parts((tenant, &route)), 1);
                assert_eq!(answer.is_ok(), round == 0);
            }
        }
    }
    assert_eq!(routes.len(), 60);
}

#[test]
fn wrappers_and_the_trait_of_all_stores_take_parts() {
    let clock = ManualClock::new();
    let routes = HotKeys::with_places(keyed(quota!(1_000 / second), &clock), 1).unwrap();
    let key = owned("ada", 7);
    for _ in 0..300 {
        routes.try_acquire(&Parts((key.0.as_str(), &key.1)), 1).unwrap();
        routes.try_acquire(&key, 1).unwrap();
    }
    // What a seat has left is lost.
    routes.update(|_| ());
    assert!(routes.try_acquire(&key, 401).is_err());

    let routes: Routes<'_> = keyed(quota!(1 / second), &clock);
    let routes: &dyn KeyedLimiter<Parts<(&str, &u32)>> = &routes;
    assert!(routes.try_acquire(&Parts(("ada", &7)), 1).is_ok());
    assert!(routes.try_acquire(&Parts(("ada", &7)), 1).is_err());

    let each = Each::with_clock(
        |_: &(String, u32)| TokenBucket::with_clock(quota!(2 / hour), &clock),
        &clock,
    );
    let routes = Keyed::<(String, u32), _>::with(each);
    routes.with_limiter(&Parts(("ada", &7)), |bucket| bucket.force(3)).unwrap().unwrap();
    assert!(routes.try_acquire(&key, 1).is_err());
}

/// Keeps the forms that it is told.
#[derive(Default)]
struct Told(Mutex<Vec<(String, u32)>>);

impl Observe<Parts<(&str, &u32)>> for Told {
    fn decided(&self, key: &Parts<(&str, &u32)>, _: u64, _: Result<&Grant, &Denied>) {
        self.0.lock().unwrap().push(key.to_key());
    }
}

#[test]
fn an_observer_is_told_the_form() {
    let told = Told::default();
    let clock = ManualClock::new();
    let routes = Keyed::<(String, u32), _>::builder(Buckets::with_clock(quota!(1 / hour), &clock))
        .observer(&told)
        .build()
        .unwrap();
    let _ = [7, 7].map(|route| routes.try_acquire(&Parts(("ada", &route)), 1));
    assert_eq!(*told.0.lock().unwrap(), [owned("ada", 7), owned("ada", 7)]);
}

/// A key that cannot be cloned, and has no borrowed form but itself.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Route {
    tenant: String,
    number: u32,
}

/// A form of a route, whose `is_key` may be wrong.
#[derive(Clone, Copy, Hash)]
struct RouteRef<'a> {
    tenant: &'a str,
    number: u32,
    mistake: Mistake,
}

/// A mistake in `is_key`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    KnowsNone,
    KnowsAll,
}

impl Hash for Mistake {
    fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
}

impl AsKey<Route> for RouteRef<'_> {
    fn is_key(&self, key: &Route) -> bool {
        match self.mistake {
            Mistake::None => self.tenant == key.tenant && self.number == key.number,
            Mistake::KnowsNone => false,
            Mistake::KnowsAll => true,
        }
    }

    fn to_key(&self) -> Route {
        Route { tenant: self.tenant.to_owned(), number: self.number }
    }
}

fn route(tenant: &str, number: u32, mistake: Mistake) -> RouteRef<'_> {
    RouteRef { tenant, number, mistake }
}

#[test]
fn a_key_of_ones_own_type_has_forms_of_ones_own() {
    let clock = ManualClock::new();
    let routes = keyed::<Route>(quota!(2 / second), &clock);
    let ada = route("ada", 7, Mistake::None);
    routes.try_acquire(&ada, 2).unwrap();
    assert!(routes.try_acquire(&ada, 1).is_err());
    routes.try_acquire(&route("ada", 8, Mistake::None), 2).unwrap();
    routes.try_acquire(&route("bob", 7, Mistake::None), 2).unwrap();
    assert_eq!(routes.len(), 3);
    // A key that is at hand is put in whole.
    let saved = routes.snapshot_of(&ada).unwrap();
    assert!(routes.remove(&ada));
    let key = || Route { tenant: String::from("ada"), number: 7 };
    assert_eq!(routes.restore([(key(), saved), (key(), saved)], SECOND / 2), 0);
    assert_eq!((routes.len(), routes.peek(&ada, 0).unwrap().remaining()), (3, 1));
}

#[test]
fn a_wrong_is_key_shows_in_the_limits_and_nowhere_else() {
    let clock = ManualClock::new();
    let routes = Keyed::<Route, _>::builder(Buckets::with_clock(quota!(1 / second), &clock))
        .hasher(InOneShard::default())
        .build()
        .unwrap();
    // A key that is not recognized is inserted each time.
    let unknown = route("ada", 7, Mistake::KnowsNone);
    for count in 1..=50 {
        routes.try_acquire(&unknown, 1).unwrap();
        routes.reset(&unknown);
        assert!(!routes.contains(&unknown) && !routes.remove(&unknown));
        assert_eq!(routes.len(), count);
    }
    // The first key that is met is taken for any.
    let any = route("nobody", 1, Mistake::KnowsAll);
    assert!(routes.try_acquire(&any, 1).is_err());
    assert!(routes.remove(&any));
    assert_eq!(routes.len(), 49);
    // All of them are idle in the end, and evicted.
    clock.advance(SECOND);
    assert_eq!((routes.sweep(), routes.len()), (49, 0));
}

#[test]
fn a_closure_on_a_key_that_does_not_know_itself_is_called_once() {
    let clock = ManualClock::new();
    let each =
        Each::with_clock(|_: &Route| TokenBucket::with_clock(quota!(2 / second), &clock), &clock);
    let routes = Keyed::<Route, _>::with(each);
    let unknown = route("ada", 7, Mistake::KnowsNone);
    let mut calls = 0;
    for permits in [0, 1] {
        let grant = routes.with_limiter(&unknown, |bucket| {
            calls += 1;
            bucket.try_acquire(permits)
        });
        assert_eq!(grant.unwrap().unwrap().remaining(), 2 - permits);
        // A limiter that is idle is removed again.
        assert_eq!(routes.len() as u64, permits);
    }
    assert_eq!(calls, 2);
}
