//! The parts of the report for people on tenants and classes that share a limit.

use comfy_table::{Cell, Color};
use indicatif::HumanCount;
use sluicegate_replay::log::printable;

use super::{Section, name_cell, percent};
use crate::report::json::Summary;

impl Summary {
    /// Returns what each tenant got.
    pub(super) fn tenants(&self) -> Section {
        let names = ["limiter", "tenant", "assured", "borrowed", "denied", "denied %"];
        let mut section = Section::new("tenants", ", by requests", names, 2..6);
        for limiter in &self.limiters {
            let Some(shares) = &limiter.shares else { continue };
            for (place, tenant) in shares.top.iter().chain(&shares.others()).enumerate() {
                section.table.add_row([
                    name_cell(&limiter.name, place),
                    Cell::new(printable(&tenant.tenant)),
                    Cell::new(HumanCount(tenant.assured)).fg(Color::Green),
                    Cell::new(HumanCount(tenant.borrowed)).fg(Color::Green),
                    Cell::new(HumanCount(tenant.denied)).fg(Color::Red),
                    Cell::new(percent(tenant.denied, tenant.lines())),
                ]);
            }
        }
        section
    }

    /// Returns what each class did.
    pub(super) fn classes(&self) -> Section {
        let names = ["limiter", "class", "leaves", "allowed", "denied", "denied %"];
        let mut section = Section::new("classes", "", names, 2..6);
        for limiter in &self.limiters {
            for (place, class) in limiter.classes.iter().enumerate() {
                section.table.add_row([
                    name_cell(&limiter.name, place),
                    Cell::new(printable(&class.class)),
                    Cell::new(HumanCount(class.reserve)),
                    Cell::new(HumanCount(class.allowed)).fg(Color::Green),
                    Cell::new(HumanCount(class.denied)).fg(Color::Red),
                    Cell::new(percent(class.denied, class.allowed + class.denied)),
                ]);
            }
        }
        section
    }
}
