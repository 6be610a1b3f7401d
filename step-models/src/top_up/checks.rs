//! The invariant, and the fault of each mutant.

use crate::explore::{Explored, explore};

use super::*;

use Op::{Add, Receipt, Reset, Take, UpTo, Withdraw};

fn of(first: i8, ops: &[Op]) -> TopUp {
    TopUp { first, run: 0, ops: ops.to_vec(), checks_denials: false, mutant: None }
}

fn holds(model: &TopUp) -> Explored {
    let explored = explore(model).unwrap();
    println!("top up {model:?}: {explored:?}");
    assert!(explored.counts.grants > 0);
    explored
}

#[test]
fn no_permit_is_spent_twice_or_lost_between_limiter_and_balance() {
    for ops in [
        [Take(2), Receipt(2), Add(2), Take(1), Receipt(1), Add(1)],
        [Take(2), Receipt(1), Receipt(2), Add(1), Take(1), Reset],
        [UpTo(2), Receipt(2), Withdraw(2), Add(1), Add(2), Take(2)],
        [UpTo(3), Take(2), Add(3), Add(2), Receipt(1), Withdraw(1)],
    ] {
        for first in 0..=3 {
            let explored = holds(&TopUp { run: 2, ..of(first, &ops) });
            assert!(explored.states > 4_000 && explored.counts.denials > 0);
        }
    }
}

#[test]
fn a_denial_is_right_at_some_moment_if_permits_are_only_taken() {
    for ops in [
        [Take(2), Take(1), UpTo(2), Take(3), Take(1), UpTo(1)],
        [Take(1), Take(1), UpTo(3), Withdraw(2), Take(2), UpTo(2)],
    ] {
        for first in 0..=4 {
            holds(&TopUp { checks_denials: true, ..of(first, &ops) });
        }
    }
}

/// The limiter has too few, then the balance; and between the two looks permits have come to the
/// one and gone from the other.
#[test]
fn a_denial_may_be_of_two_moments() {
    let model = TopUp { run: 1, checks_denials: true, ..of(1, &[Take(1), Take(1), Take(1)]) };
    let trace = explore(&model).unwrap_err();
    assert!(trace.fault.contains("had enough throughout"), "{trace:?}");
}

#[test]
fn every_rule_of_a_balance_is_needed() {
    use Mutant::*;

    let not_paid = "not what was added";
    // With the length of the shortest run to the fault.
    for (mutant, model, fault, steps) in [
        (TakesByStore, of(4, &[Take(2), Take(2)]), not_paid, 6),
        (AddsByStore, of(1, &[Add(1), Add(2)]), not_paid, 6),
        (DecidesOnce, of(1, &[Add(1), Add(2)]), not_paid, 7),
        (Unchecked, of(1, &[Take(2)]), "below 0", 3),
        (PaysInPart, of(1, &[Take(2)]), not_paid, 3),
        (PaysBesides, of(1, &[Take(1)]), not_paid, 3),
        (BackToTheLimiter, of(2, &[Receipt(2)]), not_paid, 4),
        (BackToTheBalance, of(0, &[Receipt(1)]), not_paid, 2),
        (BackToBoth, of(0, &[Receipt(1)]), not_paid, 2),
        (BackByStore, of(2, &[Receipt(2), Add(1)]), not_paid, 9),
        (ResetsTheBalance, of(2, &[Take(2), Reset]), not_paid, 4),
        (Wraps, of(3, &[Add(2)]), not_paid, 3),
        (WithdrawsBlindly, of(1, &[Withdraw(2)]), "below 0", 3),
    ] {
        explore(&model).unwrap();
        let trace = explore(&TopUp { mutant: Some(mutant), ..model }).unwrap_err();
        assert!(trace.fault.contains(fault), "{mutant:?}: {trace:?}");
        assert_eq!(trace.steps(), steps, "{mutant:?}: {trace:?}");
    }
}
