//! Owners that the guest's root has given files. They are the guest's alone; on the host everything stays the
//! user's. They are kept until this process ends, also of files that were removed.

use crate::nodes::Key;
use rustix::io::Errno;
use std::collections::HashMap;

/// The most files that have another owner than on the host; `ENOSPC` beyond.
const MOST: usize = 1 << 20;

/// A user and a group.
pub(crate) type Owner = (u32, u32);

/// The owners that were given.
#[derive(Debug, Default)]
pub(crate) struct Owners(HashMap<Key, Owner>);

impl Owners {
    /// The owner of a file, of which the host says another.
    pub(crate) fn of(&self, key: &Key, host: Owner) -> Owner {
        self.0.get(key).copied().unwrap_or(host)
    }

    /// Gives a file an owner.
    pub(crate) fn give(&mut self, key: Key, owner: Owner, host: Owner) -> Result<(), Errno> {
        if owner == host {
            self.0.remove(&key);
            return Ok(());
        }
        if self.0.len() >= MOST && !self.0.contains_key(&key) {
            return Err(Errno::NOSPC);
        }
        self.0.insert(key, owner);
        Ok(())
    }
}
