//! The parts of the report for people on tenants and classes that share a limit.

use std::io::{self, Write};

use comfy_table::{Attribute, Cell, Color, Table};
use indicatif::HumanCount;
use sluicegate_replay::log::printable;

use super::{align_right, header, percent, section, write_table};
use crate::report::json::Summary;

impl Summary {
    /// Writes what each tenant got, and what each class did.
    pub(super) fn write_common(&self, out: &mut impl Write, width: u16) -> io::Result<()> {
        self.write_tenants(out, width)?;
        self.write_classes(out, width)
    }

    fn write_tenants(&self, out: &mut impl Write, width: u16) -> io::Result<()> {
        let mut table = Table::new();
        table.set_header(
            ["limiter", "tenant", "assured", "borrowed", "denied", "denied %"].map(header),
        );
        for limiter in &self.limiters {
            let Some(shares) = &limiter.shares else { continue };
            for (place, tenant) in shares.top.iter().chain(&shares.others()).enumerate() {
                table.add_row([
                    Cell::new(if place == 0 { limiter.name.as_str() } else { "" })
                        .add_attribute(Attribute::Bold),
                    Cell::new(printable(&tenant.tenant)),
                    Cell::new(HumanCount(tenant.assured)).fg(Color::Green),
                    Cell::new(HumanCount(tenant.borrowed)).fg(Color::Green),
                    Cell::new(HumanCount(tenant.denied)).fg(Color::Red),
                    Cell::new(percent(tenant.denied, tenant.lines())),
                ]);
            }
        }
        if table.is_empty() {
            return Ok(());
        }
        align_right(&mut table, 2..6);
        section(out, "tenants", ", by requests")?;
        write_table(out, table, width)
    }

    fn write_classes(&self, out: &mut impl Write, width: u16) -> io::Result<()> {
        let mut table = Table::new();
        table.set_header(
            ["limiter", "class", "leaves", "allowed", "denied", "denied %"].map(header),
        );
        for limiter in &self.limiters {
            for (place, class) in limiter.classes.iter().enumerate() {
                table.add_row([
                    Cell::new(if place == 0 { limiter.name.as_str() } else { "" })
                        .add_attribute(Attribute::Bold),
                    Cell::new(printable(&class.class)),
                    Cell::new(HumanCount(class.reserve)),
                    Cell::new(HumanCount(class.allowed)).fg(Color::Green),
                    Cell::new(HumanCount(class.denied)).fg(Color::Red),
                    Cell::new(percent(class.denied, class.allowed + class.denied)),
                ]);
            }
        }
        if table.is_empty() {
            return Ok(());
        }
        align_right(&mut table, 2..6);
        section(out, "classes", "")?;
        write_table(out, table, width)
    }
}
