//! All models as one program. `ci/loom.sh` runs the models by it, and builds a file of them alone for the
//! mutants that its models have to catch.

#[path = "tests/calendar.rs"]
mod calendar;
#[path = "tests/change.rs"]
mod change;
#[path = "tests/concurrency.rs"]
mod concurrency;
#[path = "tests/concurrency_line.rs"]
mod concurrency_line;
#[path = "tests/counted.rs"]
mod counted;
#[path = "tests/denials.rs"]
mod denials;
#[path = "tests/falls.rs"]
mod falls;
#[path = "tests/heal.rs"]
mod heal;
#[path = "tests/hot_keys.rs"]
mod hot_keys;
#[path = "tests/hot_keys_elsewhere.rs"]
mod hot_keys_elsewhere;
#[path = "tests/key_table.rs"]
mod key_table;
#[path = "tests/key_table_change.rs"]
mod key_table_change;
#[path = "tests/key_table_hits.rs"]
mod key_table_hits;
#[path = "tests/keyed.rs"]
mod keyed;
#[path = "tests/keyed_reserve.rs"]
mod keyed_reserve;
#[path = "tests/lease_word.rs"]
mod lease_word;
#[path = "tests/leases.rs"]
mod leases;
#[path = "tests/log.rs"]
mod log;
#[path = "tests/names.rs"]
mod names;
#[path = "tests/pairs.rs"]
mod pairs;
#[path = "tests/penalty.rs"]
mod penalty;
#[path = "tests/pinned.rs"]
mod pinned;
#[path = "tests/receipts.rs"]
mod receipts;
#[path = "tests/refused.rs"]
mod refused;
#[path = "tests/replaced.rs"]
mod replaced;
#[path = "tests/reserve_windows.rs"]
mod reserve_windows;
#[path = "tests/reshard.rs"]
mod reshard;
#[path = "tests/ring.rs"]
mod ring;
#[path = "tests/room.rs"]
mod room;
#[path = "tests/searched.rs"]
mod searched;
#[path = "tests/settle.rs"]
mod settle;
#[path = "tests/settle_reserve.rs"]
mod settle_reserve;
#[path = "tests/settle_rings.rs"]
mod settle_rings;
#[path = "tests/settle_windows.rs"]
mod settle_windows;
#[path = "tests/sharded.rs"]
mod sharded;
#[path = "tests/sharded_per_cpu.rs"]
mod sharded_per_cpu;
#[path = "tests/shares.rs"]
mod shares;
#[path = "tests/spend.rs"]
mod spend;
#[path = "tests/starved.rs"]
mod starved;
#[path = "tests/top_up.rs"]
mod top_up;
#[path = "tests/waiting.rs"]
mod waiting;
#[path = "tests/waiting_keys.rs"]
mod waiting_keys;
#[path = "tests/waiting_queued.rs"]
mod waiting_queued;
#[path = "tests/waiting_reservations.rs"]
mod waiting_reservations;
#[path = "tests/waiting_rings.rs"]
mod waiting_rings;
#[path = "tests/waiting_tenants.rs"]
mod waiting_tenants;
#[path = "tests/waiting_turns.rs"]
mod waiting_turns;
#[path = "tests/waiting_windows.rs"]
mod waiting_windows;
#[path = "tests/windows.rs"]
mod windows;
