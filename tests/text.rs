//! Rates and quotas as text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::{ParseError, Quota, Rate, Refill, quota, rate};

fn error<T: FromStr<Err = ParseError> + fmt::Debug>(text: &str) -> (&'static str, String) {
    let error = text.parse::<T>().unwrap_err();
    (error.field(), error.to_string())
}

#[test]
fn a_text_is_read_as_the_literal_of_the_same_words() {
    let rates = [
        ("100 / second", rate!(100 / second)),
        ("  5_000/1 hour ", rate!(5_000 / hour)),
        ("500 / 15 minutes", rate!(500 / 15 minutes)),
        ("500/15minutes", rate!(500 / 15 minutes)),
        ("1 / 250 ms", rate!(1 / 250 ms)),
        ("7 / days", rate!(7 / day)),
        ("2 / 3 us", rate!(2 / 3 us)),
        ("1 / 9 nanoseconds", rate!(1 / 9 ns)),
    ];
    for (text, rate) in rates {
        assert_eq!(text.parse::<Rate>(), Ok(rate), "{text}");
    }
    let quotas = [
        ("100 / second", quota!(100 / second)),
        ("100/second,burst 20", quota!(100 / second, burst 20)),
        (
            "100 / second, max_debt 3, refill interval, burst 2_0",
            quota!(100 / second, burst 20, refill interval, max_debt 3),
        ),
    ];
    for (text, quota) in quotas {
        assert_eq!(text.parse::<Quota>(), Ok(quota), "{text}");
    }
}

#[test]
fn permits_with_a_decimal_point_are_a_rate_exactly() {
    let read = |text: &str| text.parse::<Rate>().unwrap();
    assert_eq!(read("0.5 / second"), rate!(1 / 2 seconds));
    assert_eq!(read("2.5 / second"), rate!(5 / 2 seconds));
    assert_eq!(read("0.1 / minute"), rate!(1 / 10 minutes));
    assert_eq!(read("1.0 / hour"), rate!(1 / hour));
    assert_eq!(read("1.5 / minute"), rate!(3 / 2 minutes));
    assert_eq!(read("0.5 / second").to_string(), "1 / 2 seconds");
    // A third of a permit has no decimals, but a permit per three seconds has.
    assert_eq!(read("0.333 / second"), rate!(333 / 1_000 seconds));
}

#[test]
fn the_default_burst_of_a_decimal_rate_is_its_permits_rounded_up() {
    let bursts = [
        ("2.5 / second", 3),
        ("33.333 / second", 34),
        ("0.333 / second", 1),
        ("0.5 / hour, refill interval", 1),
        ("100.0 / second", 100),
        ("33.333 / second, burst 7", 7),
    ];
    for (text, burst) in bursts {
        let quota: Quota = text.parse().unwrap();
        assert_eq!((quota.burst(), quota.max_debt()), (burst, burst), "{text}");
        assert_eq!(quota.to_string().parse::<Quota>(), Ok(quota), "{text}");
    }
}

#[test]
fn a_decimal_that_is_out_of_range_is_named_as_it_was_written() {
    let fewer = "must have fewer decimals, such as nine digits in all";
    let slow = "must have fewer decimals, or be in a shorter period: a whole number of permits \
                would take more than 100 years";
    let wrong = [
        ("33.333333333 / second", "permits", format!("permits is 33.333333333: {fewer}")),
        (
            "33.3333333333333333333 / second",
            "permits",
            format!("permits is \"33.3333333333333333333\": {fewer}"),
        ),
        (
            "5_000_000_000.5 / day",
            "permits",
            "permits is 5000000000.5: must be from 1 to 2^32".into(),
        ),
        ("0.0000000001 / second", "permits", format!("permits is 0.0000000001: {slow}")),
        (
            "2.5 / ns",
            "rate",
            "rate is 2.5 per 1ns: must be at most 2^31 permits per second".to_owned(),
        ),
        // The period alone is wrong, and is the one that was written.
        ("0.5 / 0 seconds", "period", "period is 0ns: must be from 1 ns to 100 years".to_owned()),
        (
            "0.5 / 36_526 days",
            "period",
            "period is 3155846400s: must be from 1 ns to 100 years".to_owned(),
        ),
        ("0.0 / second", "permits", "permits is 0: must be from 1 to 2^32".to_owned()),
    ];
    for (text, field, message) in wrong {
        assert_eq!(error::<Rate>(text), (field, message.clone()), "{text}");
        assert_eq!(error::<Quota>(text), (field, message), "{text}");
    }
}

