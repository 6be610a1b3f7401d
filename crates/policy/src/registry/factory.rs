//! Limiters that a default creates, if no file names them.

use std::sync::{Arc, PoisonError};

use super::Registry;
use super::event::{Event, RegistryError};
use super::handle::LimiterHandle;
use super::keyed_handle::KeyedHandle;
use super::reload;
use crate::{Cost, Filter, KeyField, Kind, LimiterPolicy, Overrides, Store};

impl Registry {
    /// Returns a handle of the limiter `name`, which is created of the kind that `default` returns if
    /// there is none.
    ///
    /// A limiter that was created so stays if a reload does not name it, and takes the terms of a file
    /// that does. Tells observers of [`Event::Added`]. `default` is called while changes of terms wait,
    /// and must not change any itself.
    ///
    /// # Errors
    ///
    /// * [`RegistryError::HasKeys`] if there is one that is divided by keys.
    /// * [`RegistryError::Unbuildable`] if no limiter can be built of the default.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_policy::{Algorithm, Policies, Registry};
    ///
    /// let registry = Registry::new(Policies::from_toml("p.toml", r#"
    /// limiters.pages = { policy = "fixed_window", key = "all", limit = 2, interval = "1 day" }
    /// "#)?)?;
    /// let default = || Algorithm::TokenBucket.default_kind();
    /// assert_eq!(registry.get_or_create("pages", default)?.peek(0)?.limit(), 2);
    /// assert_eq!(registry.get_or_create("images", default)?.peek(0)?.limit(), 100);
    /// assert!(registry.limiter("images").is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_or_create(
        &self,
        name: &str,
        default: impl FnOnce() -> Kind,
    ) -> Result<LimiterHandle, RegistryError> {
        self.ensure(name, KeyField::All, default)?;
        self.limiter(name)
    }

    /// Does the same as [`get_or_create`](Registry::get_or_create) for a limiter with keys, of which
    /// any number is known at a time.
    ///
    /// # Errors
    ///
    /// * [`RegistryError::HasNoKeys`] if there is one that is not divided by keys.
    /// * [`RegistryError::Unbuildable`] if no limiter can be built of the default.
    pub fn keyed_or_create(
        &self,
        name: &str,
        default: impl FnOnce() -> Kind,
    ) -> Result<KeyedHandle, RegistryError> {
        self.ensure(name, KeyField::Client, default)?;
        self.keyed(name)
    }

    fn ensure(
        &self,
        name: &str,
        key: KeyField,
        default: impl FnOnce() -> Kind,
    ) -> Result<(), RegistryError> {
        if self.form(name).is_ok() {
            return Ok(());
        }
        let changing = self.shared.reload.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been faster.
        if self.form(name).is_ok() {
            return Ok(());
        }
        let policy = Arc::new(LimiterPolicy {
            name: name.to_owned(),
            key: vec![key.into()],
            kind: default(),
            filter: Filter::default(),
            except: Vec::new(),
            cost: Cost::Permits(1),
            penalty: None,
            store: Store::default(),
            redis: None,
            wait: None,
            shadow: false,
            reset: false,
            overrides: Overrides::default(),
        });
        let add = || {
            reload::check(&policy)?;
            self.shared.names.put(&policy, None, false, &self.shared.clocks)
        };
        add().map_err(|error| RegistryError::Unbuildable { name: name.to_owned(), error })?;
        drop(changing);
        self.tell(&Event::Added { policy });
        Ok(())
    }
}
