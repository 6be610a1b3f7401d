//! Running a model: over all its interleavings, alone, and on several threads.

use std::cell::Cell;

use crate::{Arc, thread};

/// No bound on the preemptions of a model: every interleaving.
pub const ANY: usize = usize::MAX;

// Of the thread that checks a model, and the same for a whole exploration, so
// these are not loom's.
std::thread_local! {
    /// The part of a race that runs first unless it is preempted.
    static START: Cell<usize> = const { Cell::new(0) };
    /// Number of parts that the last race had.
    static PARTS: Cell<usize> = const { Cell::new(1) };
}

/// Explores `model` with at most `preemptions` preemptions, or with any number of
/// them if that is [`ANY`].
///
/// Starts from every thread of the [`race`] in turn. It has to: of the accesses
/// that a write could be moved before, loom remembers only the latest. A reader
/// that runs first is hidden by the load that the writer does before its CAS, and
/// no other order would be tried.
///
/// `LOOM_DEEPER=n` adds to the bound (and takes from it, below zero),
/// `LOOM_MAX_PREEMPTIONS=n` takes its place and `LOOM_UNBOUNDED=1` lifts it.
/// Prints the number of executions, for `--nocapture`.
///
/// # Panics
///
/// If `model` does in any of them.
#[cfg(sluicegate_loom)]
pub fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    let mut builder = loom::model::Builder::new();
    if std::env::var_os("LOOM_UNBOUNDED").is_some() {
        builder.preemption_bound = None;
    } else if builder.preemption_bound.is_none() && preemptions != ANY {
        let deeper = std::env::var("LOOM_DEEPER").map_or(0, |more| more.parse().unwrap());
        builder.preemption_bound = Some(preemptions.saturating_add_signed(deeper));
    }
    builder.max_branches = builder.max_branches.max(10_000);
    // Not loom's atomics: they count executions, so they must outlive each.
    let executions = Arc::new(AtomicU64::new(0));
    let model = Arc::new(model);
    let mut start = 0;
    loop {
        START.set(start);
        let (model, executions) = (Arc::clone(&model), Arc::clone(&executions));
        builder.check(move || {
            executions.fetch_add(1, Relaxed);
            model();
        });
        start += 1;
        if start >= PARTS.get() {
            break;
        }
    }
    println!("executions: {}", executions.load(Relaxed));
}

/// Runs `model` on real threads, often enough to meet the odd race.
///
/// # Panics
///
/// If `model` does.
#[cfg(not(sluicegate_loom))]
pub fn check(_preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    for start in 0..100 {
        START.set(start);
        model();
    }
}

/// Runs `part` once and returns what it returned. For what a model is compared
/// with: loom's atomics exist only inside a model, and each execution of a model
/// must do the same.
///
/// # Panics
///
/// If `part` does.
pub fn once<T: Send + 'static>(part: impl Fn() -> T + Send + Sync + 'static) -> T {
    #[cfg(sluicegate_loom)]
    {
        let result = Arc::new(std::sync::Mutex::new(None));
        let slot = Arc::clone(&result);
        loom::model::Builder::new().check(move || *slot.lock().unwrap() = Some(part()));
        result.lock().unwrap().take().unwrap()
    }
    #[cfg(not(sluicegate_loom))]
    part()
}

/// Does `act` on `shared` for each of `parts` at the same time, one of them in the
/// calling thread; returns what each returned.
///
/// # Panics
///
/// If one of them does.
pub fn race<S, P, T, const N: usize>(shared: &Arc<S>, parts: [P; N], act: fn(&S, P) -> T) -> [T; N]
where
    S: Send + Sync + 'static,
    P: Send + 'static,
    T: Send + 'static,
{
    PARTS.set(N);
    let mut parts: Vec<(usize, P)> = parts.into_iter().enumerate().collect();
    parts.rotate_left(START.get() % N);
    let (own, own_part) = parts.remove(0);
    let threads: Vec<_> = parts
        .into_iter()
        .map(|(index, part)| {
            let shared = Arc::clone(shared);
            (index, thread::spawn(move || act(&shared, part)))
        })
        .collect();
    let mut results = [const { None }; N];
    results[own] = Some(act(shared, own_part));
    for (index, thread) in threads {
        results[index] = Some(thread.join().unwrap());
    }
    results.map(|result| result.unwrap_or_else(|| unreachable!("one result for each part")))
}
