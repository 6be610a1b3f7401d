//! Streams, sinks, readers and writers that pay permits for items or bytes.

// Streams, sinks, readers and writers that go through a limiter.
//
// | | | feature |
// |---|---|---|
// | [`stream`] | a `Stream` whose items cost permits | `futures` |
// | [`sink`] | a `Sink` whose items cost permits | `futures` |
// | [`reader`] | a `Read` or an `AsyncRead` whose bytes cost permits | none, `tokio`, or `futures` |
// | [`writer`] | a `Write` or an `AsyncWrite` whose bytes cost permits | none, `tokio`, or `futures` |
// | [`payment`] | the part that they share: takes permits, in parts where they are many | |
//
// # Rules
//
// * **Permits are taken for what is moved, and for nothing else.** What comes in (items of a stream,
//   bytes that are read) is there before its permits are taken, and is passed on once they are. What
//   goes out (items of a sink, bytes that are written) is passed on once its permits are taken. A
//   writer that accepts fewer bytes than were paid for leaves the rest paid, for the next write.
// * **An error of the inner end costs a reader and a stream nothing.** A writer and a sink keep what
//   was paid, at most a chunk or an item, for the next call. It is lost if they are dropped.
// * **More than the burst is taken in parts**, each of which stands in line anew: so no item and no
//   transfer is too large, and nobody else waits for longer than for one burst.
// * **Nothing is lost by a refusal**: what could not be paid for is kept, and the next call asks
//   again. A refusal by a full line comes at once, and to each call: whoever goes on has to let the
//   `retry_after` of the error pass first.
//
// # Cost
//
// Clocks are read by the limiter, as [`Wait`](sluicegate::Wait) says, and by the timer. A call that is
// granted its permits at once does not lock the line. The first sleep of a task allocates a box, which
// later ones use again; the timer may allocate for each.

/// The longest read, and the longest write, unless it is set.
const CHUNK: usize = 16 << 10;

mod payment;
mod reader;
#[cfg(feature = "futures")]
mod sink;
#[cfg(feature = "futures")]
mod stream;
mod writer;

pub use self::reader::RateLimitedReader;
#[cfg(feature = "futures")]
pub use self::sink::{RateLimitedSink, RateLimitedSinkError};
#[cfg(feature = "futures")]
pub use self::stream::RateLimitedStream;
pub use self::writer::RateLimitedWriter;
