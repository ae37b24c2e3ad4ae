use super::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::vec::Vec;

#[test]
fn everything_is_taken_at_first() {
    let mut words = [0; 2];
    let mut bitmap = Bitmap::new(&mut words, 100);
    assert_eq!((bitmap.available(), bitmap.take()), (0, None));
    bitmap.free_range(90..1000);
    assert_eq!(bitmap.available(), 10);
    assert_eq!(bitmap.give(100), Err(NotTaken));
    assert_eq!(bitmap.give(95), Err(NotTaken));
    assert_eq!(bitmap.give(3), Ok(()));
    let taken: Vec<usize> = core::iter::from_fn(|| bitmap.take()).collect();
    assert_eq!(taken, [3, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99]);
}

#[test]
fn the_search_goes_on_behind_the_last_one() {
    let mut words = [0; 3];
    let mut bitmap = Bitmap::new(&mut words, 192);
    bitmap.free_range(0..192);
    assert_eq!((bitmap.take(), bitmap.take()), (Some(0), Some(1)));
    bitmap.give(0).unwrap();
    assert_eq!(bitmap.take(), Some(2));
    for _ in 3..192 {
        bitmap.take().unwrap();
    }
    assert_eq!((bitmap.take(), bitmap.take()), (Some(0), None));
}

#[test]
fn neighbours_are_found_across_words() {
    let mut words = [0; 3];
    let mut bitmap = Bitmap::new(&mut words, 150);
    bitmap.free_range(0..3);
    bitmap.free_range(60..70);
    bitmap.free_range(140..150);
    assert_eq!(bitmap.take_contiguous(11), None);
    assert_eq!(bitmap.take_contiguous(10), Some(60));
    assert_eq!(bitmap.take_contiguous(10), Some(140));
    assert_eq!(bitmap.take_contiguous(4), None);
    assert_eq!(bitmap.take_contiguous(0), None);
    assert_eq!(
        (bitmap.take_contiguous(3), bitmap.available()),
        (Some(0), 0)
    );
}

#[test]
fn there_are_no_more_frames_than_bits() {
    let mut bitmap = Bitmap::new(&mut [], 100);
    bitmap.free_range(0..100);
    assert_eq!((bitmap.available(), bitmap.take()), (0, None));
    assert_eq!(bitmap.take_contiguous(1), None);
}

proptest! {
    /// The bitmap does what a set of free frames does.
    #[test]
    fn it_is_a_set_of_frames(
        frames in 1usize..200,
        acts in proptest::collection::vec((0u8..5, 0usize..220, 1usize..70), 0..200)
    ) {
        let mut words = [0; 4];
        let mut bitmap = Bitmap::new(&mut words, frames);
        let mut free: BTreeSet<usize> = BTreeSet::new();
        for (act, frame, count) in acts {
            match act {
                0 => {
                    bitmap.free_range(frame..frame + count);
                    free.extend(frame.min(frames)..(frame + count).min(frames));
                }
                1 | 2 => match bitmap.take() {
                    Some(taken) => prop_assert!(free.remove(&taken)),
                    None => prop_assert!(free.is_empty()),
                },
                3 => {
                    let expected = (0..frames).find(|at| (*at..at + count).all(|f| free.contains(&f)));
                    prop_assert_eq!(bitmap.take_contiguous(count), expected);
                    if let Some(at) = expected {
                        (at..at + count).for_each(|frame| {
                            free.remove(&frame);
                        });
                    }
                }
                _ => {
                    let taken = frame < frames && free.insert(frame);
                    prop_assert_eq!(bitmap.give(frame).is_ok(), taken);
                }
            }
            prop_assert_eq!(bitmap.available(), free.len());
        }
    }
}
