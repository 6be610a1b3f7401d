//! Formats with names: what servers, proxies and clouds write if they are not told otherwise.

use std::fmt::Write;

use super::FormatError;
use super::Kind;
use super::names::Names;
use super::pattern::Pattern;
use super::prefix::PREFIXES;

/// A form that lines may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Common or combined format, with anything after it.
    Common,
    /// A pattern in nginx's variables.
    Pattern(&'static str),
    /// Squid's pattern, of which each space stands for one or more.
    Squid(&'static str),
    Json,
    Csv,
    W3c,
    /// Pairs of a label and a value, separated by tabs.
    Ltsv,
}

/// A name that `--format` takes, with the forms that it stands for.
#[derive(Debug)]
pub(super) struct Preset {
    pub(super) name: &'static str,
    about: &'static str,
    pub(super) forms: &'static [Form],
}

const fn preset(name: &'static str, about: &'static str, forms: &'static [Form]) -> Preset {
    Preset { name, about, forms }
}

const VHOST: Form = Form::Pattern(
    "$vhost $remote_addr $identd $remote_user [$time_local] \"$request\" $status $bytes_sent \
     \"$http_referer\" \"$http_user_agent\"$rest",
);

/// The names are those of the vendor's documentation, as of all formats here, so that a policy can have them.
const ALB: Form = Form::Pattern(
    "$type $time_iso8601 $elb $remote_addr_and_port $target $request_processing_time \
     $target_processing_time $response_processing_time $status $target_status $received_bytes $bytes_sent \
     \"$request\" \"$http_user_agent\"$rest",
);

const CLASSIC_ELB: Form = Form::Pattern(
    "$time_iso8601 $elb $remote_addr_and_port $target $request_processing_time \
     $target_processing_time $response_processing_time $status $target_status $received_bytes $bytes_sent \
     \"$request\" \"$http_user_agent\"$rest",
);

/// The captured headers, if there are any, are a part of the queues.
const HAPROXY: Form = Form::Pattern(
    "$remote_addr_and_port [$time_local] $frontend $backend $TR/$Tw/$Tc/$Tr/$Ta $status $bytes_sent \
     $request_cookie $response_cookie $termination $connections $queues \"$request\"$rest",
);

const INGRESS_NGINX: Form = Form::Pattern(
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \
     \"$http_user_agent\" $request_length $request_time [$proxy_upstream_name] \
     [$proxy_alternative_upstream_name] $upstream_addr $upstream_response_length $upstream_response_time \
     $upstream_status $req_id",
);

/// Envoy's default has no address but that in `X-Forwarded-For`.
const ENVOY: Form = Form::Pattern(
    "[$time_iso8601] \"$request\" $status $flags $received $bytes_sent $duration $until_upstream \
     \"$remote_addr\" \"$http_user_agent\" \"$id\" \"$authority\" \"$upstream\"$rest",
);

const ISTIO: Form = Form::Pattern(
    "[$time_iso8601] \"$request\" $status $flags $details $termination \"$failure\" $received \
     $bytes_sent $duration $until_upstream \"$forwarded_for\" \"$http_user_agent\" \"$id\" \
     \"$authority\" \"$upstream\" $cluster $upstream_local $downstream_local $remote_addr $rest",
);

const S3: Form = Form::Pattern(
    "$owner $bucket [$time_local] $remote_addr $remote_user $id $operation $key \"$request\" $status \
     $error $bytes_sent $object_size $total_time $turn_around_time \"$http_referer\" \"$http_user_agent\"$rest",
);

const SQUID: Form = Form::Squid(
    "$msec $elapsed $remote_addr $result/$status $bytes_sent $request_method $request_uri \
     $remote_user $hierarchy $type",
);

/// All names, in the order in which their forms are tried.
pub(super) const PRESETS: &[Preset] = &[
    preset("ingress-nginx", "of the controller of Kubernetes", &[INGRESS_NGINX, Form::Common]),
    preset("combined", "the usual format of nginx and Apache", &[Form::Common]),
    preset("common", "the same without referer and user agent", &[Form::Common]),
    preset("vhost_combined", "of Apache: `host:port ` and then combined", &[VHOST]),
    preset("traefik", "common or JSON; the client is ClientHost", &[Form::Common, Form::Json]),
    preset("caddy", "JSON; the client is request.client_ip", &[Form::Json]),
    preset("haproxy", "`option httplog` or `httpslog`", &[HAPROXY]),
    preset(
        "envoy",
        "default text, Istio's, or JSON; the last X-Forwarded-For",
        &[ISTIO, ENVOY, Form::Json],
    ),
    preset("alb", "AWS load balancers, application and classic", &[ALB, CLASSIC_ELB]),
    preset("cloudfront", "AWS CloudFront, standard logs", &[Form::W3c]),
    preset("s3", "AWS S3, server access logs", &[S3]),
    preset("cloudflare", "Logpush of HTTP requests, JSON", &[Form::Json]),
    preset("gcp", "Google Cloud load balancers, JSON lines", &[Form::Json]),
    preset("iis", "W3C fields; the date may be that of `#Date:`", &[Form::W3c]),
    preset("squid", "Squid's own format, or combined", &[SQUID, Form::Common]),
    preset("ltsv", "label:value, separated by tabs", &[Form::Ltsv]),
    preset("json", "an object on each line", &[Form::Json]),
    preset("w3c", "the extended log format, by its `#Fields:`", &[Form::W3c]),
    preset("csv", "columns by the names in the first line", &[Form::Csv]),
];

/// Labels of LTSV beside the usual names.
const LTSV_LABELS: [(&str, &str); 3] = [("client", "host"), ("request", "req"), ("agent", "ua")];

impl Form {
    /// Returns the form with the names of `--fields`; `None` if it has no names.
    pub(super) fn kind(self, fields: Option<&str>) -> Result<Option<Kind>, FormatError> {
        let names = Names::parse(fields.unwrap_or_default())?;
        Ok(match self {
            Form::Common if fields.is_some() => None,
            Form::Common => Some(Kind::Common),
            Form::Pattern(text) => Some(Kind::Pattern(Pattern::parse(text, &names)?.into())),
            Form::Squid(text) => {
                Some(Kind::Pattern(Pattern::parse(text, &names)?.of_squid().into()))
            }
            Form::Json => Some(Kind::Json(names.into())),
            Form::Csv => Some(Kind::Csv(names.into())),
            Form::W3c => Some(Kind::W3c(names.into())),
            Form::Ltsv => Some(Kind::Ltsv(names.with_more(&LTSV_LABELS).into())),
        })
    }

    /// Returns the name of the form, for those who are told which one was found.
    pub(super) fn name(self) -> &'static str {
        match self {
            Form::Common => "combined",
            Form::Json => "json",
            Form::W3c => "w3c",
            _ => PRESETS
                .iter()
                .find(|preset| preset.forms.contains(&self))
                .map_or("", |own| own.name),
        }
    }
}

