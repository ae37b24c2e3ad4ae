//! Messages: whatever is read lies in the message, reading ends within its budget, and a tree that
//! is read is the same when it is built again.
#![no_main]

use bailiwick_capos_core::message::{Builder, Malformed, Message, Struct, StructAt};
use libfuzzer_sys::fuzz_target;

/// A value of the manifest's schema, which uses each form that a message can have.
#[derive(Debug, PartialEq)]
enum Value {
    Number(u16, u64),
    Text(String),
    Data(Vec<u8>),
    List(Vec<Value>),
    Record(Vec<(String, Value)>),
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = Message::parse(bytes) else {
        return;
    };
    let mut read = 0;
    if let Ok(root) = message.root() {
        walk(root, bytes, &mut read, &mut 2_000);
    }
    assert!(
        read <= bytes.len().max(64) * 8,
        "{read} bytes of {}",
        bytes.len()
    );
    // Anew, for what was read is spent.
    let value = Message::parse(bytes).and_then(|message| value(message.root()?));
    if let Ok(first) = value {
        let mut builder = Builder::new(2, 1);
        let root = builder.root();
        write(&mut builder, root, &first);
        let built = builder.finish();
        assert_eq!(built.len() % 8, 0);
        let message = Message::parse(&built).expect("what was built is a message");
        let again = message.root().and_then(self::value);
        assert_eq!(again, Ok(first));
    }
});

/// Reads everything below a struct, in every way, and as much as `steps` allow.
fn walk(at: Struct<'_, '_>, message: &[u8], read: &mut usize, steps: &mut u32) {
    for index in 0..5 {
        if *steps == 0 {
            return;
        }
        *steps -= 1;
        if let Ok(data) = at.data(index) {
            inside(data, message);
            *read += data.len();
        }
        if let Ok(text) = at.text(index) {
            inside(text.as_bytes(), message);
            if let Ok(data) = at.data(index)
                && at.has(index)
            {
                assert_eq!(
                    data,
                    [text.as_bytes(), &[0]].concat(),
                    "a text is not its bytes"
                );
                *read += data.len();
            }
            *read += text.len();
        }
        if let Ok(child) = at.child(index).as_ref().copied()
            && at.has(index)
        {
            walk(child, message, read, steps);
        }
        if let Ok(list) = at.list(index) {
            assert_eq!(list.iter().take(100).count(), list.len().min(100));
            for item in list.iter().take(100) {
                walk(item, message, read, steps);
            }
        }
    }
}

/// Whether the bytes are a part of the message, and not only equal to one.
fn inside(part: &[u8], message: &[u8]) {
    let (part, whole) = (part.as_ptr_range(), message.as_ptr_range());
    let within = part.start >= whole.start && part.end <= whole.end;
    assert!(part.is_empty() || within, "outside of the message");
}

fn value(at: Struct<'_, '_>) -> Result<Value, Malformed> {
    Ok(match at.u16(0) {
        kind @ 0..4 => Value::Number(kind, at.u64(8)),
        4 => Value::Text(at.text(0)?.into()),
        5 => Value::Data(at.data(0)?.into()),
        6 => Value::List(at.list(0)?.iter().map(value).collect::<Result<_, _>>()?),
        7 => {
            let field = |at: Struct<'_, '_>| Ok((at.text(0)?.into(), value(at.child(1)?)?));
            Value::Record(at.list(0)?.iter().map(field).collect::<Result<_, _>>()?)
        }
        _ => return Err(Malformed::Kind),
    })
}

fn write(builder: &mut Builder, at: StructAt, value: &Value) {
    match value {
        Value::Number(kind, number) => {
            builder.set_u16(at, 0, *kind);
            builder.set_u64(at, 8, *number);
        }
        Value::Text(text) => {
            builder.set_u16(at, 0, 4);
            builder.set_text(at, 0, text);
        }
        Value::Data(data) => {
            builder.set_u16(at, 0, 5);
            builder.set_data(at, 0, data);
        }
        Value::List(values) => {
            builder.set_u16(at, 0, 6);
            let list = builder.list(at, 0, values.len(), (2, 1));
            for (number, value) in values.iter().enumerate() {
                write(builder, list.get(number), value);
            }
        }
        Value::Record(fields) => {
            builder.set_u16(at, 0, 7);
            let list = builder.list(at, 0, fields.len(), (0, 2));
            for (number, (name, value)) in fields.iter().enumerate() {
                builder.set_text(list.get(number), 0, name);
                let child = builder.child(list.get(number), 1, 2, 1);
                write(builder, child, value);
            }
        }
    }
}
