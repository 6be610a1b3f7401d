//! The callers of a crowd, and what is checked of each.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use rand::Rng as _;
use rand::rngs::SmallRng;
use sluicegate::Clock as _;
use sluicegate_shuttle_tests::sync::Mutex;
use sluicegate_shuttle_tests::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use sluicegate_shuttle_tests::thread::{self, Thread};
use sluicegate_shuttle_tests::{SimulatedTime, look};

use crate::lines::{Answer, Asking, LIMIT, Lines};

/// A caller's intention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intent {
    pub(crate) key: usize,
    pub(crate) act: Act,
    /// True if a caller that waits is a task.
    pub(crate) in_task: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    /// Waits for as long as it takes.
    Wait(u64),
    /// Waits for so many seconds at most.
    WaitFor(u64, u64),
    /// Gives up after so many looks.
    GiveUp(u64, u32),
    /// Tries, so many times.
    Try(u64, u32),
    /// Makes the key full again.
    Reset,
    /// Lets more be granted than anybody wants.
    Raise,
    /// Closes all lines.
    Close,
}

impl Intent {
    pub(crate) fn of_crowd<L: Lines>(random: &mut SmallRng) -> Intent {
        let permits = random.random_range(1..=LIMIT);
        let act = match random.random_range(0..10) {
            0..4 => Act::Wait(permits),
            4..6 => Act::WaitFor(permits, random.random_range(0..8)),
            6..8 => Act::GiveUp(permits, random.random_range(0..6)),
            _ => Act::Try(permits, random.random_range(1..4)),
        };
        Intent { key: random.random_range(0..L::KEYS), act, in_task: random.random() }
    }

    fn is_task(&self) -> bool {
        self.in_task && matches!(self.act, Act::Wait(_) | Act::WaitFor(..) | Act::GiveUp(..))
    }
}

pub(crate) struct Crowd<L> {
    lines: L,
    time: Arc<SimulatedTime>,
    /// The callers that stand in the line of each key, in the order in which they came.
    arrivals: Vec<Mutex<Vec<usize>>>,
    pub(crate) intents: Vec<Intent>,
    resets: AtomicU64,
    /// Permits that callers were told of.
    told: AtomicU64,
    /// Permits that callers wanted which gave up: they may have been granted them.
    given_up: AtomicU64,
}

/// A caller that waits.
struct Caller<'a, L> {
    crowd: &'a Crowd<L>,
    number: usize,
    asking: Asking<'a>,
    /// Looks that are left before it gives up.
    looks: Option<u32>,
}

/// A task, and whether it has been woken.
struct Task<'a, L> {
    caller: Caller<'a, L>,
    wakes: Arc<Wakes>,
    answer: Poll<Answer>,
}

struct Wakes {
    executor: Thread,
    is_woken: AtomicBool,
}

impl Wake for Wakes {
    fn wake(self: Arc<Wakes>) {
        self.is_woken.store(true, Ordering::SeqCst);
        self.executor.unpark();
    }
}

impl<L: Lines> Crowd<L> {
    pub(crate) fn new(intents: Vec<Intent>) -> Arc<Crowd<L>> {
        Crowd::create(intents, false)
    }

    /// Nobody is woken by the time.
    pub(crate) fn slow(intents: Vec<Intent>) -> Arc<Crowd<L>> {
        Crowd::create(intents, true)
    }

    fn create(intents: Vec<Intent>, is_slow: bool) -> Arc<Crowd<L>> {
        let time = Arc::new(SimulatedTime::new(intents.len()));
        Arc::new(Crowd {
            lines: L::new(&time, is_slow),
            time,
            arrivals: (0..L::KEYS).map(|_| Mutex::default()).collect(),
            intents,
            resets: AtomicU64::new(0),
            told: AtomicU64::new(0),
            given_up: AtomicU64::new(0),
        })
    }

