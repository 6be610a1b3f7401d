//! Short programs, each with what it begins with.

use super::*;

/// A root with so many tokens, and shards each with so many tokens in so much capacity.
pub(super) fn bucket(
    cap: i8,
    root: i8,
    shards: [(i8, i8); SHARDS],
    run: i8,
    programs: [&'static [Op]; THREADS],
) -> Leases {
    Leases {
        cap,
        root,
        shards: shards.map(|(tokens, room)| Hold { room, tokens }),
        outside: 0,
        held: 0,
        earns: 1,
        run,
        lag: 0,
        counts_late: false,
        excess: 0,
        lost: 0,
        is_tight: false,
        asks: true,
        mutant: None,
        programs,
    }
}

/// A full limiter: as many tokens as the cap.
pub(super) fn full(
    cap: i8,
    shards: [i8; SHARDS],
    run: i8,
    programs: [&'static [Op]; THREADS],
) -> Leases {
    let root = cap - shards.iter().sum::<i8>();
    bucket(cap, root, shards.map(|shard| (shard, shard)), run, programs)
}

pub(super) fn drawing() -> Leases {
    full(3, [0, 0], 3, [&[Spend(0, 1, 2)], &[OfRoot(2)], &[]])
}

pub(super) fn closing() -> Leases {
    full(3, [2, 0], 3, [&[Spend(0, 1, 2), Close(0)], &[OfRoot(1)], &[]])
}

/// A close, while a lease is drawn.
pub(super) fn closing_beside_a_draw() -> Leases {
    full(3, [1, 0], 2, [&[Spend(0, 1, 0), Close(0)], &[Lease(1, 1)], &[]])
}

/// A caller's lease, while others use its shard and close it.
pub(super) fn leasing() -> Leases {
    full(3, [2, 0], 2, [&[Lease(0, 2)], &[Spend(0, 1, 2)], &[Close(0)]])
}

pub(super) fn stealing() -> Leases {
    bucket(3, 0, [(0, 2), (1, 1)], 3, [&[Spend(0, 1, 2), Spend(0, 1, 2)], &[Spend(1, 2, 2)], &[]])
}

/// A change that keeps what there is, and its terms.
pub(super) fn changing() -> Leases {
    full(3, [1, 1], 2, [&[Change(3)], &[Spend(0, 1, 1)], &[OfRoot(1)]])
}

/// A change held up before its CAS, while a lease is drawn and the shards are closed.
pub(super) fn closing_in_a_change() -> Leases {
    bucket(3, 1, [(0, 0), (1, 1)], 2, [&[Lease(0, 1)], &[Change(3)], &[Close(0)]])
}

/// A lease of a part of what its shard has, while the rest is spent.
pub(super) fn leasing_a_part() -> Leases {
    full(3, [2, 0], 2, [&[Lease(0, 1)], &[Spend(0, 1, 0)], &[]])
}

/// A steal of tokens that their owner spends.
pub(super) fn robbing() -> Leases {
    full(3, [1, 2], 1, [&[Spend(0, 2, 0)], &[Spend(1, 1, 0)], &[Close(1)]])
}

/// A lease that was taken when there could be more.
pub(super) fn outlasting_a_change() -> Leases {
    let programs: [&[Op]; THREADS] = [&[Lease(0, 2)], &[Spend(0, 1, 1)], &[Close(0)]];
    Leases { held: 2, excess: 1, is_tight: true, ..bucket(1, 1, [(0, 0), (0, 0)], 2, programs) }
}
