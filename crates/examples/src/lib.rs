//! The programs of `README.md` and of the pages of `docs/`, tested as documentation is. Pages whose programs need more
//! than the engine are tested by the crates that they are about, and by the tests of this one.

#[cfg(doctest)]
macro_rules! page {
    ($name:ident, $file:literal) => {
        #[doc = include_str!(concat!("../../../", $file))]
        mod $name {}
    };
}

#[cfg(doctest)]
mod pages {
    page!(readme, "README.md");
    page!(algorithms, "docs/algorithms.md");
    page!(benchmarks, "docs/benchmarks.md");
    page!(coming_from, "docs/coming-from.md");
    page!(compare, "docs/compare.md");
    page!(distributed, "docs/distributed.md");
    page!(keyed, "docs/keyed.md");
    page!(limiters, "docs/limiters.md");
    page!(settlement, "docs/settlement.md");
    page!(shares, "docs/shares.md");
    page!(waiting, "docs/waiting.md");
    page!(windows, "docs/windows.md");
}
