use super::*;
use rustix::pipe::{PipeFlags, pipe_with};

fn said(text: &[u8]) -> Said {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC).unwrap();
    let writer = std::thread::spawn({
        let text = text.to_vec();
        move || {
            let mut rest = &text[..];
            while !rest.is_empty() {
                let written = rustix::io::write(&write, rest).unwrap();
                rest = &rest[written..];
            }
        }
    });
    let said = Said::default();
    said.keep(&read);
    writer.join().unwrap();
    said
}

#[test]
fn the_last_lines_are_kept_and_harmless() {
    let said = said(b"one\ntwo\x1b[31m\n\nthree\n");
    assert_eq!(said.tail(2), "\n  | two [31m\n  | three");
}

#[test]
fn of_an_endless_word_the_end_is_kept() {
    let said = said(&vec![b'x'; 4 * KEPT]);
    assert!(said.tail(9).len() < KEPT + 16);
}

#[test]
fn of_a_kernels_own_fault_the_beginning_is_told() {
    let fault = b"before\n[ 9.9] BUG: unable to handle page fault\none\ntwo\nthree\n";
    assert_eq!(
        said(fault).tail(2),
        "\n  | [ 9.9] BUG: unable to handle page fault\n  | one\n  | two\n  | three"
    );
}
