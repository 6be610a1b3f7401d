//! The machine that the figures were taken on.

use std::fmt;
use std::fs;
use std::thread;

/// The machine, as far as it can be asked.
#[derive(Clone, Debug)]
pub struct Machine {
    processor: String,
    cores: usize,
    load: Option<String>,
}

impl Machine {
    /// This machine, now.
    #[must_use]
    pub fn this() -> Machine {
        Machine {
            processor: processor().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            cores: thread::available_parallelism().map_or(1, usize::from),
            load: load(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { processor, cores, load } = self;
        let os = std::env::consts::OS;
        write!(f, "{processor}, {cores} cores, {os}")?;
        if let Some(load) = load {
            write!(f, ", load average {load} at the start")?;
        }
        Ok(())
    }
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let (name, family, model) = (field("model name")?, field("cpu family")?, field("model\t")?);
    Some(format!("{name} (family {family}, model {model})"))
}

/// Processes that were running or ready in the last minute.
fn load() -> Option<String> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split_whitespace().next().map(str::to_owned)
}
