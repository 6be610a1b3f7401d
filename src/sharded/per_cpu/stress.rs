//! Owners, thieves, threads that move from CPU to CPU, signals and forks, with every token counted.
//!
//! `PER_CPU_SPENDS=1000000000 cargo test --release --features per-cpu --lib stress` spends so many.

use core::cell::Cell;
use core::ptr;
use std::env;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use super::*;

const OWNERS: u64 = 3;

/// Number of spends in an ordinary run, of all owners together.
const SPENDS: u64 = 3_000_000;

/// Tokens that an owner puts at a time.
const LOT: u64 = 1_000;

/// Capacity and tokens: put, and not there any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    room: u64,
    tokens: u64,
}

impl Sum {
    fn add(&mut self, room: u64, tokens: u64) {
        self.room += room;
        self.tokens += tokens;
    }
}

/// Sums of a stress.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    put: Sum,
    /// Spent (with no capacity), taken away, or still there.
    found: Sum,
    thefts: u64,
    signals: u64,
    forks: u64,
}

thread_local! {
    /// The slots that a signal handler of this thread spends from, and the tokens that it has spent.
    static HANDLED: Cell<*const PerCpu> = const { Cell::new(ptr::null()) };
    static SPENT: Cell<u64> = const { Cell::new(0) };
    static SIGNALS: Cell<u64> = const { Cell::new(0) };
}

extern "C" fn spend_in_handler(_: c_int) {
    SIGNALS.set(SIGNALS.get() + 1);
    let per_cpu = HANDLED.get();
    // SAFETY: null, or the slots of a stress, which outlive its threads.
    if let Some(per_cpu) = unsafe { per_cpu.as_ref() }
        && per_cpu.spend(1).is_some()
    {
        SPENT.set(SPENT.get() + 1);
    }
}

/// CPUs on which this thread may run.
fn allowed() -> Vec<usize> {
    // SAFETY: the set is plain bits, of which all zeros are one, and outlives the call.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &raw mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect()
    }
}

/// Spends so many tokens, and puts more when there are none.
fn own(per_cpu: &PerCpu, cpus: &[usize], spends: u64, random: &mut SmallRng) -> Outcome {
    let mut outcome = Outcome::default();
    let mut spent = 0;
    while spent < spends {
        if random.random_ratio(1, 20_000) {
            run_on(&[cpus[random.random_range(0..cpus.len())]]);
        }
        let permits = if random.random_ratio(1, 8) { 3 } else { 1 };
        if per_cpu.spend(permits).is_some() {
            spent += permits;
        } else if per_cpu.left_here() < permits && per_cpu.put(LOT, LOT) {
            outcome.put.add(LOT, LOT);
        }
    }
    // A handler that ran after the count would spend without being counted.
    // SAFETY: the set is plain bits, of which all zeros are one, and outlives the calls.
    unsafe {
        let mut set: libc::sigset_t = zeroed();
        libc::sigaddset(&raw mut set, libc::SIGURG);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut());
    }
    outcome.found.add(0, spent + SPENT.take());
    outcome.signals = SIGNALS.take();
    outcome
}

/// Robs slots, and puts a part of that back, until the owners have ended.
fn rob(per_cpu: &PerCpu, owners: &Receiver<libc::pthread_t>, random: &mut SmallRng) -> Outcome {
    let mut outcome = Outcome::default();
    let mut running = Vec::new();
    loop {
        match owners.try_recv() {
            Ok(owner) => running.push(owner),
            Err(TryRecvError::Disconnected) => return outcome,
            Err(TryRecvError::Empty) => {}
        }
        let Taken { room, mut tokens } = match random.random_range(0..8) {
            0 => per_cpu.take_all(),
            1 | 2 => per_cpu.take_spare(),
            _ => per_cpu.steal(random.random_range(1..2 * LOT)),
        };
        outcome.thefts += u64::from(room > 0);
        // Its capacity goes with it.
        let kept = room - tokens;
        if tokens > 0 && per_cpu.put(tokens, tokens) {
            tokens = 0;
        }
        outcome.found.add(kept + tokens, tokens);
        if !running.is_empty() && random.random_ratio(1, 16) {
            let owner = running[random.random_range(0..running.len())];
            // SAFETY: a thread of this scope, which is not joined before the scope ends; the handler is installed.
            unsafe { libc::pthread_kill(owner, libc::SIGURG) };
        }
        if random.random_ratio(1, 4_096) {
            fork(per_cpu);
            outcome.forks += 1;
        }
    }
}