    /// Lets all act at the same time. Returns the permits that they were told of.
    pub(crate) fn act(self: &Arc<Crowd<L>>) -> u64 {
        let start = |act: fn(&Crowd<L>, &[usize]), callers: Vec<usize>| {
            let crowd = Arc::clone(self);
            thread::spawn(move || act(&crowd, &callers))
        };
        let (tasks, others): (Vec<usize>, Vec<usize>) =
            (0..self.intents.len()).partition(|caller| self.intents[*caller].is_task());
        let mut threads = vec![start(|crowd, _| crowd.time.pass(), vec![])];
        threads.push(start(Crowd::run_tasks, tasks));
        threads.extend(others.into_iter().map(|caller| start(Crowd::carry_out, vec![caller])));
        for thread in threads {
            thread.join().unwrap();
        }
        self.told.load(Ordering::SeqCst)
    }

    /// Runs tasks on an executor of theirs, which polls those that were woken.
    fn run_tasks(&self, callers: &[usize]) {
        let mut tasks: Vec<Task<'_, L>> = Vec::new();
        for &number in callers {
            let wakes =
                Arc::new(Wakes { executor: thread::current(), is_woken: AtomicBool::new(false) });
            let mut caller = self.caller(number);
            let answer = caller.arrive(&mut Context::from_waker(&Waker::from(Arc::clone(&wakes))));
            tasks.push(Task { caller, wakes, answer });
            thread::yield_now();
        }
        while !tasks.is_empty() {
            let mut is_idle = true;
            for mut task in std::mem::take(&mut tasks) {
                if let Poll::Ready(answer) = task.answer {
                    task.caller.told(answer);
                } else if task.caller.looks == Some(0) {
                    task.caller.give_up();
                } else {
                    if task.wakes.is_woken.swap(false, Ordering::SeqCst)
                        || task.caller.looks.is_some()
                    {
                        task.caller.looks = task.caller.looks.map(|looks| looks - 1);
                        let waker = Waker::from(Arc::clone(&task.wakes));
                        let context = &mut Context::from_waker(&waker);
                        task.answer = task.caller.asking.as_mut().poll(context);
                        is_idle = false;
                    }
                    tasks.push(task);
                }
            }
            if is_idle && !tasks.is_empty() {
                thread::park();
            } else {
                thread::yield_now();
            }
        }
    }

    /// Carries out the intention of one caller on its own thread.
    fn carry_out(&self, callers: &[usize]) {
        let Intent { key, act, .. } = self.intents[callers[0]];
        thread::yield_now();
        match act {
            Act::Wait(_) | Act::WaitFor(..) | Act::GiveUp(..) => return self.wait(callers[0]),
            Act::Try(permits, times) => (0..times).for_each(|_| self.try_acquire(key, permits)),
            Act::Reset => {
                // Before what it brings can be granted.
                self.resets.fetch_add(1, Ordering::SeqCst);
                self.lines.reset(key);
            }
            Act::Raise => self.lines.raise(key),
            Act::Close => self.lines.close(),
        }
        self.time.leave();
    }

    fn wait(&self, number: usize) {
        let mut caller = self.caller(number);
        let mut answer = caller.arrive_on_thread();
        loop {
            if let Poll::Ready(answer) = answer {
                return caller.told(answer);
            }
            match &mut caller.looks {
                Some(0) => return caller.give_up(),
                Some(looks) => {
                    *looks -= 1;
                    thread::yield_now();
                }
                None => thread::park(),
            }
            answer = look(caller.asking.as_mut());
        }
    }

    /// Tries, and checks that nobody was overtaken that stood in line before.
    fn try_acquire(&self, key: usize, permits: u64) {
        thread::yield_now();
        let before = self.arrivals[key].lock().unwrap().clone();
        let Ok(grant) = self.lines.try_acquire(key, permits) else { return };
        self.told.fetch_add(grant.permits(), Ordering::SeqCst);
        let arrivals = self.arrivals[key].lock().unwrap();
        let after_it = arrivals.iter().filter(|arrived| !before.contains(arrived)).count();
        assert!(self.lines.waiters(key) <= after_it, "a try overtook a caller in line");
    }

