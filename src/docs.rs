//! The pages of `docs/`, and the programs of `examples/`, as documentation.
//!
//! Links between pages are written with a name, and each page ends with the files that the names
//! stand for. Here the names stand for modules instead: of two definitions of a name, Markdown
//! takes the first. A picture is in the repository only; here an empty one stands for it.

macro_rules! page {
    ($name:ident, $file:literal) => {
        #[doc = include_str!("docs/pages.md")]
        #[doc = include_str!($file)]
        pub mod $name {}
    };
}

page!(algorithms, "../docs/algorithms.md");
page!(benchmarks, "../docs/benchmarks.md");
page!(coming_from, "../docs/coming-from.md");
page!(compare, "../docs/compare.md");
page!(conformance, "../docs/conformance.md");
page!(design, "../docs/design.md");
page!(distributed, "../docs/distributed.md");
page!(keyed, "../docs/keyed.md");
page!(limiters, "../docs/limiters.md");
page!(memory_ordering, "../docs/memory-ordering.md");
page!(scaling, "../docs/scaling.md");
page!(verification, "../docs/verification.md");
page!(waiting, "../docs/waiting.md");
page!(windows, "../docs/windows.md");
page!(changelog, "../CHANGELOG.md");
page!(contributing, "../CONTRIBUTING.md");
// Their lines are from programs that need more than this crate. `sluicegate-http` and `sluicegate-metrics`
// compile those of their pages, and a test of the programs compares the others.
#[cfg(not(doctest))]
page!(http, "../docs/http.md");
#[cfg(not(doctest))]
page!(http_client, "../docs/http-client.md");
#[cfg(not(doctest))]
page!(http_costs, "../docs/http-costs.md");
#[cfg(not(doctest))]
page!(http_coming_from, "../docs/http-coming-from.md");
#[cfg(not(doctest))]
page!(metrics, "../docs/metrics.md");
#[cfg(not(doctest))]
page!(policies, "../docs/policies.md");
#[cfg(not(doctest))]
page!(recipes, "../docs/recipes.md");
#[cfg(not(doctest))]
page!(serve, "../docs/serve.md");

/// Programs that the [recipes] are taken from.
#[cfg(not(doctest))]
pub mod examples {
    macro_rules! program {
        ($name:ident, $file:literal) => {
            #[doc = concat!("The whole program.\n\n```\n", include_str!($file), "```\n")]
            pub mod $name {}
        };
    }

    program!(axum_server, "../examples/axum_server.rs");
    program!(bandwidth, "../examples/bandwidth.rs");
    program!(fake_clock, "../examples/fake_clock.rs");
    program!(from_governor, "../examples/from_governor.rs");
    program!(hot_path_prometheus, "../examples/hot_path_prometheus.rs");
    program!(limits_server, "../examples/limits_server.rs");
    program!(llm_gateway, "../examples/llm_gateway.rs");
    program!(log_throttle, "../examples/log_throttle.rs");
    program!(outgoing_client, "../examples/outgoing_client.rs");
    program!(registry, "../examples/registry.rs");
    program!(tenants_toml, "../examples/tenants_toml.rs");
}
