//! Lines of a corpus. A line that is an event reads back as the same event, and every field that
//! it says is there; any other says where it is wrong.
#![no_main]

use bailiwick_event::fields::{Field, Record};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|line: &str| {
    let record = match Record::read(line) {
        Ok(record) => record,
        Err(error) => {
            assert!(!error.message.is_empty());
            assert!(
                error.column <= line.len() + 1,
                "column {} of {}",
                error.column,
                line.len()
            );
            return;
        }
    };
    let written = record.to_line();
    let again = Record::read(&written).unwrap_or_else(|e| panic!("{e}\n{written}"));
    assert_eq!(again.to_line(), written);
    let families = record.event_type().families();
    let (subject, back) = (record.subject(), again.subject());
    for info in Field::ALL {
        let there = subject.get(info.field).is_present();
        assert_eq!(there, back.get(info.field).is_present(), "{}", info.path);
        assert!(!there || families.contains(&info.family), "{}", info.path);
    }
});
