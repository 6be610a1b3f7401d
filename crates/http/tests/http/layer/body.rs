//! Permits that a request holds until the body of its response has ended, without a server between.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use http_body::{Body as _, Frame, SizeHint};
use sluicegate::bucket::SettleableBucket;
use sluicegate_flow::concurrency::ConcurrencyLimit;

use super::*;

/// A body of parts, each of which is there at once.
struct Parts {
    parts: Vec<Frame<Bytes>>,
    knows_its_end: bool,
}

impl http_body::Body for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = if self.parts.is_empty() { None } else { Some(self.parts.remove(0)) };
        Poll::Ready(next.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        self.knows_its_end && self.parts.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(
            self.parts
                .iter()
                .filter_map(|part| part.data_ref())
                .map(|data| data.len() as u64)
                .sum(),
        )
    }
}

struct Fixture {
    layer: RateLimitLayer,
    places: Arc<ConcurrencyLimit>,
    ends: Arc<Mutex<Vec<(u64, BodyEnd)>>>,
}

/// A layer that notes how each response has ended, and holds a place for it.
fn fixture() -> Fixture {
    let places = Arc::new(ConcurrencyLimit::new(1));
    let ends = Arc::new(Mutex::new(Vec::new()));
    let bucket = Arc::new(SettleableBucket::with_clock(quota!(100 / second), clock()));
    let noted = Arc::clone(&ends);
    let settled = Settled::by_response(bucket, move |response| {
        noted.lock().unwrap().push((response.bytes, response.end));
        None
    });
    let named = |name: &str| QuotaPolicy::new(1).named(name).unwrap();
    let layer = RateLimitLayer::all_of([
        Limit::of_all(settled).policy(named("bytes")),
        Limit::of_all(Concurrency::new(Arc::clone(&places))).policy(named("places")),
    ]);
    Fixture { layer: layer.unwrap(), places, ends }
}

impl Fixture {
    async fn respond(&self, parts: &[&'static str], knows_its_end: bool) -> LimitedBody<Parts> {
        let parts = parts.to_vec();
        let service = service_fn(move |_: Request<Body>| {
            let parts = parts.iter().map(|part| Frame::data(Bytes::from(*part))).collect();
            std::future::ready(Ok::<_, Infallible>(Response::new(Parts { parts, knows_its_end })))
        });
        self.layer.layer(service).oneshot(request("")).await.unwrap().into_body()
    }

    /// Returns the places in flight, and how the last response has ended.
    fn ended(&self) -> (u64, Option<(u64, BodyEnd)>) {
        (self.places.in_flight(), self.ends.lock().unwrap().pop())
    }
}

/// Reads a frame, and returns whether there was one.
fn read_frame(body: &mut LimitedBody<Parts>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    match Pin::new(body).poll_frame(&mut context) {
        Poll::Ready(frame) => frame.is_some(),
        Poll::Pending => unreachable!("its frames are there"),
    }
}

#[tokio::test]
async fn a_body_ends_with_the_frame_that_it_knows_to_be_the_last_or_with_none() {
    let fixture = fixture();
    for knows_its_end in [true, false] {
        let mut body = fixture.respond(&["hello", " there"], knows_its_end).await;
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(11), false));
        assert!(read_frame(&mut body));
        assert_eq!(fixture.ended(), (1, None));
        assert!(read_frame(&mut body));
        if !knows_its_end {
            assert_eq!(fixture.ended(), (1, None));
            assert!(!read_frame(&mut body));
        }
        assert_eq!(fixture.ended(), (0, Some((11, BodyEnd::Complete))));
        assert!(!read_frame(&mut body));
        drop(body);
        assert_eq!(fixture.ended(), (0, None), "it is settled once");
    }
}

#[tokio::test]
async fn an_empty_body_has_ended_with_its_head() {
    let fixture = fixture();
    let body = fixture.respond(&[], true).await;
    assert_eq!(fixture.ended(), (0, Some((0, BodyEnd::Complete))));
    assert!(body.is_end_stream());
}

#[tokio::test]
async fn a_body_that_nobody_reads_or_reads_to_its_end_is_settled_when_it_is_dropped() {
    let fixture = fixture();
    let body = fixture.respond(&["hello"], true).await;
    assert_eq!(fixture.ended(), (1, None));
    drop(body);
    assert_eq!(fixture.ended(), (0, Some((0, BodyEnd::Dropped))));
    let mut body = fixture.respond(&["hello", " there"], true).await;
    assert!(read_frame(&mut body));
    drop(body);
    assert_eq!(fixture.ended(), (0, Some((5, BodyEnd::Dropped))));
}

#[tokio::test]
async fn a_response_that_is_dropped_before_it_is_there_gives_its_place_back() {
    let fixture = fixture();
    let forever = service_fn(|_: Request<Body>| {
        std::future::pending::<Result<Response<Full<Bytes>>, Infallible>>()
    });
    let mut response = Box::pin(fixture.layer.layer(forever).oneshot(request("")));
    assert!(response.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(fixture.ended(), (1, None));
    drop(response);
    assert_eq!(fixture.ended(), (0, None), "without a response the estimate is kept");
}
