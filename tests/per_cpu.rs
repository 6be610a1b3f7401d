//! A `Sharded` whose callers spend from the shard of their CPU: threads that move, forks, and systems that have or
//! allow less.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64", not(miri)))]
#![allow(unsafe_code, reason = "system calls are unsafe functions")]

use std::env;
use std::mem::{size_of_val, zeroed};
use std::process::Command;
use std::thread;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::{ManualClock, Quota, Sharded, rate};

/// Says to a process that it was started by a test.
const STARTED: &str = "SLUICEGATE_TEST_STARTED";

/// Returns a limiter that holds so many permits, earns none, and has capacity for all that can be reserved at a time.
fn limiter(permits: u64) -> Sharded<ManualClock> {
    let quota = Quota::new(rate!(1 / second)).with_burst(5 * permits).unwrap();
    Sharded::with_clock(quota, ManualClock::new()).starting_with(permits).unwrap()
}

/// Returns whether such a limiter has shards of CPUs here, and says if not.
fn is_there() -> bool {
    let is_there = limiter(1).is_per_cpu();
    if !is_there {
        eprintln!("not run: this system has no restartable sequences");
    }
    is_there
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

fn run_on(cpu: usize) {
    // SAFETY: as above.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        libc::CPU_SET(cpu, &mut set);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
    }
}

/// Takes all that there is, and returns how much that was. No other thread may call the limiter.
fn rest(limiter: &Sharded<ManualClock>) -> u64 {
    let left = limiter.peek(0).unwrap().remaining();
    assert!(limiter.try_acquire(left).is_ok(), "{left} are there and not granted");
    assert!(limiter.try_acquire(1).is_err(), "more than the {left} are there");
    left
}

/// Takes permits in one way or another, until there are none; returns how many.
fn take_all(limiter: &Sharded<ManualClock>, cpus: &[usize], random: &mut SmallRng) -> u64 {
    let (mut taken, mut denied) = (0, 0);
    while denied < 3 {
        if random.random_ratio(1, 64) {
            run_on(cpus[random.random_range(0..cpus.len())]);
        }
        let permits = random.random_range(1..=6);
        let granted = match random.random_range(0..32) {
            0 => limiter.try_acquire_up_to(20 * permits).map(|grant| grant.permits()),
            1 => limiter.lease(20 * permits).map(|mut lease| {
                let spent = random.random_range(0..=lease.left());
                assert!(lease.spend(spent) || spent == 0);
                spent
            }),
            2..4 => limiter.try_acquire_leaving(permits, 50).map(|grant| grant.permits()),
            _ => limiter.try_acquire(permits).map(|grant| grant.permits()),
        };
        denied = if granted.is_ok() { 0 } else { denied + 1 };
        taken += granted.unwrap_or(0);
    }
    taken
}

/// Has a child take all that its copy of the limiter holds.
fn fork(limiter: &Sharded<ManualClock>) {
    // SAFETY: the child allocates nothing, takes no lock and does not return.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: ends a child that hangs.
        unsafe { libc::alarm(100) };
        let left = limiter.peek(0).map_or(0, |grant| grant.remaining());
        let is_granted = limiter.try_acquire(left).is_ok() && limiter.try_acquire(1).is_err();
        // SAFETY: ends the child without anything of the parent's.
        unsafe { libc::_exit(i32::from(!is_granted)) };
    }
    assert!(child > 0, "no child");
    let mut status = 0;
    // SAFETY: a child of this thread's, and `status` outlives the call.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } != child {}
    assert_eq!(status, 0, "the child was not granted what its limiter held");
}

#[test]
fn every_permit_is_granted_once_to_threads_that_move_beside_forks() {
    const PERMITS: u64 = 40_000;

    if !is_there() {
        return;
    }
    let cpus = allowed();
    // A thread's first call takes a lock, which in a child might be that of a thread that is not there.
    limiter(1).try_acquire(1).unwrap();
    for round in 0..20 {
        let limiter = limiter(PERMITS);
        let taken: u64 = thread::scope(|scope| {
            let takers: Vec<_> = (0..4)
                .map(|index| {
                    let (limiter, cpus) = (&limiter, &cpus);
                    let mut random = SmallRng::seed_from_u64(10 * round + index);
                    scope.spawn(move || take_all(limiter, cpus, &mut random))
                })
                .collect();
            while !takers.iter().all(thread::ScopedJoinHandle::is_finished) {
                fork(&limiter);
            }
            takers.into_iter().map(|taker| taker.join().unwrap()).sum()
        });
        assert_eq!(taken + rest(&limiter), PERMITS);
    }
}

#[test]
fn a_limiter_that_is_given_a_number_of_shards_has_none_of_cpus() {
    let quota = Quota::new(rate!(1_000 / second));
    let limiter = Sharded::builder(quota).shards(2).build().unwrap();
    assert!(!limiter.is_per_cpu());
    assert!(limiter.try_acquire(1_000).is_ok());
    if is_there() {
        let per_cpu = Sharded::new(quota);
        assert!(format!("{per_cpu:?}").contains("is_per_cpu: true"));
        assert!(per_cpu.memory_bytes() > limiter.memory_bytes());
    }
}

/// Starts one test of this program in a process of its own.
fn start(test: &str, variable: (&str, &str)) {
    let mut program = Command::new(env::current_exe().unwrap());
    program.args(["--exact", test, "--nocapture"]).env(STARTED, "").env(variable.0, variable.1);
    let output = program.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

#[test]
fn where_no_thread_is_registered_a_limiter_has_shards_of_threads() {
    if env::var_os(STARTED).is_none() {
        let test = "where_no_thread_is_registered_a_limiter_has_shards_of_threads";
        return start(test, ("GLIBC_TUNABLES", "glibc.pthread.rseq=0"));
    }
    let limiter = limiter(1_000);
    assert!(!limiter.is_per_cpu());
    assert_eq!(rest(&limiter), 1_000);
}

/// Makes the fence fail for this thread from now on.
fn forbid_fences() {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let compare = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    // SAFETY: functions without conditions that compose instructions.
    let mut filter = unsafe {
        [
            // The number of the system call.
            libc::BPF_STMT(load, 0),
            libc::BPF_JUMP(compare, libc::SYS_membarrier as u32, 0, 1),
            libc::BPF_STMT(answer, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
            libc::BPF_STMT(answer, libc::SECCOMP_RET_ALLOW),
        ]
    };
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel copies the filter, which outlives the call. It holds for this thread and its children.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
    }
}

#[test]
fn a_fence_that_is_forbidden_loses_what_the_slots_held_and_no_more() {
    let cpus = allowed();
    if !is_there() || cpus.len() < 2 {
        eprintln!("not run: it takes two CPUs");
        return;
    }
    let limiter = limiter(1_000);
    thread::scope(|scope| {
        let fill = || {
            run_on(cpus[0]);
            drop(limiter.lease(10).unwrap());
        };
        scope.spawn(fill).join().unwrap();
        let rob = || {
            run_on(cpus[1]);
            forbid_fences();
            assert!(limiter.try_acquire(991).is_err());
            assert_eq!(rest(&limiter), 990);
            // Callers of all CPUs go to the shards of their threads from now on.
            limiter.reset();
            assert_eq!(rest(&limiter), 5 * 1_000 - 10);
        };
        scope.spawn(rob).join().unwrap();
        scope.spawn(|| assert_eq!(rest(&limiter), 0)).join().unwrap();
    });
}
