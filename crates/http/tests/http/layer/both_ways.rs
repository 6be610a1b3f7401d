//! The short way of a plain layer beside the long way, with random limits, options, requests and answers: nobody can
//! tell them apart.

use std::collections::VecDeque;
use std::future::Future;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{HeaderMap, HeaderName, HeaderValue, Version};
use http_body::{Body as HttpBody, Frame};
use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::KeyTable;
use sluicegate::keyed::Penalties;
use sluicegate::penalty::{PenaltyBox, PenaltyRule};
use sluicegate::wait::ThreadTimer;
use tower::Service;

use super::*;

type Addresses = fn(Limit) -> Limit;
type NewLimit = fn(&Clock) -> Limit;
type SetOption = fn(RateLimitLayer, &Told) -> RateLimitLayer;
type Told = Arc<Mutex<Vec<String>>>;

const LIMITS: [NewLimit; 9] = [
    |clock| Limit::of_all(two(clock)),
    // Not plain.
    |clock| per_client(clock).cost(|parts| parts.headers.len() as u64),
    |clock| Limit::of_all(FixedWindow::with_clock(rate!(3 / second), Arc::clone(clock)).unwrap()),
    |clock| Limit::of_all(SlidingLog::with_clock(rate!(2 / second), Arc::clone(clock)).unwrap()),
    per_client,
    // Has space for one client.
    |clock| {
        let buckets = Buckets::with_clock(quota!(1 / second, burst 2), Arc::clone(clock));
        let clients = Keyed::<ClientKey, _>::builder(buckets).hasher(unseeded()).max_keys(1);
        Limit::per_client(clients.build().unwrap())
    },
    |clock| {
        let quota = quota!(1 / second, burst 2);
        let table = KeyTable::<ClientKey, _, _>::builder_with(quota, unseeded(), Arc::clone(clock));
        Limit::per_client(table.keys(100).unwrap())
    },
    |clock| {
        let offenders = PenaltyBox::with_clock(penalty(), Arc::clone(clock));
        offenders.offend(1);
        Limit::of_all(Penalized::by_refusals(Arc::new(offenders)))
    },
    |clock| {
        let penalties = Penalties::with_clock(penalty(), Arc::clone(clock));
        let offenders = Keyed::<ClientKey, _>::with(penalties);
        let client = ClientKey::Address("192.0.2.1".parse().unwrap());
        offenders.offend(&client, 1).unwrap();
        Limit::per_client(Penalized::by_refusals(Arc::new(offenders)))
    },
];

const ADDRESSES: [Addresses; 5] = [
    |limit| limit.policy(QuotaPolicy::new(2).named("api").unwrap()),
    |limit| limit.addresses(behind_a_proxy()),
    |limit| limit.addresses(behind_a_proxy().when_unknown(WhenUnknown::Share)),
    |limit| limit.addresses(behind_a_proxy().when_unknown(WhenUnknown::UsePeer)),
    |limit| limit.addresses(ClientAddress::of_peer().when_unknown(WhenUnknown::Admit)),
];

/// The options that a plain layer can have. With fields, it is plain in a shadow alone.
const OPTIONS: [SetOption; 7] = [
    |layer, _| layer.fields(FieldVersion::Draft6),
    |layer, _| layer.shadow(),
    |layer, _| layer.skip_preflight(),
    |layer, _| layer.timer(ThreadTimer),
    |layer, _| {
        layer.respond(|refusal, parts| {
            let body = refusal.problem().to_json();
            assert_eq!(refusal.response().into_body(), body, "written in another way");
            let mut response = refusal.response_to(parts);
            response.headers_mut().insert("x-path", parts.uri.path().parse().unwrap());
            response
        })
    },
    |layer, told| {
        let told = Arc::clone(told);
        layer.observe(move |refusal, parts| {
            told.lock().unwrap().push(format!("{refusal:?} {} {:?}", parts.uri, parts.headers));
        })
    },
    |layer, _| {
        layer.edit_fields(|headers, states| {
            headers.insert("x-states", format!("{states:?}").parse().unwrap());
        })
    },
];

const FORWARDED: [&[&str]; 5] = [
    &[],
    &["203.0.113.9"],
    &["203.0.113.9, nobody, 10.1.1.1"],
    &["198.51.100.1", "10.1.1.1"],
    &["10.1.1.1, 10.2.2.2"],
];

/// Returns a hasher of no secret seed, so that two stores lack space for the same clients.
fn unseeded() -> BuildHasherDefault<DefaultHasher> {
    BuildHasherDefault::new()
}

fn penalty() -> PenaltyRule {
    PenaltyRule::new(rate!(1 / minute), Duration::from_secs(1)).unwrap()
}

fn behind_a_proxy() -> ClientAddress {
    ClientAddress::x_forwarded_for(Trust::networks(["10.0.0.0/8"]).unwrap())
}

/// Returns one of several by a random number.
fn one_of<T: Clone>(all: &[T], number: u8) -> T {
    all[usize::from(number) % all.len()].clone()
}

