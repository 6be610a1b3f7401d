//! The playground over real connections on loopback.

#[path = "served/events.rs"]
mod events;
#[path = "served/hostile.rs"]
mod hostile;
#[path = "served/mistakes.rs"]
mod mistakes;
#[path = "served/page.rs"]
mod page;
#[path = "served/running.rs"]
mod running;
#[path = "served/sessions.rs"]
mod sessions;
