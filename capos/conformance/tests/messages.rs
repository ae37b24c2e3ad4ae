//! Messages, compared with the published library: what it writes we read, and the reverse.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_capos_core::message::{self, Builder, Malformed, Message, StructAt};
use capnp::message::{AllocationStrategy, HeapAllocator};
use capos_config::capos_capnp::cue_value;
use capos_config::{CueField, CueValue};
use proptest::prelude::*;

fn values() -> impl Strategy<Value = CueValue> {
    let leaf = prop_oneof![
        Just(CueValue::Null),
        any::<bool>().prop_map(CueValue::Bool),
        any::<i64>().prop_map(CueValue::Int),
        any::<u64>().prop_map(CueValue::UInt),
        ".{0,20}".prop_map(CueValue::Text),
        any::<Vec<u8>>().prop_map(CueValue::Bytes),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(CueValue::List),
            proptest::collection::vec((".{0,9}", inner), 0..6).prop_map(|fields| {
                CueValue::Struct(
                    fields
                        .into_iter()
                        .map(|(name, value)| CueField { name, value })
                        .collect(),
                )
            }),
        ]
    })
}

/// The value as our reader has it.
fn read(at: message::Struct<'_, '_>) -> Result<CueValue, Malformed> {
    Ok(match at.u16(0) {
        0 => CueValue::Null,
        1 => CueValue::Bool(at.bool(16)),
        2 => CueValue::Int(at.i64(8)),
        3 => CueValue::UInt(at.u64(8)),
        4 => CueValue::Text(at.text(0)?.into()),
        5 => CueValue::Bytes(at.data(0)?.into()),
        6 => CueValue::List(at.list(0)?.iter().map(read).collect::<Result<_, _>>()?),
        7 => CueValue::Struct(
            at.list(0)?
                .iter()
                .map(|field| {
                    Ok(CueField {
                        name: field.text(0)?.into(),
                        value: read(field.child(1)?)?,
                    })
                })
                .collect::<Result<_, _>>()?,
        ),
        // What the published reader says of a union's unknown member.
        _ => return Err(Malformed::Kind),
    })
}

/// Writes the value with our builder.
fn write(builder: &mut Builder, at: StructAt, value: &CueValue) {
    match value {
        CueValue::Null => {}
        CueValue::Bool(value) => {
            builder.set_u16(at, 0, 1);
            builder.set_bool(at, 16, *value);
        }
        CueValue::Int(value) => {
            builder.set_u16(at, 0, 2);
            builder.set_i64(at, 8, *value);
        }
        CueValue::UInt(value) => {
            builder.set_u16(at, 0, 3);
            builder.set_u64(at, 8, *value);
        }
        CueValue::Text(text) => {
            builder.set_u16(at, 0, 4);
            builder.set_text(at, 0, text);
        }
        CueValue::Bytes(data) => {
            builder.set_u16(at, 0, 5);
            builder.set_data(at, 0, data);
        }
        CueValue::List(values) => {
            builder.set_u16(at, 0, 6);
            let list = builder.list(at, 0, values.len(), (2, 1));
            for (number, value) in values.iter().enumerate() {
                write(builder, list.get(number), value);
            }
        }
        CueValue::Struct(fields) => {
            builder.set_u16(at, 0, 7);
            let list = builder.list(at, 0, fields.len(), (0, 2));
            for (number, field) in fields.iter().enumerate() {
                builder.set_text(list.get(number), 0, &field.name);
                let child = builder.child(list.get(number), 1, 2, 1);
                write(builder, child, &field.value);
            }
        }
    }
}

fn ours(bytes: &[u8]) -> Result<CueValue, Malformed> {
    read(Message::parse(bytes)?.root()?)
}

/// The message in segments of a few words, so that pointers lead from one to another.
fn in_segments(bytes: &[u8], words: u32) -> Vec<u8> {
    let options = capnp::message::ReaderOptions::new();
    let message = capnp::serialize::read_message_from_flat_slice(&mut &bytes[..], options).unwrap();
    let value = message.get_root::<cue_value::Reader<'_>>().unwrap();
    let allocator = HeapAllocator::new()
        .first_segment_words(words)
        .allocation_strategy(AllocationStrategy::FixedSize);
    let mut builder = capnp::message::Builder::new(allocator);
    builder.set_root(value).unwrap();
    capnp::serialize::write_message_to_words(&builder)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn what_the_library_writes_we_read(value in values()) {
        prop_assert_eq!(ours(&value.to_capnp_bytes().unwrap()), Ok(value));
    }

    #[test]
    fn what_we_write_the_library_reads(value in values()) {
        let mut builder = Builder::new(2, 1);
        let root = builder.root();
        write(&mut builder, root, &value);
        let bytes = builder.finish();
        prop_assert_eq!(CueValue::from_capnp_bytes(&bytes).unwrap(), value);
    }

    #[test]
    fn far_pointers_are_followed(value in values(), words in 1u32..40) {
        let bytes = in_segments(&value.to_capnp_bytes().unwrap(), words);
        match ours(&bytes) {
            Err(Malformed::Segments) => prop_assert!(bytes[0] >= 16 || bytes[1] > 0),
            read => prop_assert_eq!(read, Ok(value)),
        }
    }

    /// Of damaged messages: what we read, the library reads as the same.
    #[test]
    fn what_we_read_the_library_reads(
        value in values(),
        words in 1u32..40,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = in_segments(&value.to_capnp_bytes().unwrap(), words);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(read) = ours(&bytes) {
            let theirs = CueValue::from_capnp_bytes(&bytes);
            prop_assert_eq!(theirs.map_err(|error| format!("{error}")), Ok(read));
        }
    }
}

#[test]
fn segments_were_tried() {
    let value = CueValue::List(vec![CueValue::text("one"), CueValue::text("two")]);
    let bytes = in_segments(&value.to_capnp_bytes().unwrap(), 2);
    assert!(bytes[0] >= 2, "{} segments", bytes[0] + 1);
    assert_eq!(ours(&bytes), Ok(value));
}
