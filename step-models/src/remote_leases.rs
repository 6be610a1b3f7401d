//! Leases of processes from a limit on a server, by messages that are lost, late or repeated.
//!
//! The server keeps the charges of a bucket: it grants what no span up to now forbids, for a burst of `cap` less a lease for
//! each node that is stated; and takes a charge back in part, as if that part had never been. (The scripts do it in few
//! numbers. Their own tests hold them against such a list.) A node holds permits of its lease, each of a charge.
//!
//! * A caller takes its permits from the lease. If they are too few, and no request is on its way, it takes the lease
//!   into the hand of a request, which asks for what is missing at least, and for a lease besides. If one is on its way, it
//!   waits for that.
//! * A request ahead asks for what is missing of a lease, while the lease is spent on.
//! * When the answer comes, the caller for whom the request was counts as granted when the server decided. What is
//!   left is the lease, at most as large as the room that the request has reserved: a lease for one with a caller,
//!   what was missing for one ahead. The rest is lost.
//! * A request that is given up puts its hand back into the lease. An answer that comes later goes nowhere.
//! * A lease that ends sends its permits back, by their charges. The server marks what it has taken back, so that a message that
//!   comes twice does nothing.
//! * A node that crashes forgets everything; another takes its place.
//! * A replica takes over from the server, which has not seen its last writes, and whose clock may be ahead.
//!
//! Nodes have no clocks here: a request is given up, and a lease ends, at any time. So it holds for any clocks.
//!
//! Stated of every state: if all that nodes hold and all that the server would grant were granted now, no span would have more
//! than the cap and what it earns; after a failover, than that, the charges that were forgotten, and what the clock
//! went ahead by. Every run ends.
//!
//! No answers can be compared with those of the engine without a server: what is granted is decided there, by a script.
//!
//! Left out: several callers in one request, and the word of the lease, of which the tests of the crate are.
//!
//! | mutant           | what it drops                                             | what goes wrong |
//! |------------------|-----------------------------------------------------------|-----------------|
//! | `NoCarveOut`     | that the server keeps the leases back                     | more than the bound |
//! | `Unreserved`     | that a request ahead asks only for what is missing        | more in the lease than was kept back: the same |
//! | `Copies`         | that the lease goes into the hand                         | granted twice: the same |
//! | `TwoRequests`    | that a node has one request at a time                     | more in the lease: the same |
//! | `AnyAnswer`      | that an answer belongs to the request that waits          | one given up, or a second one, adds to the lease: the same |
//! | `OldLife`        | that answers to a node that crashed go nowhere            | the same |
//! | `Uncut`          | that the lease is cut when the caller has gone            | the same |
//! | `KeepsLent`      | that a lease has ended when it is given back              | granted, and given back: the same |
//! | `BackToNow`      | that permits go back to their charge                      | late ones come on top of what was earned since: the same |
//! | `BackTwice`      | the mark of what was given back                           | what was spent is given back: the same |
//! | `ServerExpires`  | that only the node ends its lease                         | the server takes a lease back that a slower clock still spends: the same |
//! | `FailureGrants`  | that a request that was given up has granted nothing      | the same |

use crate::explore::{CLOCK, Found, Model};

#[path = "remote_leases/checks.rs"]
mod checks;
#[path = "remote_leases/node.rs"]
mod node;
#[path = "remote_leases/server.rs"]
mod server;

const NODES: usize = 3;
/// Instants that can be reached, by the clock of a server that is ahead too.
const INSTANTS: usize = 6;
/// An instant after which everything has been earned again.
const LONG_AGO: i8 = -20;

/// The steps of a node that it chooses itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Op {
    /// Takes so many permits, or none.
    Call(i8),
    /// Asks ahead.
    Ahead,
    /// Ends the lease.
    Retire,
    Crash,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mutant {
    NoCarveOut,
    Unreserved,
    Copies,
    TwoRequests,
    AnyAnswer,
    OldLife,
    Uncut,
    KeepsLent,
    BackToNow,
    BackTwice,
    ServerExpires,
    FailureGrants,
}

/// Programs for each node, and how often each fault may happen.
#[derive(Clone, Copy, Debug)]
struct Remote {
    cap: i8,
    /// The most permits of a lease.
    lease: i8,
    /// The number of nodes for which leases are kept back.
    stated: i8,
    run: i8,
    /// Permits that the first node holds at first, and those that were charged with them, which it has granted;
    /// charged long ago, or at the first instant.
    held: i8,
    granted: i8,
    is_fresh: bool,
    programs: [&'static [Op]; NODES],
    repeats: u8,
    departures: u8,
    failovers: u8,
    /// Instants by which the clock of the replica is ahead.
    ahead: i8,
    /// True if what is forgotten is allowed for.
    allows: bool,
    mutant: Option<Mutant>,
}

/// Permits that the server has granted and not taken back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Charge {
    time: i8,
    number: u8,
    permits: i8,
}