#[test]
fn digits_may_be_grouped_in_a_period_and_no_number_wraps() {
    assert_eq!("1 / 1_500 ms".parse(), Ok(rate!(1 / 1_500 ms)));
    // 2^64 + 10.
    assert!("18446744073709551626 / second".parse::<Rate>().is_err());
    assert!("1 / 18446744073709551626 ns".parse::<Rate>().is_err());
}

#[test]
fn what_is_wrong_with_a_text_is_named_with_what_could_be() {
    let shape = "must be permits / period, such as 100 / second or 500 / 15 minutes";
    let number = "must be a number, such as 100 or 0.5";
    let unit = "must be ns, us, ms, second, minute, hour or day, or a number of them, \
                such as 15 minutes";
    let whole = "must be a whole number, such as 50";
    let parts = "a part must be burst, refill or max_debt, and its value";
    let wrong = [
        ("", "rate", format!("rate is \"\": {shape}")),
        ("100", "rate", format!("rate is \"100\": {shape}")),
        ("ten / second", "permits", format!("permits is \"ten\": {number}")),
        ("-1 / second", "permits", format!("permits is \"-1\": {number}")),
        ("1 / ", "period", format!("period is \"\": {unit}")),
        ("1 / 5", "period", format!("period is \"5\": {unit}")),
        ("1 / 1 / 1", "period", format!("period is \"1 / 1\": {unit}")),
        ("1 / 2 fortnights", "period", format!("period is \"2 fortnights\": {unit}")),
        ("0 / second", "permits", "permits is 0: must be from 1 to 2^32".to_owned()),
        ("1 / 0 seconds", "period", "period is 0ns: must be from 1 ns to 100 years".to_owned()),
        ("1 / second, burst", "burst", format!("burst is \"\": {whole}")),
        ("1 / second, burst 1.5", "burst", format!("burst is \"1.5\": {whole}")),
        ("1 / second, burst 2, burst 3", "burst", "burst is given twice: once will do".to_owned()),
        ("1 / second, brst 2", "quota", format!("quota has \"brst 2\": {parts}")),
        ("1 / second,", "quota", format!("quota has \"\": {parts}")),
        (
            "1 / second, refill slowly",
            "refill",
            "refill is \"slowly\": must be smooth or interval".to_owned(),
        ),
        ("5 / second, initial 5", "quota", format!("quota has \"initial 5\": {parts}")),
        (
            "5 / second, max_debt 4294967296",
            "max_debt",
            "max_debt is 4294967296: must be from 0 to 2^32 - 1".to_owned(),
        ),
    ];
    for (text, field, message) in wrong {
        assert_eq!(error::<Quota>(text), (field, message), "{text}");
    }
    assert_eq!(error::<Rate>("1 / second, burst 2").0, "period");
    // Nanoseconds beyond 2^64, by a little and by much.
    for seconds in ["18446744074", "18446744075", "36893488148", "18446744073709551615"] {
        assert_eq!(error::<Rate>(&format!("1 / {seconds} seconds")).0, "period", "{seconds}");
    }
}

#[test]
fn a_period_is_displayed_in_the_largest_unit_that_it_is_a_number_of() {
    let displayed = [
        (rate!(100 / second), "100 / second"),
        (rate!(100 / 60 seconds), "100 / minute"),
        (rate!(500 / 900 seconds), "500 / 15 minutes"),
        (rate!(1 / 36_525 days), "1 / 36525 days"),
        (rate!(3 / 90 minutes), "3 / 90 minutes"),
        (rate!(1 / 1_001 ms), "1 / 1001 ms"),
        (rate!(1 / ns), "1 / ns"),
    ];
    for (rate, text) in displayed {
        assert_eq!(rate.to_string(), text);
    }
    let quota = quota!(4_294_967_296 / 2 seconds, burst 4_294_967_296);
    assert_eq!(quota.to_string(), "4294967296 / 2 seconds");
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 4 } else { 500 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_displayed_is_read_as_it_was(
        permits in 1..=Rate::MAX_PERMITS,
        count in 1..5_000_u64,
        unit in 0..18_u32,
        burst in 1..=Quota::MAX_BURST,
        (is_stepped, is_usual) in any::<(bool, bool)>(),
        max_debt in 0..=Quota::MAX_DEBT,
    ) {
        // Also such as are not a number of any unit but nanoseconds.
        let period = Duration::from_nanos(count.saturating_mul(6_u64.pow(unit)));
        let rate = Rate::new(permits, period);
        prop_assume!(rate.is_ok());
        let rate = rate.unwrap();
        prop_assert_eq!(rate.to_string().parse::<Rate>(), Ok(rate));
        let mut quota = Quota::new(rate);
        if !is_usual {
            quota = quota.with_burst(burst).unwrap().with_max_debt(max_debt).unwrap();
        }
        if is_stepped {
            quota = quota.with_refill(Refill::Interval);
        }
        prop_assert_eq!(quota.to_string().parse::<Quota>(), Ok(quota));
    }

    #[test]
    fn no_text_is_too_strange(text in "[0-9_./, a-z]{0,40}") {
        let _ = text.parse::<Quota>();
        let _ = text.parse::<Rate>();
    }
}

