//! The exit statuses of each command, which its help and its manual page list.

use std::fmt::Write as _;
use std::process::ExitCode;

use sluicegate_replay::replay::Pass;

/// Status if something could not be read or written.
pub(super) const UNREADABLE: u8 = 1;

/// Status if an argument or the policy is wrong.
pub(super) const WRONG_USE: u8 = 2;

/// Status if nothing was judged, or most lines were not or only at the wrong time.
pub(super) const MEANINGLESS: u8 = 3;

/// A status, and its meaning.
type Status = (u8, &'static str);

/// The statuses of the command as a whole.
pub(super) const OF_ALL: &[Status] = &[
    (0, "the command did its work; a reader that closes the output early is no error"),
    (UNREADABLE, "something could not be read to its end or written"),
    (WRONG_USE, "an argument or the policy is wrong, and nothing was done"),
    (MEANINGLESS, "replay and suggest: the report says little, since few lines could be judged"),
];

/// The statuses of the commands that read logs.
pub(super) const OF_LOGS: &[Status] = &[
    (0, "the logs were read, whatever was denied"),
    (
        UNREADABLE,
        "something could not be read to its end or written, or the keys took more than \
         --max-memory; what was read is reported",
    ),
    (WRONG_USE, "an argument, the policy or a header does not fit, and nothing was replayed"),
    (MEANINGLESS, "no line was judged, or most were skipped or late by more than a minute"),
];

/// The statuses of the commands that read a policy.
pub(super) const OF_POLICIES: &[Status] = &[
    (0, "the policy is valid, whatever the warnings"),
    (UNREADABLE, "the policy could not be read, or the output not written"),
    (WRONG_USE, "an argument is wrong, or the policy has mistakes"),
];

/// The statuses of a service.
pub(super) const OF_SERVICE: &[Status] = &[
    (0, "a signal has ended the service"),
    (UNREADABLE, "a file could not be read, or the address not be listened on"),
    (WRONG_USE, "an argument is wrong, or the policy has mistakes"),
];

/// The statuses of the commands that ask a server.
#[cfg(feature = "redis")]
pub(super) const OF_KEYS: &[Status] = &[
    (0, "the server has answered"),
    (
        UNREADABLE,
        "the policy could not be read, the server not be asked, or the output not written",
    ),
    (WRONG_USE, "an argument is wrong, or the policy has mistakes"),
];

/// The statuses of the commands that only print.
pub(super) const OF_TEXTS: &[Status] = &[
    (0, "the text was written"),
    (UNREADABLE, "the text could not be written"),
    (WRONG_USE, "an argument is wrong"),
];

/// Returns the status after logs were read, to their end or not.
pub(super) fn after_logs(were_all_read: bool, pass: &Pass) -> ExitCode {
    ExitCode::from(match (were_all_read, pass.is_meaningful()) {
        (false, _) => UNREADABLE,
        (true, false) => MEANINGLESS,
        (true, true) => 0,
    })
}

/// Returns the end of a command's help: a text, if there is one, and a line for each status.
pub(super) fn after(text: &str, statuses: &[Status]) -> String {
    let mut help = text.to_owned();
    if !help.is_empty() {
        help += "\n\n";
    }
    help += "Exit status:";
    for (code, meaning) in statuses {
        let _ = write!(help, "\n  {code}  {meaning}");
    }
    help
}
