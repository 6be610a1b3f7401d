//! Slots without a limiter: a sequence beside the word's own arithmetic, and each way out.

use core::cell::Cell;
use core::mem::{size_of_val, zeroed};
use core::time::Duration;

use crate::quota;
use crate::sharded::Sharded;
use crate::sharded::shards::Shards;
use crate::time::clock::manual::ManualClock;

use crate::sync::Ordering::Relaxed;

use super::super::{PerCpu, Taken};
use super::*;

#[path = "stress.rs"]
mod stress;

/// Returns slots with this fence, or says why not.
fn slots(fence: fn(Option<usize>) -> bool) -> Option<PerCpu> {
    let system = System::detect().map(|system| System { fence, ..system });
    if system.is_none() {
        eprintln!("not run: this system has no restartable sequences");
    }
    system.map(PerCpu::with)
}

/// Binds this thread to the CPU on which it runs.
fn stay() {
    // SAFETY: a function without conditions.
    let cpu = unsafe { libc::sched_getcpu() };
    run_on(&[usize::try_from(cpu).unwrap()]);
}

/// Binds this thread to some of these CPUs. Those that it may not run on do not count.
fn run_on(cpus: &[usize]) {
    // SAFETY: the set is plain bits, of which all zeros are one, and outlives the call.
    unsafe {
        let mut set: libc::cpu_set_t = zeroed();
        for cpu in cpus {
            libc::CPU_SET(*cpu, &mut set);
        }
        libc::sched_setaffinity(0, size_of_val(&set), &raw const set);
    }
}

/// Repeats what an interruption may have made fail.
fn until_some<T>(act: impl Fn() -> Option<T>) -> Option<T> {
    (0..100).find_map(|_| act())
}

#[test]
fn a_sequence_spends_as_the_word_does() {
    let Some(per_cpu) = slots(fence) else { return };
    stay();
    let amounts = [0, 1, 2, 1_000, (1 << 31) - 1, 1 << 31, ShardWord::MAX - 1, ShardWord::MAX];
    for room in amounts {
        for left in amounts.into_iter().filter(|left| *left <= room) {
            for permits in amounts.into_iter().chain([1 << 32, (1 << 32) + 1, u64::MAX]) {
                per_cpu.take();
                assert!(room == 0 || per_cpu.put(room, left));
                let expected = ShardWord::NONE.with(room, left).spend(permits);
                let spent = until_some(|| per_cpu.spend(permits));
                assert_eq!(spent, expected.map(ShardWord::left), "{permits} of {left} in {room}");
                let after = expected.unwrap_or(ShardWord::NONE.with(room, left));
                assert_eq!(per_cpu.look(), (after.left(), after.spare()));
            }
        }
    }
}

#[test]
fn what_is_put_is_found_by_its_cpu_and_by_thieves() {
    let Some(per_cpu) = slots(fence) else { return };
    stay();
    assert!(per_cpu.put(50, 40) && per_cpu.left_here() == 40);
    let of = |taken: Taken| (taken.room, taken.tokens);
    // Half, and all empty capacity.
    assert_eq!(of(per_cpu.steal(5)), (30, 20));
    assert_eq!(of(per_cpu.steal(15)), (15, 15));
    assert_eq!(of(per_cpu.steal(9)), (5, 5));
    assert_eq!(of(per_cpu.steal(1)), (0, 0));
    assert!(per_cpu.put(9, 4));
    assert_eq!(of(per_cpu.take_spare()), (5, 0));
    assert_eq!(of(per_cpu.take()), (4, 4));
    assert!(per_cpu.put(7, 6));
    assert_eq!(of(per_cpu.take_all()), (7, 6));
    assert_eq!(per_cpu.look(), (0, 0));
}

/// A call of a limiter with such slots goes to the shard of its thread.
#[track_caller]
fn is_of_no_use(per_cpu: &PerCpu) {
    assert_eq!(per_cpu.spend(1), None);
    assert!(!per_cpu.put(1, 1));
    assert_eq!((per_cpu.take().room, per_cpu.left_here()), (0, 0));
}

#[test]
fn a_cpu_beyond_the_slots_has_none() {
    let Some(mut per_cpu) = slots(fence) else { return };
    per_cpu.slots = Box::default();
    is_of_no_use(&per_cpu);
    assert_eq!((per_cpu.take_all().room, per_cpu.look()), (0, (0, 0)));
}