#[cfg(feature = "serde")]
mod files {
    use serde_json::{from_str, json, to_string};
    use sluicegate::bucket::Carry;
    use sluicegate::keyed::WhenFull;

    use super::*;

    #[test]
    fn a_quota_is_written_as_text_and_read_from_text_or_a_table() {
        let quota = quota!(500 / 15 minutes, burst 50, refill interval);
        let text = to_string(&quota).unwrap();
        assert_eq!(text, "\"500 / 15 minutes, burst 50, refill interval\"");
        assert_eq!(from_str::<Quota>(&text).unwrap(), quota);
        let rates = [json!("500 / 15 minutes"), json!({"permits": 500, "period": "15 minutes"})];
        for rate in rates {
            let table = json!({"rate": rate, "burst": 50, "refill": "interval"});
            assert_eq!(from_str::<Quota>(&table.to_string()).unwrap(), quota);
        }
    }

    #[test]
    fn a_rate_is_written_as_text_and_read_from_text_or_a_table_decimals_exactly() {
        let half = rate!(1 / 2 seconds);
        assert_eq!(to_string(&half).unwrap(), "\"1 / 2 seconds\"");
        let tables = [
            json!("0.5 / second"),
            json!({"permits": 1, "period": "2 seconds"}),
            json!({"permits": 0.5, "period": "second"}),
            json!({"permits": "0.5", "period": "second"}),
        ];
        for table in tables {
            assert_eq!(from_str::<Rate>(&table.to_string()).unwrap(), half, "{table}");
        }
        let tenth = json!({"permits": 0.1, "period": "minute"}).to_string();
        assert_eq!(from_str::<Rate>(&tenth).unwrap(), rate!(1 / 10 minutes));
        let bytes = postcard::to_allocvec(&half).unwrap();
        assert_eq!(postcard::from_bytes::<Rate>(&bytes).unwrap(), half);
    }

    #[test]
    fn the_default_burst_of_a_decimal_rate_in_a_table_is_its_permits_rounded_up() {
        let rates = [
            json!("33.333 / second"),
            json!({"permits": 33.333, "period": "second"}),
            json!({"permits": "33.333", "period": "second"}),
        ];
        for rate in rates {
            let quota: Quota = from_str(&json!({"rate": rate}).to_string()).unwrap();
            assert_eq!((quota.burst(), quota.max_debt()), (34, 34), "{rate}");
            assert_eq!(quota.rate(), rate!(33_333 / 1_000 seconds));
            let table = json!({"rate": rate, "burst": 3, "max_debt": 0}).to_string();
            let quota: Quota = from_str(&table).unwrap();
            assert_eq!((quota.burst(), quota.max_debt()), (3, 0), "{rate}");
        }
        let whole: Quota = from_str("{\"rate\": \"500 / 15 minutes\"}").unwrap();
        assert_eq!(whole, quota!(500 / 15 minutes));
    }

