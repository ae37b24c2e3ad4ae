//! What one body takes of the room that all have. Decision: whoever keeps something as long as a
//! body passes takes room for it first, so that many bodies take no more than the room is.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What one takes of a room.
pub(crate) struct Share {
    room: Arc<Semaphore>,
    taken: Option<OwnedSemaphorePermit>,
}

impl Share {
    /// Nothing of it yet.
    pub(crate) fn of(room: &Arc<Semaphore>) -> Self {
        Self {
            room: Arc::clone(room),
            taken: None,
        }
    }

    /// Takes so many bytes, no more and no fewer; where there is no room for them, it stays as it was.
    pub(crate) fn hold(&mut self, size: usize) -> bool {
        let held = self.held();
        if size > held {
            let Ok(more) = u32::try_from(size - held) else {
                return false;
            };
            let Ok(more) = Arc::clone(&self.room).try_acquire_many_owned(more) else {
                return false;
            };
            match &mut self.taken {
                Some(taken) => taken.merge(more),
                none => *none = Some(more),
            }
        } else if let Some(taken) = &mut self.taken {
            drop(taken.split(held - size));
        }
        true
    }

    /// How many bytes it takes.
    pub(crate) fn held(&self) -> usize {
        let taken = self.taken.as_ref();
        taken.map_or(0, OwnedSemaphorePermit::num_permits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_where_there_is_room_and_gives_back_what_is_not_needed() {
        let room = Arc::new(Semaphore::new(100));
        let (mut one, mut two) = (Share::of(&room), Share::of(&room));
        assert!(one.hold(60) && one.hold(80));
        assert!(!two.hold(21) && two.held() == 0);
        assert!(one.hold(10) && two.hold(90));
        assert_eq!(room.available_permits(), 0);
        drop(one);
        assert_eq!(room.available_permits(), 10);
        assert!(!two.hold(usize::MAX) && two.hold(0));
        assert_eq!(room.available_permits(), 100);
    }
}