/// A request, by numbers for its method, its peer, its proxies, its protocol, its answer, and the time that passes before
/// it is sent.
type Step = [u8; 6];

fn request_of([method, peer, forwarded, protocol, ..]: Step, number: usize) -> Request<Body> {
    let peers = ["", "192.0.2.1", "10.0.0.1", "::ffff:10.0.0.2", "2001:db8::1", "192.0.2.2"];
    let methods = [Method::GET, Method::HEAD, Method::OPTIONS, Method::POST, Method::CONNECT];
    let mut request = request(one_of(&peers, peer));
    *request.method_mut() = one_of(&methods, method);
    *request.uri_mut() = format!("/{number}").parse().unwrap();
    *request.body_mut() = number.to_be_bytes().to_vec();
    for hops in one_of(&FORWARDED, forwarded) {
        request.headers_mut().append("x-forwarded-for", hops.parse().unwrap());
    }
    match protocol % 5 {
        0 => {
            *request.version_mut() = Version::HTTP_2;
            with(request, &[("content-type", "application/grpc"), ("te", "trailers")])
        }
        1 => with(request, &[("connection", "upgrade"), ("upgrade", "websocket")]),
        2 => with(
            request,
            &[("origin", "https://a.example"), ("access-control-request-method", "PUT")],
        ),
        _ => request,
    }
}

/// Answers with all that the request has, in one of several ways.
fn answer(way: u8, request: Request<Body>) -> Result<Response<Frames>, &'static str> {
    let (parts, body) = request.into_parts();
    let body = Ok(Frame::data(Bytes::from(body)));
    let mut frames = VecDeque::new();
    let mut response = Response::new(());
    *response.version_mut() = parts.version;
    *response.headers_mut() = parts.headers;
    response.extensions_mut().insert((parts.method, parts.extensions.get::<Peer>().copied()));
    match way % 6 {
        0 => return Err("out of order"),
        1 => *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS,
        2 => {
            let inner =
                [("ratelimit-remaining", "0"), ("ratelimit-reset", "9"), ("retry-after", "9")];
            for (name, value) in inner {
                response.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            frames.push_back(body);
        }
        3 => {
            let status = HeaderName::from_static("grpc-status");
            let trailers = HeaderMap::from_iter([(status, HeaderValue::from_static("5"))]);
            frames.extend([body, Ok(Frame::trailers(trailers))]);
        }
        4 => frames.extend([body, Err("broken")]),
        _ => frames.push_back(body),
    }
    Ok(response.map(|()| Frames(frames)))
}

struct Frames(VecDeque<Result<Frame<Bytes>, &'static str>>);

impl HttpBody for Frames {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        Poll::Ready(self.0.pop_front())
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns all that the other end can see of the answer to a request.
async fn seen<S, R>(service: S, request: Request<Body>) -> String
where
    S: Service<Request<Body>, Response = Response<R>, Error = &'static str>,
    R: HttpBody<Data = Bytes, Error = &'static str> + Unpin,
{
    let response = match service.oneshot(request).await {
        Ok(response) => response,
        Err(error) => return error.to_owned(),
    };
    let (parts, mut body) = response.into_parts();
    let known = parts.extensions.get::<(Method, Option<Peer>)>();
    let (size, mut frames) = (body.size_hint(), vec![(None, body.is_end_stream())]);
    while let Some(frame) = body.frame().await {
        frames.push((Some(frame), body.is_end_stream()));
    }
    format!("{parts:?} {known:?} {size:?} {frames:?}")
}

/// Returns all that can be seen of a layer to which these requests come, and of the answers.
async fn all_seen(
    (limit, addresses, options): (u8, u8, u8),
    (is_long, is_stacked): (bool, bool),
    steps: &[Step],
) -> Vec<String> {
    let (clock, told) = (clock(), Told::default());
    let limit = one_of(&ADDRESSES, addresses)(one_of(&LIMITS, limit)(&clock));
    let mut layer = RateLimitLayer::new(limit);
    for (which, option) in OPTIONS.iter().enumerate() {
        if options >> which & 1 == 1 {
            layer = option(layer, &told);
        }
    }
    if is_long {
        // With a skip rule, requests do not take the short way.
        layer = layer.skip(|_| false);
    }
    let mut all = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let [.., way, pause] = *step;
        clock.advance(Duration::from_millis(u64::from(pause % 4) * 400));
        let inner = layer.layer(service_fn(async |request| answer(way, request)));
        let request = request_of(*step, number);
        all.push(if is_stacked {
            seen(layer.layer(inner), request).await
        } else {
            seen(inner, request).await
        });
    }
    all.push(format!("{:?} {:?}", layer.counts(), told.lock().unwrap()));
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nobody_can_tell_the_short_way_from_the_long_one(
        layer in any::<(u8, u8, u8)>(),
        is_stacked in any::<bool>(),
        steps in vec(any::<Step>(), 1..20),
    ) {
        let seen = |is_long| now(all_seen(layer, (is_long, is_stacked), &steps));
        prop_assert_eq!(seen(false), seen(true));
    }
}

/// Returns the output of a future that never waits.
fn now<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it waits"),
    }
}
