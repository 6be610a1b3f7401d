//! The table of `docs/http.md`: each row has the configuration that is tested here, with the fields that
//! reach a server behind that proxy, also when the client pretends to be another.

use super::*;

#[path = "behind/rows.rs"]
mod rows;

use rows::XFF;

/// The address that the client pretends to have.
const OTHER: &str = "198.51.100.66";

#[test]
fn a_client_is_itself_behind_each_proxy_whatever_it_sends() {
    for row in rows::all() {
        assert!(row.requests.len() >= 2, "{}", row.name);
        for fields in row.requests {
            let found = row.addresses.find(Some(row.peer.parse().unwrap()), &headers(fields));
            assert_eq!(found, Ok(CLIENT.parse().unwrap()), "{}: {fields:?}", row.name);
        }
    }
}

/// Unless the configuration says that there is no such way to the server.
#[test]
fn a_client_that_comes_past_the_proxy_is_itself() {
    for row in rows::all() {
        if row.code.contains("hops") {
            continue;
        }
        for fields in row.requests {
            let mut headers = headers(fields);
            for value in headers.values_mut() {
                *value = HeaderValue::from_static(OTHER);
            }
            let found = row.addresses.find(Some(CLIENT.parse().unwrap()), &headers);
            assert_eq!(found, Ok(CLIENT.parse().unwrap()), "{}: {headers:?}", row.name);
        }
    }
}

/// A CDN tells IPv6 addresses in the same field.
#[test]
fn clients_with_ipv6_addresses_are_found_behind_each_proxy() {
    let client: IpAddr = "2001:db8:1:2::9".parse().unwrap();
    for row in rows::all() {
        let peer = if row.peer == CLIENT { client } else { row.peer.parse().unwrap() };
        for fields in row.requests {
            let mut headers = headers(fields);
            for value in headers.values_mut() {
                let text = value.to_str().unwrap();
                let ported = text.replace("203.0.113.9:47110", "[2001:db8:1:2::9]:47110");
                let quoted = ported.replace("for=203.0.113.9", "for=\"[2001:db8:1:2::9]\"");
                *value = quoted.replace(CLIENT, "2001:db8:1:2::9").parse().unwrap();
            }
            let found = row.addresses.find(Some(peer), &headers);
            assert_eq!(found, Ok(client), "{}: {headers:?}", row.name);
        }
    }
}

/// Returns the cells of the rows of the page's table, without their signs for code.
fn table() -> Vec<Vec<String>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/http.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut lines = page.lines().skip_while(|line| !line.starts_with("| behind |")).skip(2);
    let mut rows = Vec::new();
    while let Some(line) = lines.next().filter(|line| line.starts_with('|')) {
        let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', ""));
        rows.push(cells.collect());
    }
    rows
}

#[test]
fn the_page_shows_what_is_tested() {
    let without_spaces = |code: &str| code.split_whitespace().collect::<String>();
    let tested: Vec<_> =
        rows::all().iter().map(|row| (row.name.to_owned(), without_spaces(row.code))).collect();
    let shown: Vec<_> =
        table().iter().map(|cells| (cells[0].clone(), without_spaces(&cells[2]))).collect();
    assert_eq!(shown, tested);
}

/// The other modes of that balancer, of which the page warns.
#[test]
fn a_balancer_that_does_not_add_the_client_is_of_no_use() {
    let addresses = ClientAddress::x_forwarded_for(trusted());
    let proxy = Some(PROXY.parse().unwrap());
    // `remove` is noticed, and so is `preserve` with an honest client; a liar is believed.
    assert_eq!(addresses.find(proxy, &HeaderMap::new()), Err(MissingField));
    assert_eq!(addresses.find(proxy, &headers(&[(XFF, OTHER)])), Ok(OTHER.parse().unwrap()));
}