/// Has a child use its copy of the slots, whoever had closed them.
fn fork(per_cpu: &PerCpu) {
    // SAFETY: the child allocates nothing and takes no lock.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { libc::alarm(100) };
        per_cpu.take_all();
        let is_robbed = per_cpu.look() == (0, 0);
        let is_usable =
            per_cpu.put(3, 3) && until_some(|| per_cpu.steal(3).tokens.checked_sub(3)).is_some();
        // SAFETY: ends the child without anything of the parent's.
        unsafe { libc::_exit(c_int::from(!(is_robbed && is_usable))) };
    }
    assert!(child > 0, "no child");
    let mut status = 0;
    // SAFETY: a child of this thread's.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } != child {}
    assert_eq!(status, 0, "the child could not use its slots");
}

fn stress(per_cpu: &PerCpu, spends: u64) -> Outcome {
    let cpus = allowed();
    // SAFETY: the handler does nothing but what a handler may, and the default action is to ignore this signal.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        action.sa_sigaction = spend_in_handler as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGURG, &raw const action, ptr::null_mut());
    }
    let mut sum = thread::scope(|scope| {
        let mut threads = Vec::new();
        let (for_one, one) = channel();
        let (for_other, other) = channel();
        for owner in 0..OWNERS {
            let (cpus, running) = (&cpus, [for_one.clone(), for_other.clone()]);
            threads.push(scope.spawn(move || {
                HANDLED.set(per_cpu);
                // SAFETY: a function without conditions.
                let thread = unsafe { libc::pthread_self() };
                for thief in &running {
                    thief.send(thread).unwrap();
                }
                own(per_cpu, cpus, spends / OWNERS, &mut SmallRng::seed_from_u64(owner))
            }));
        }
        drop((for_one, for_other));
        for (seed, owners) in [(10, one), (11, other)] {
            let mut random = SmallRng::seed_from_u64(seed);
            threads.push(scope.spawn(move || rob(per_cpu, &owners, &mut random)));
        }
        threads.into_iter().fold(Outcome::default(), |mut sum, thread| {
            let one = thread.join().unwrap();
            sum.put.add(one.put.room, one.put.tokens);
            sum.found.add(one.found.room, one.found.tokens);
            sum.thefts += one.thefts;
            sum.signals += one.signals;
            sum.forks += one.forks;
            sum
        })
    });
    let (left, spare) = per_cpu.look();
    sum.found.add(left + spare, left);
    sum
}

#[test]
fn every_token_is_counted() {
    let Some(per_cpu) = slots(fence) else { return };
    let spends = env::var("PER_CPU_SPENDS").map_or(SPENDS, |spends| spends.parse().unwrap());
    let outcome = stress(&per_cpu, spends);
    println!("{outcome:?}");
    assert_eq!(outcome.put, outcome.found, "{outcome:?}");
    assert!(outcome.thefts > 0 && outcome.signals > 0, "{outcome:?}");
}

/// The control: the stress finds the error if no fence interrupts owners.
#[test]
fn without_a_fence_a_token_is_counted_twice() {
    let Some(per_cpu) = slots(|_| true) else { return };
    if allowed().len() < 2 {
        eprintln!("not run: on one CPU, to switch to the thief interrupts the owner");
        return;
    }
    let is_wrong = |outcome: Outcome| outcome.put != outcome.found;
    assert!((0..100).any(|_| is_wrong(stress(&per_cpu, SPENDS))), "no error was found");
}
