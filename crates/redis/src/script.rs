//! The scripts that run on the server.

use std::fmt;
use std::sync::OnceLock;

/// A script in Lua, and its digest, by which a server knows it once it has run.
pub struct Script {
    name: &'static str,
    source: &'static str,
    sha1: OnceLock<String>,
}

impl Script {
    const fn new(name: &'static str, source: &'static str) -> Script {
        Script { name, source, sha1: OnceLock::new() }
    }

    /// Returns the name of the script's file.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the text, for `EVAL`.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Returns the commands that it calls, in capitals, each once.
    #[cfg(any(test, feature = "policy"))]
    pub(crate) fn commands(&self) -> Vec<&'static str> {
        let calls = self.source.split("redis.call('").skip(1);
        let mut names: Vec<_> = calls.filter_map(|call| call.split('\'').next()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the SHA-1 of the text in hexadecimal digits, for `EVALSHA`.
    #[must_use]
    pub fn sha1(&self) -> &str {
        self.sha1.get_or_init(|| sha1_smol::Sha1::from(self.source).digest().to_string())
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Script").field(&self.name).finish()
    }
}

/// Declares the script of a file, behind the part that all begin with; what it does ahead of the functions of that part is in
/// another file.
macro_rules! script {
    ($Name:ident, $file:literal $(, ahead: $ahead:literal)?) => {
        pub(crate) static $Name: Script = Script::new(
            $file,
            concat!(
                include_str!("scripts/request.lua"),
                "\n",
                $(include_str!(concat!("scripts/", $ahead, ".lua")), "\n",)?
                include_str!("scripts/prelude.lua"),
                "\n",
                include_str!(concat!("scripts/", $file, ".lua"))
            ),
        );
    };
}

script!(TOKEN_BUCKET, "token_bucket", ahead: "token_bucket_take");
script!(INTERVAL_BUCKET, "interval_bucket");
script!(GCRA, "gcra");
script!(FIXED_WINDOW, "fixed_window");
script!(SLIDING_COUNTER, "sliding_counter");
script!(SLIDING_WINDOW, "sliding_window");
script!(SLIDING_LOG, "sliding_log");
script!(CONCURRENCY, "concurrency");
script!(SHARES, "shares");

/// Joins the scripts of limits to one, as functions in a table `limits`, behind the part that all begin with.
macro_rules! joined {
    ($($file:literal)*) => {
        concat!(
            include_str!("scripts/request.lua"),
            "\n",
            include_str!("scripts/prelude.lua"),
            "\nlocal limits = {}\n",
            $(
                "limits.", $file, " = function()\n",
                include_str!(concat!("scripts/", $file, ".lua")),
                "\nend\n",
            )*
            include_str!("scripts/all.lua")
        )
    };
}

/// Decides for several limits at once.
pub(crate) static ALL: Script = Script::new(
    "all",
    joined!(
        "token_bucket" "interval_bucket" "gcra" "fixed_window" "sliding_counter" "sliding_window" "sliding_log"
    ),
);

/// Shows that the server runs scripts.
#[cfg(feature = "policy")]
pub(crate) static PROBE: Script = Script::new("probe", "return { 1 }");

/// Tells which commands the user may not run.
#[cfg(feature = "policy")]
pub(crate) static CHECK: Script = Script::new("check", include_str!("scripts/check.lua"));

/// Makes a limiter of any kind full.
pub(crate) static RESET: Script = Script::new("reset", include_str!("scripts/reset.lua"));

/// Makes shares of tenants full, all of them.
pub(crate) static RESET_SHARES: Script =
    Script::new("reset_shares", include_str!("scripts/reset_shares.lua"));
