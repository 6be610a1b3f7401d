//! The requests that a key was denied, in a few words.

use sluicegate_replay::log::printable;
use sluicegate_replay::replay::Profile;

/// Returns the most frequent path and user agent, with the numbers of others.
pub(super) fn in_short(profile: &Profile) -> String {
    let with_more = |value: &str, count: usize, what: &str| match count {
        0 | 1 => printable(value),
        64.. => format!("{} (of 64 {what} or more)", printable(value)),
        count => format!("{} (of {count} {what})", printable(value)),
    };
    let path = match (profile.path().to_string(), profile.paths()) {
        // None is more frequent than others.
        (path, paths @ 2..) if path == "-" => format!("{paths} paths"),
        (path, paths) => with_more(&path, paths, "paths"),
    };
    let agent = short_agent(&profile.agent().to_string());
    let agent = profile.has_agents().then(|| with_more(&agent, profile.agents(), "agents"));
    let network = profile.network.as_deref().map(|network| format!("{}: ", printable(network)));
    let agent = agent.map(|agent| format!(", {agent}"));
    format!("{}{path}{}", network.unwrap_or_default(), agent.unwrap_or_default())
}

/// Returns the part of a user agent that tells most: the name of a robot, or the product at its end.
pub(super) fn short_agent(agent: &str) -> String {
    let Some(rest) = agent.strip_prefix("Mozilla/") else {
        return agent.split_whitespace().next().unwrap_or("-").to_owned();
    };
    let words = rest.split(|c: char| c.is_whitespace() || ";()".contains(c));
    let products: Vec<&str> = words.filter(|word| word.contains('/')).collect();
    let names_itself = |word: &&&str| {
        let word = word.to_lowercase();
        !word.contains("://") && ["bot", "crawl", "spider"].iter().any(|part| word.contains(part))
    };
    let others = ["Safari/", "AppleWebKit/", "Gecko/", "Mobile/", "Version/"];
    let is_own =
        |word: &&&str| !word.contains("://") && !others.iter().any(|other| word.starts_with(other));
    let found = products.iter().find(names_itself).or_else(|| products.iter().rfind(is_own));
    found.or(products.last()).map_or_else(|| agent.to_owned(), |word| (*word).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_agents_are_named_by_what_tells_most() {
        for (agent, short) in [
            ("curl/8.5.0", "curl/8.5.0"),
            ("-", "-"),
            (
                "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
                "Googlebot/2.1",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
                "Chrome/120.0.0.0",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
                "Firefox/128.0",
            ),
        ] {
            assert_eq!(short_agent(agent), short);
        }
    }
}