/// Permits of a charge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Lot {
    charge: u8,
    permits: i8,
}

/// The node, its life, and the number of its request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Sender {
    node: u8,
    life: u8,
    request: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
enum Message {
    Ask { from: Sender, least: i8, most: i8 },
    Answer { to: Sender, lot: Lot, ran: i8 },
    Back(Lot),
}

/// A request that a node waits for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Request {
    number: u8,
    hand: Vec<Lot>,
    /// Permits of the caller for whom it is; 0 if it is ahead, or the caller has gone.
    wants: i8,
    room: i8,
    least: i8,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Node {
    next: u8,
    life: u8,
    requests: Vec<Request>,
    sent: u8,
    lease: Vec<Lot>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    clock: i8,
    /// Instants by which the server's clock is ahead.
    ahead: i8,
    charges: Vec<Charge>,
    /// Numbers of charges of which a part was taken back.
    marks: Vec<u8>,
    replica: (Vec<Charge>, Vec<u8>),
    charged: u8,
    forgotten: i8,
    nodes: [Node; NODES],
    messages: Vec<Message>,
    granted: [i8; INSTANTS],
    repeats: u8,
    departures: u8,
    failovers: u8,
}

fn sum(lots: &[Lot]) -> i8 {
    lots.iter().map(|lot| lot.permits).sum()
}

/// Takes permits from lots, the oldest first.
fn take(lots: &mut Vec<Lot>, mut permits: i8) {
    while permits > 0 {
        let taken = lots[0].permits.min(permits);
        lots[0].permits -= taken;
        permits -= taken;
        if lots[0].permits == 0 {
            lots.remove(0);
        }
    }
}

impl Remote {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    fn fault(&self, state: &State) -> Option<String> {
        let held = |node: &Node| {
            let hands = node.requests.iter().map(|request| sum(&request.hand));
            sum(&node.lease) + hands.sum::<i8>()
        };
        // As if callers came now for all that there is.
        let mut granted = state.granted;
        granted[state.clock as usize] +=
            state.nodes.iter().map(held).sum::<i8>() + self.available(state);
        let allowed = if self.allows { state.forgotten + state.ahead } else { 0 };
        let mut worst = 0;
        for first in 0..INSTANTS {
            let mut left = self.cap + allowed;
            for permits in &granted[first..] {
                left -= permits;
                worst = worst.max(-left);
                left += 1;
            }
        }
        (worst > 0).then(|| format!("{worst} more than the bound"))
    }

    fn add(&self, found: &mut Found<State>, who: usize, what: &'static str, mut next: State) {
        next.messages.sort_unstable();
        next.charges.sort_unstable();
        let fault = self.fault(&next);
        found.add(who, what, next, fault);
    }
}

impl Model for Remote {
    type State = State;

    fn start(&self) -> State {
        let (mut nodes, mut granted) = (<[Node; NODES]>::default(), [0; INSTANTS]);
        let (mut charges, permits) = (Vec::new(), self.held + self.granted);
        if permits > 0 {
            let time = if self.is_fresh { 0 } else { LONG_AGO };
            charges.push(Charge { time, number: 0, permits });
            nodes[0].lease.push(Lot { charge: 0, permits: self.held });
            granted[0] = self.granted;
        }
        State {
            clock: 0,
            ahead: 0,
            replica: (charges.clone(), Vec::new()),
            charges,
            marks: Vec::new(),
            charged: 1,
            forgotten: 0,
            nodes,
            messages: Vec::new(),
            granted,
            repeats: self.repeats,
            departures: self.departures,
            failovers: self.failovers,
        }
    }

    fn steps(&self, state: &State, found: &mut Found<State>) {
        if state.clock < self.run {
            let next = State { clock: state.clock + 1, ..state.clone() };
            self.add(found, CLOCK, "goes on", next);
        }
        for who in 0..NODES {
            self.step_of_node(state, who, found);
        }
        for index in 0..state.messages.len() {
            self.step_of_message(state, index, found);
        }
        self.step_of_server(state, found);
    }

    fn is_done(&self, state: &State) -> bool {
        (0..NODES).all(|who| usize::from(state.nodes[who].next) == self.programs[who].len())
    }
}