/// Returns all forms, each once, in the order in which they are tried.
pub(super) fn all() -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    for form in PRESETS.iter().flat_map(|preset| preset.forms) {
        if !forms.contains(form) {
            forms.push(*form);
        }
    }
    forms
}

/// Returns a line for each name that `--format` takes.
#[must_use]
pub fn help() -> String {
    let mut text = "\
Formats, of which the first lines of a log tell one if none is given:
"
    .to_owned();
    let mut row = |name: &str, about: &str| {
        let _ = writeln!(text, "  {name:<19}{about}");
    };
    for preset in PRESETS {
        row(preset.name, preset.about);
    }
    row("'$remote_addr ..'", "a pattern of nginx's log_format");
    row("'%h %l %u ..'", "a pattern of Apache's LogFormat");
    text.push_str(
        "\nPrefixes, one of which may be before each line, and another within it. The\nfirst lines tell them too, or \
         they are named before the format, as in --format\n'cri json' and --format 'cri syslog haproxy':\n",
    );
    for prefix in &PREFIXES {
        let _ = writeln!(text, "  {:<19}{}", prefix.name, prefix.about);
    }
    text.push_str(
        "\nFields of them that a policy can name as columns, besides those of --fields:\n",
    );
    for preset in PRESETS {
        columns(preset, &mut text);
    }
    text.push_str(
        "\n`--fields client=NAME,..` names the fields of a pattern, json, csv, w3c or ltsv.\nIf a log has no client, \
         the error lists the names that it has.\n",
    );
    text
}

/// Appends the names of a preset's fields that have no use of their own, in lines of 80 columns.
fn columns(preset: &Preset, text: &mut String) {
    let patterns = preset.forms.iter().filter_map(|form| match form.kind(None) {
        Ok(Some(Kind::Pattern(pattern))) => Some(pattern),
        _ => None,
    });
    let mut line = format!("  {:<19}", preset.name);
    let mut known: Vec<String> = Vec::new();
    for name in
        patterns.flat_map(|pattern| pattern.columns().map(str::to_owned).collect::<Vec<_>>())
    {
        if name == "rest" || known.contains(&name) {
            continue;
        }
        if line.len() + name.len() > 79 {
            let _ = writeln!(text, "{}", line.trim_end());
            line = " ".repeat(21);
        }
        let _ = write!(line, "{name} ");
        known.push(name);
    }
    if !known.is_empty() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_preset_is_a_format_and_has_a_line_of_help() {
        for preset in PRESETS {
            for form in preset.forms {
                assert!(form.kind(None).unwrap().is_some(), "{}", preset.name);
            }
        }
        for line in help().lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
