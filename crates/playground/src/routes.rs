//! The routes, and what they do to a session.

mod body;
mod events;
mod refused;

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{DefaultBodyLimit, Path, State};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use http::StatusCode;

use self::body::JsonBody;
use self::refused::Refused;
use crate::algorithm::Algorithm;
use crate::command::{CheckedSend, CheckedStream};
use crate::live::Live;
use crate::offer;
use crate::page;
use crate::session::Session;
use crate::sessions;
use crate::setup::{self, CheckedSetup};
use crate::shared::Shared;
use crate::wire::{
    AlgorithmForm, Created, Offer, Play, Scenario, Send, Setup, SpeedChange, Streams,
};

/// Most bytes of a request's body.
const BODY_BYTES: usize = 1 << 16;

type Playground = State<Arc<Shared>>;

pub(crate) fn routes(shared: Arc<Shared>) -> Router {
    let session = Router::new()
        .route("/", put(change).delete(end))
        .route("/send", post(send))
        .route("/streams", put(set_streams))
        .route("/speed", put(set_speed))
        .route("/reset", post(reset))
        .route("/scenario", post(play))
        .route("/events", get(events::events));
    Router::new()
        .route("/playground/algorithms", get(algorithms))
        .route("/playground/scenarios", get(scenarios))
        .route("/playground/limiters", get(limiters))
        .route("/playground/sessions", post(create))
        .nest("/playground/sessions/{session}", session)
        .merge(page::routes())
        .method_not_allowed_fallback(|| async { Refused::wrong_method() })
        .layer(DefaultBodyLimit::max(BODY_BYTES))
        .layer(shared.layer.clone())
        .with_state(shared)
}

async fn algorithms() -> Json<Vec<AlgorithmForm>> {
    Json(Algorithm::all().map(Algorithm::form).collect())
}

async fn scenarios(State(shared): Playground) -> Json<Vec<Scenario>> {
    Json(shared.scenarios.told.to_vec())
}

async fn limiters(State(shared): Playground) -> Json<Offer> {
    Json(offer::checked((shared.offer)()))
}

async fn create(
    State(shared): Playground,
    JsonBody(setup): JsonBody<Setup>,
) -> Result<(StatusCode, Json<Created>), Refused> {
    let setup = CheckedSetup::new(&setup)?;
    let shown = setup.shown.clone();
    let now = Instant::now();
    let session = shared.sessions.add(Live::new(setup, now), now)?;
    Ok((StatusCode::CREATED, Json(Created { session, setup: shown })))
}

async fn change(
    State(shared): Playground,
    Path(name): Path<String>,
    JsonBody(setup): JsonBody<Setup>,
) -> Result<Json<Created>, Refused> {
    let setup = CheckedSetup::new(&setup)?;
    with(&shared, &name, |session| {
        session.change(setup);
        Ok(created(&name, session))
    })
}

async fn send(
    State(shared): Playground,
    Path(name): Path<String>,
    JsonBody(send): JsonBody<Send>,
) -> Result<StatusCode, Refused> {
    let send = CheckedSend::new(&send)?;
    shared.work_time.is_there().map_err(Refused::busy)?;
    with(&shared, &name, |session| {
        session.send(&send)?;
        Ok(StatusCode::ACCEPTED)
    })
}

async fn set_streams(
    State(shared): Playground,
    Path(name): Path<String>,
    JsonBody(streams): JsonBody<Streams>,
) -> Result<StatusCode, Refused> {
    let streams = CheckedStream::all(&streams)?;
    with(&shared, &name, |session| Ok(session.set_streams(streams)?))?;
    Ok(StatusCode::NO_CONTENT)
}

async fn set_speed(
    State(shared): Playground,
    Path(name): Path<String>,
    JsonBody(change): JsonBody<SpeedChange>,
) -> Result<StatusCode, Refused> {
    let speed = setup::speed(change.speed)?;
    with(&shared, &name, |session| {
        session.set_speed(speed);
        Ok(())
    })?;
    Ok(StatusCode::NO_CONTENT)
}

async fn reset(State(shared): Playground, Path(name): Path<String>) -> Result<StatusCode, Refused> {
    with(&shared, &name, |session| {
        session.reset();
        Ok(())
    })?;
    Ok(StatusCode::NO_CONTENT)
}

async fn play(
    State(shared): Playground,
    Path(name): Path<String>,
    JsonBody(scenario): JsonBody<Play>,
) -> Result<Json<Created>, Refused> {
    let found = shared.scenarios.by_id(&scenario.id);
    let found =
        found.ok_or_else(|| Refused::no_such_scenario(&scenario.id, &shared.scenarios.told))?;
    with(&shared, &name, |session| {
        session.play(found);
        Ok(created(&name, session))
    })
}

async fn end(State(shared): Playground, Path(name): Path<String>) -> Result<StatusCode, Refused> {
    let is_removed = shared.sessions.remove(&name);
    is_removed.then_some(StatusCode::NO_CONTENT).ok_or_else(Refused::no_such_session)
}

fn created(name: &str, session: &Session) -> Json<Created> {
    Json(Created { session: name.to_owned(), setup: session.setup().clone() })
}

/// Lets time pass for a session until now, and then `act`s on it.
fn with<T>(
    shared: &Shared,
    name: &str,
    act: impl FnOnce(&mut Session) -> Result<T, Refused>,
) -> Result<T, Refused> {
    let now = Instant::now();
    let live = shared.sessions.get(name, now).ok_or_else(Refused::no_such_session)?;
    let mut live = sessions::lock(&live);
    let has_time = shared.work_time.is_there().is_ok();
    shared.work_time.spend(|| {
        if has_time {
            live.advance(now);
        } else {
            live.stand(now);
        }
        act(&mut live.session)
    })
}
