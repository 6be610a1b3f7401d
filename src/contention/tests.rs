use super::*;

fn announced(contention: &Contention) -> Contender<'_> {
    let mut contender = Contender::new(Some(contention));
    for _ in 0..LOSSES {
        contender.lost_race();
    }
    contender
}

#[test]
fn a_caller_is_announced_after_so_many_lost_races_and_not_before() {
    let contention = Contention::new();
    let mut contender = Contender::new(Some(&contention));
    for _ in 1..LOSSES {
        contender.lost_race();
    }
    assert!(!contention.is_announced());
    contender.lost_race();
    assert!(contention.is_announced());
    for _ in 0..3 * LOSSES {
        contender.lost_race();
    }
    drop(contender);
    assert_eq!(contention.load(), Starved::NONE);
}

#[test]
fn a_caller_that_is_starved_before_the_loop_is_announced_as_it_begins() {
    let contention = Contention::new();
    let mut pauses = Pauses::new();
    for _ in 1..LOSSES {
        assert!(pauses.may_try_again());
        let contender = Contender::after(Some(&contention), pauses);
        assert!(!contender.is_announced() && !contention.is_announced());
    }
    assert!(!pauses.may_try_again());
    let mut contender = Contender::after(Some(&contention), pauses);
    assert!(contender.is_announced() && contention.is_announced());
    assert!(!contender.has_stepped_back(), "for itself");
    drop(contender);
    assert_eq!(contention.load(), Starved::NONE);
}

#[test]
fn each_announced_caller_takes_back_its_own_announcement() {
    let contention = Contention::new();
    let (one, other) = (announced(&contention), announced(&contention));
    drop(one);
    assert!(contention.is_announced());
    drop(other);
    assert_eq!(contention.load(), Starved::NONE);
}

#[test]
fn an_announcement_is_taken_back_in_a_panic() {
    let contention = Contention::new();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _contender = announced(&contention);
        panic!("a clock of the user's");
    }));
    assert!(caught.is_err());
    assert_eq!(contention.load(), Starved::NONE);
}

#[test]
fn a_caller_steps_back_once_and_only_if_somebody_is_announced() {
    let contention = Contention::new();
    let mut early = Contender::new(Some(&contention));
    assert!(!early.has_stepped_back());
    let _announced = announced(&contention);
    let before = contention.load();
    assert!(!early.has_stepped_back());
    assert_eq!(contention.load(), before);
    let mut late = Contender::new(Some(&contention));
    assert!(late.has_stepped_back());
    assert_eq!(Some(contention.load()), before.stepped_back());
    assert!(!late.has_stepped_back());
    assert_eq!(Some(contention.load()), before.stepped_back());
}

#[test]
fn callers_of_a_word_without_announcements_pause_for_ever_and_announce_nothing() {
    let mut contender = Contender::new(None);
    for _ in 0..3 * LOSSES {
        assert!(!contender.has_stepped_back());
        contender.lost_race();
    }
    assert!(contender.announced.is_none());
}
