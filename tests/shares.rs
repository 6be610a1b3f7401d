//! A limit for all tenants with an assured share for each. What is checked:
//!
//! * each answer, over random histories with changes of all numbers, is that of exact buckets that keep all
//!   tenants for ever (`reference.rs`);
//! * with rates that round, all tenants together stay within the bound, and none is refused its share;
//! * so it is with threads, on the processor's clock;
//! * what is idle is lent, and not owed; ceilings hold, and their memory is bounded;
//! * the last free place of a group is found, however large it is;
//! * answers tell what can be had, and not what others keep;
//! * hostile uses: no permits and all of them, groups that there are not, more tenants than places, clocks
//!   that go back.

mod answers;
mod clocks;
mod places;
mod random;
mod reference;
mod restored;
mod stories;
mod threads;
