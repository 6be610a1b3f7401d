//! The fields of a penalty.

use sluicegate::penalty::PenaltyRule;

use super::requests::OFFENCES_FORM;
use super::{Field, Form, MAX_SIZE, field, needed};

pub(super) static PENALTY: [Field; 7] = [
    needed(
        "offences",
        Form::Whole(1, PenaltyRule::MAX_OFFENCES),
        "The offences that begin a penalty: from 1 to 1023.",
    ),
    needed("within", Form::Time, "The period within which they count."),
    needed("refuse_for", Form::Time, "The length of the penalty."),
    field(
        "longest",
        Form::Time,
        "The length of the longest penalty, if each is to be twice as long as the one before.",
    ),
    field(
        "forgotten_after",
        Form::Time,
        "The time without offences after which the next penalty is the first again; `longest` if left \
         out.",
    ),
    field(
        "by",
        OFFENCES_FORM,
        "The offences: `refusals` by the limit (default), requests that it grants and whose answers are in \
         a set such as { status = [401, 403] }, or a list of these.",
    ),
    field(
        "max_keys",
        Form::Whole(1, MAX_SIZE),
        "The most keys of which offences are remembered; 1000000 if left out.",
    ),
];