    #[test]
    fn a_refill_and_a_carry_are_words() {
        for refill in [Refill::Smooth, Refill::Interval] {
            let text = to_string(&refill).unwrap();
            assert_eq!(text, format!("\"{refill}\""));
            assert_eq!(from_str::<Refill>(&text).unwrap(), refill);
        }
        let carries = [(Carry::Keep, "keep"), (Carry::Scale, "scale"), (Carry::Reset, "reset")];
        for (carry, word) in carries {
            let text = to_string(&carry).unwrap();
            assert_eq!(text, format!("\"{word}\""));
            assert_eq!(from_str::<Carry>(&text).unwrap(), carry);
            let bytes = postcard::to_allocvec(&carry).unwrap();
            assert_eq!(postcard::from_bytes::<Carry>(&bytes).unwrap(), carry);
        }
        let error = from_str::<Carry>("\"drop\"").unwrap_err().to_string();
        assert!(error.contains("expected one of `keep`, `scale`, `reset`"), "{error}");
    }

    #[test]
    fn the_answer_of_a_full_store_is_a_word_or_a_quota_to_share() {
        let shared = quota!(1_000 / second, burst 50);
        let policies = [
            (WhenFull::Deny, json!("deny")),
            (WhenFull::Admit, json!("admit")),
            (WhenFull::Share(shared), json!({"share": "1000 / second, burst 50"})),
        ];
        for (when_full, written) in policies {
            assert_eq!(serde_json::to_value(when_full).unwrap(), written);
            assert_eq!(from_str::<WhenFull>(&written.to_string()).unwrap(), when_full);
            let bytes = postcard::to_allocvec(&when_full).unwrap();
            assert_eq!(postcard::from_bytes::<WhenFull>(&bytes).unwrap(), when_full);
        }
        let table = json!({"share": {"rate": "1000 / second", "burst": 50}}).to_string();
        assert_eq!(from_str::<WhenFull>(&table).unwrap(), WhenFull::Share(shared));
        let error = from_str::<WhenFull>("{\"share\": \"0 / second\"}").unwrap_err().to_string();
        assert!(error.contains("permits is 0: must be from 1 to 2^32"), "{error}");
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named() {
        let wrong = [
            ("\"5 / second, burst 0\"", "burst is 0: must be from 1 to 2^32"),
            ("{\"rate\": \"5 / second\", \"burst\": 0}", "burst is 0: must be from 1 to 2^32"),
            ("{\"rate\": \"5 / second\", \"brst\": 1}", "unknown field `brst`"),
            ("{\"burst\": 1}", "missing field `rate`"),
            ("5", "expected a quota, such as \"500 / 15 minutes, burst 50\""),
            ("{\"rate\": {\"permits\": 5, \"period\": \"x\"}}", "period is \"x\": must be"),
            ("{\"rate\": {\"permits\": -1, \"period\": \"day\"}}", "permits is \"-1\": must be"),
            ("{\"rate\": {\"permits\": -0.5, \"period\": \"day\"}}", "permits is \"-0.5\""),
            ("{\"rate\": {\"permits\": \"ten\", \"period\": \"day\"}}", "permits is \"ten\""),
            ("{\"rate\": {\"permits\": 0.0, \"period\": \"day\"}}", "permits is 0: must be"),
            ("{\"rate\": {\"permits\": [], \"period\": \"day\"}}", "expected a number of permits"),
            ("{\"rate\": \"5 / second\", \"initial\": 1}", "unknown field `initial`"),
        ];
        for (text, message) in wrong {
            let error = from_str::<Quota>(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn where_nobody_reads_a_quota_is_numbers() {
        let quota = quota!(500 / 15 minutes, burst 50, refill interval, max_debt 4);
        let bytes = postcard::to_allocvec(&quota).unwrap();
        assert!(bytes.len() < 15, "{bytes:?}");
        assert_eq!(postcard::from_bytes::<Quota>(&bytes).unwrap(), quota);
        assert!(postcard::from_bytes::<Quota>(&[0; 16]).is_err());
    }

    #[test]
    fn numbers_that_are_no_rate_are_refused_where_nobody_reads_them_too() {
        let second = 1_000_000_000_u64;
        for numbers in [(0, second), (1, 0), ((1 << 32) + 1, second), (1, u64::MAX)] {
            let rate = postcard::to_allocvec::<(u64, u64)>(&numbers).unwrap();
            assert!(postcard::from_bytes::<Rate>(&rate).is_err(), "{numbers:?}");
        }
        let rate = postcard::to_allocvec(&(5_u64, second)).unwrap();
        assert_eq!(postcard::from_bytes::<Rate>(&rate).unwrap(), rate!(5 / second));
    }
}
