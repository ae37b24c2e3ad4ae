use super::Queue;
use std::collections::VecDeque;

#[test]
fn what_goes_in_comes_out_in_order() {
    let mut queue = Queue::keeping(0);
    let mut expected = VecDeque::new();
    let mut state = 7_u32;
    for _ in 0..5000 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let size = (state >> 20) as usize;
        if state & 1 == 0 {
            let bytes: Vec<u8> = (0..size).map(|at| (at as u32 ^ state) as u8).collect();
            queue.extend(&bytes);
            expected.extend(&bytes);
        } else {
            queue.take(size);
            expected.drain(..size.min(expected.len()));
        }
        assert_eq!(queue.len(), expected.len());
        if state & 30 == 0 {
            assert!(queue.as_slice().iter().eq(&expected));
        }
    }
}

#[test]
fn a_queue_that_is_never_empty_does_not_grow() {
    let mut queue = Queue::keeping(0);
    queue.extend(&[0; 100_000]);
    for _ in 0..10_000 {
        queue.extend(&[1; 3000]);
        queue.take(3000);
    }
    assert_eq!(queue.len(), 100_000);
    assert!(queue.memory() <= 200_000, "{}", queue.memory());
}

#[test]
fn a_small_queue_costs_no_more_than_a_page_above_its_contents() {
    let mut queue = Queue::keeping(0);
    for _ in 0..4096 {
        queue.extend(&[1]);
    }
    assert!(queue.memory() <= 8192, "{}", queue.memory());
}

#[test]
fn an_empty_queue_gives_its_memory_back() {
    let mut queue = Queue::keeping(1000);
    queue.extend(&[0; 500]);
    queue.take(500);
    assert!(queue.memory() > 0);
    queue.extend(&[0; 5000]);
    queue.take(5000);
    assert_eq!(queue.memory(), 0);
}

#[test]
fn a_place_that_is_not_filled_counts_for_nothing() {
    let mut queue = Queue::keeping(0);
    queue.extend(b"ab");
    queue.place(100)[..1].copy_from_slice(b"c");
    queue.filled(1);
    queue.extend(b"d");
    assert_eq!(queue.as_slice(), b"abcd");
}

#[test]
fn what_comes_last_can_be_brought_forward() {
    let mut queue = Queue::default();
    queue.extend(b"sent, first, second");
    queue.take(6);
    queue.extend(b"ahead, ");
    queue.bring_forward(7, 13);
    assert_eq!(queue.as_slice(), b"first, ahead, second");
    queue.bring_forward(20, 20);
    queue.bring_forward(99, 99);
    queue.bring_forward(0, 14);
    assert_eq!(queue.as_slice(), b"secondfirst, ahead, ");
}
