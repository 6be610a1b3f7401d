//! Shares that begin anew.

use crate::error::{KeyError, TryAcquireError};
use crate::run_script::{Run, RunScript, RunScriptBlocking};
use crate::script::{RESET, RESET_SHARES, Script};

use super::{KIND, RedisShares};

impl<R> RedisShares<R> {
    /// Returns the names of the buckets of one tenant, which are its own.
    fn names_of_tenant(&self, group: usize, tenant: &str) -> Result<Vec<String>, KeyError> {
        let Some(group) = self.numbers.groups.get(group) else { return Ok(Vec::new()) };
        let mut names = self.names(Some(group), tenant)?;
        names.remove(0);
        if group.places.is_some() {
            names.remove(1);
        }
        Ok(names)
    }

    /// Returns the names of the common bucket, and of the places of all groups.
    fn names_of_all(&self) -> Vec<String> {
        let all = self.keys.name_of_all(KIND);
        let with_places = self.numbers.groups.iter().filter(|group| group.places.is_some());
        let places = with_places.map(|group| format!("{all}:places:{}", group.name));
        std::iter::once(all.clone()).chain(places).collect()
    }
}

/// # For callers in tasks
impl<R: RunScript> RedisShares<R> {
    /// Makes the share of a tenant full, and its ceiling. What it has used stays counted for all.
    ///
    /// The tenant may be granted its assured burst once more, beyond the bound for all. The common bucket makes that up: until
    /// then, less is lent. Its place is kept as if nothing had happened. Does nothing for a group that there is not.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Key`] and [`TryAcquireError::Store`] as for [`try_acquire`](RedisShares::try_acquire).
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, it may have been done, or may yet be.
    pub async fn reset(&self, group: usize, tenant: &str) -> Result<(), TryAcquireError> {
        let names = self.names_of_tenant(group, tenant)?;
        self.forget(&RESET, &names).await
    }

    /// Makes the whole limit full: for all together, and the share of each tenant that has a place, with its ceiling.
    ///
    /// Begins the bound for all anew. The ceiling of a tenant that had no place stays as it is. The server does nothing else until
    /// it has gone through all places: see [`RedisShares`] for their number.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Store`] if the server does not answer.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, it may have been done, or may yet be.
    pub async fn reset_all(&self) -> Result<(), TryAcquireError> {
        self.forget(&RESET_SHARES, &self.names_of_all()).await
    }

    async fn forget(
        &self,
        script: &'static Script,
        names: &[String],
    ) -> Result<(), TryAcquireError> {
        let keys: Vec<_> = names.iter().map(String::as_str).collect();
        if !keys.is_empty() {
            self.runner.run(Run { script, keys: &keys, arguments: &[] }).await?;
        }
        Ok(())
    }
}

/// # For callers on threads
impl<R: RunScriptBlocking> RedisShares<R> {
    /// Does the same as [`reset`](RedisShares::reset). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`reset`](RedisShares::reset).
    pub fn reset_blocking(&self, group: usize, tenant: &str) -> Result<(), TryAcquireError> {
        let names = self.names_of_tenant(group, tenant)?;
        self.forget_blocking(&RESET, &names)
    }

    /// Does the same as [`reset_all`](RedisShares::reset_all). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`reset_all`](RedisShares::reset_all).
    pub fn reset_all_blocking(&self) -> Result<(), TryAcquireError> {
        self.forget_blocking(&RESET_SHARES, &self.names_of_all())
    }

    fn forget_blocking(
        &self,
        script: &'static Script,
        names: &[String],
    ) -> Result<(), TryAcquireError> {
        let keys: Vec<_> = names.iter().map(String::as_str).collect();
        if !keys.is_empty() {
            self.runner.run_blocking(Run { script, keys: &keys, arguments: &[] })?;
        }
        Ok(())
    }
}