#[test]
fn a_thread_that_is_not_registered_has_no_slot_and_can_rob_all() {
    let Some(per_cpu) = slots(fence) else { return };
    assert!(per_cpu.put(5, 5));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            const UNREGISTER: c_int = 1;
            const SIGNATURE: u32 = 0x5305_3053;
            let thread: *mut u8;
            // SAFETY: reads the thread pointer, as the platform's rules for threads have it.
            unsafe {
                core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) thread, options(nostack, readonly));
            }
            let area = thread.wrapping_offset(per_cpu.system.area);
            // SAFETY: the area of this thread, which ends soon, and has no sequence in progress.
            let unregister = |size: u32| unsafe {
                libc::syscall(libc::SYS_rseq, area, size, UNREGISTER, SIGNATURE)
            };
            assert!([32, 20, 28, 33].into_iter().any(|size| unregister(size) == 0));
            is_of_no_use(&per_cpu);
            assert_eq!(per_cpu.take_all().tokens, 5);
        });
    });
}

#[test]
fn a_slot_that_is_closed_is_left_alone() {
    let Some(per_cpu) = slots(fence) else { return };
    stay();
    assert!(per_cpu.put(5, 5));
    let slot = &per_cpu.slots[per_cpu.system.cpu()];
    assert!(slot.close() && !slot.close());
    is_of_no_use(&per_cpu);
    assert_eq!((per_cpu.take_all().room, per_cpu.steal(1).room, per_cpu.look()), (0, 0, (0, 0)));
    slot.open_with(slot.word());
    assert_eq!(per_cpu.take().tokens, 5);
}

#[test]
fn a_slot_that_a_parents_thief_had_closed_is_opened() {
    let Some(per_cpu) = slots(fence) else { return };
    stay();
    assert!(per_cpu.put(5, 5));
    let slot = &per_cpu.slots[per_cpu.system.cpu()];
    // ORDERING: Relaxed. There is one thread.
    // MODEL: none; there is one thread.
    let close = || slot.closer.store(u64::from(std::process::id()) + 1, Relaxed);
    close();
    assert_eq!(per_cpu.spend(1), None);
    assert!(per_cpu.put(1, 1));
    close();
    assert_eq!(per_cpu.look(), (6, 0));
    close();
    assert_eq!(per_cpu.steal(6).tokens, 6);
}

#[test]
fn a_fence_that_fails_takes_nothing_and_ends_the_use_of_all_slots() {
    let Some(per_cpu) = slots(|_| false) else { return };
    stay();
    assert!(per_cpu.put(5, 5));
    assert_eq!((per_cpu.steal(1).room, per_cpu.look()), (0, (0, 0)));
    is_of_no_use(&per_cpu);
    let is_open = |slot: &CachePadded<Slot>| slot.is_open();
    assert!(!per_cpu.slots.iter().any(is_open));
    // Nobody may take it: a sequence might still be in progress.
    let left = |slot: &CachePadded<Slot>| slot.word().left();
    assert_eq!(per_cpu.slots.iter().map(left).sum::<u64>(), 5);
    assert_eq!(per_cpu.take_all().room, 0);
}

thread_local! {
    static FENCES: Cell<u32> = const { Cell::new(0) };
}

/// Returns a limiter that counts its fences, if this system has slots.
fn counting_fences() -> Option<Sharded<ManualClock>> {
    let counted = |cpu| {
        FENCES.set(FENCES.get() + 1);
        fence(cpu)
    };
    let shards = Shards::new(2, Some(slots(counted)?));
    Some(Sharded::of(quota!(1_000 / second), shards, ManualClock::new()))
}

#[test]
fn requests_that_leave_a_reserve_interrupt_nobody_while_the_root_has_it_or_can_earn_it() {
    let Some(limiter) = counting_fences() else { return };
    assert_eq!((0..600).filter(|_| limiter.try_acquire(1).is_ok()).count(), 600);
    let (_, spare) = limiter.shards.look();
    assert!(spare > 0, "slots in use have empty capacity");
    FENCES.set(0);
    assert!(limiter.try_acquire_leaving(1, 200).is_ok());
    for _ in 0..1_000 {
        assert!(limiter.try_acquire_leaving(1, 450).is_err());
        assert!(limiter.peek_leaving(1, 450).is_err());
        limiter.clock().advance(Duration::from_micros(1));
    }
    assert_eq!((FENCES.get(), limiter.shards.look().1), (0, spare));
}

#[test]
fn calls_of_a_limiter_at_its_limit_interrupt_nobody() {
    let Some(limiter) = counting_fences() else { return };
    let granted = (0..2_000).filter(|_| limiter.try_acquire(1).is_ok()).count();
    assert_eq!(granted, 1_000);
    FENCES.set(0);
    for microsecond in 0..10_000 {
        let permits = 1 + microsecond % 3;
        let is_earned = permits == 1 && limiter.peek(1).is_ok();
        assert_eq!(limiter.try_acquire(permits).is_ok(), is_earned);
        limiter.clock().advance(Duration::from_micros(1));
    }
    assert_eq!(FENCES.get(), 0);
}
