//! Statuses that a request to any path may get, since it is refused before its path is looked for.

use utoipa::openapi::path::Operation;
use utoipa::openapi::{ContentBuilder, OpenApi, Ref, Response, ResponseBuilder};

/// Adds them to the description of each path, unless it describes them itself.
pub(super) fn describe(description: &mut OpenApi) {
    for path in description.paths.paths.values_mut() {
        path.get.iter_mut().for_each(|operation| add(operation, false));
        path.post.iter_mut().for_each(|operation| add(operation, true));
    }
}

fn add(operation: &mut Operation, may_change: bool) {
    let mut add = |status: &str, response: Response| {
        let responses = &mut operation.responses.responses;
        responses.entry(status.to_owned()).or_insert_with(|| response.into());
    };
    if may_change {
        add("403", problem("A page of another site has sent this"));
        add("408", problem("The body did not come in time"));
    }
    add("421", problem("The service is not known by the name in `Host`"));
    // No code of the service sees such a request.
    let what = "There are more than 100 fields, or more than 64 KiB of them; over HTTP/2 16 KiB";
    add("431", ResponseBuilder::new().description(what).build());
}

fn problem(what: &str) -> Response {
    let details = Ref::from_schema_name("ProblemDetails");
    let content = ContentBuilder::new().schema(Some(details)).build();
    ResponseBuilder::new().description(what).content("application/problem+json", content).build()
}