    fn caller(&self, number: usize) -> Caller<'_, L> {
        let Intent { key, act, .. } = self.intents[number];
        let (permits, seconds, looks) = match act {
            Act::WaitFor(permits, seconds) => (permits, Some(seconds), None),
            Act::GiveUp(permits, looks) => (permits, None, Some(looks)),
            Act::Wait(permits) | Act::Try(permits, _) => (permits, None, None),
            Act::Reset | Act::Raise | Act::Close => (0, None, None),
        };
        let asking = self.lines.ask(key, permits, seconds, &self.time);
        Caller { crowd: self, number, asking, looks }
    }

    /// Checks that nobody is left behind, that what was granted was told, and that each gate is open
    /// again.
    pub(crate) fn assert_is_over(&self) {
        assert!(self.lines.are_over(), "a line is left");
        assert!(self.arrivals.iter().all(|arrivals| arrivals.lock().unwrap().is_empty()));
        let [told, given_up, resets] =
            [&self.told, &self.given_up, &self.resets].map(|sum| sum.load(Ordering::SeqCst));
        let granted = self.lines.permits();
        assert!(told <= granted && granted <= told + given_up, "{granted} granted, {told} told");
        let is_raised = self.intents.iter().any(|intent| matches!(intent.act, Act::Raise));
        let most = L::KEYS as u64 * L::most(self.time.now_nanos()) + LIMIT * resets;
        assert!(is_raised || granted <= most, "{granted} granted, of {most} at most");
        self.time.advance(Duration::from_secs(100 * 86_400));
        assert!(self.lines.are_open(), "a gate is closed for ever");
    }

    /// Takes permits that are there.
    pub(crate) fn take(&self, key: usize, permits: u64) {
        let grant = self.lines.try_acquire(key, permits).unwrap();
        self.told.fetch_add(grant.permits(), Ordering::SeqCst);
    }
}

impl<L: Lines> Caller<'_, L> {
    fn arrivals(&self) -> &Mutex<Vec<usize>> {
        &self.crowd.arrivals[self.crowd.intents[self.number].key]
    }

    /// Comes to stand in line, with nobody else at the same time.
    fn arrive(&mut self, context: &mut Context<'_>) -> Poll<Answer> {
        let crowd = self.crowd;
        let mut arrivals = crowd.arrivals[crowd.intents[self.number].key].lock().unwrap();
        let answer = self.asking.as_mut().poll(context);
        arrivals.push(self.number);
        answer
    }

    fn arrive_on_thread(&mut self) -> Poll<Answer> {
        let crowd = self.crowd;
        let mut arrivals = crowd.arrivals[crowd.intents[self.number].key].lock().unwrap();
        let answer = look(self.asking.as_mut());
        arrivals.push(self.number);
        answer
    }

    /// Checks that nobody who came before stands in line any more once the caller has been granted its
    /// permits. A caller leaves the list only after it has left the line.
    fn told(self, answer: Answer) {
        let crowd = self.crowd;
        let mut arrivals = self.arrivals().lock().unwrap();
        let place = arrivals.iter().position(|arrived| *arrived == self.number).unwrap();
        let after_it = arrivals.len() - place - 1;
        if let Ok(grant) = answer {
            let waiters = crowd.lines.waiters(crowd.intents[self.number].key);
            assert!(waiters <= after_it, "overtook a caller in line");
            crowd.told.fetch_add(grant.permits(), Ordering::SeqCst);
        }
        arrivals.remove(place);
        drop(arrivals);
        crowd.time.leave();
    }

    /// Leaves the line before the list.
    fn give_up(self) {
        let Caller { crowd, number, asking, .. } = self;
        drop(asking);
        let Intent { key, act, .. } = crowd.intents[number];
        if let Act::GiveUp(permits, _) = act {
            crowd.given_up.fetch_add(permits, Ordering::SeqCst);
        }
        crowd.arrivals[key].lock().unwrap().retain(|arrived| *arrived != number);
        crowd.time.leave();
    }
}
