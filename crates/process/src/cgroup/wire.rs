//! As much of D-Bus's wire format as one method call needs: little-endian values, each aligned to its
//! size. The other side is systemd, which is trusted; what it answers is still only looked at within
//! its length.

/// A message or a part of it that is being written. What is aligned is aligned to its beginning.
#[derive(Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn align(&mut self, to: usize) {
        self.0.resize(self.0.len().next_multiple_of(to), 0);
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.align(8);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn string(&mut self, value: &str) {
        self.u32(length(value.len()));
        self.0.extend(value.as_bytes());
        self.0.push(0);
    }

    pub(super) fn signature(&mut self, value: &str) {
        self.0.push(u8::try_from(value.len()).unwrap_or(0));
        self.0.extend(value.as_bytes());
        self.0.push(0);
    }

    /// An array of elements that are aligned so.
    pub(super) fn array(&mut self, align: usize, elements: impl FnOnce(&mut Self)) {
        self.u32(0);
        let at = self.0.len();
        self.align(align);
        let begin = self.0.len();
        elements(self);
        let bytes = length(self.0.len() - begin);
        self.0[at - 4..at].copy_from_slice(&bytes.to_le_bytes());
    }
}

fn length(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// The value of a property.
pub(super) enum Value<'a> {
    Text(&'a str),
    Number(u64),
    Numbers(&'a [u32]),
}

/// Writes a list of properties, `a(sv)`.
pub(super) fn properties(to: &mut Writer, list: &[(&str, Value<'_>)]) {
    to.array(8, |to| {
        for (name, value) in list {
            to.align(8);
            to.string(name);
            match value {
                Value::Text(text) => {
                    to.signature("s");
                    to.string(text);
                }
                Value::Number(number) => {
                    to.signature("t");
                    to.u64(*number);
                }
                Value::Numbers(numbers) => {
                    to.signature("au");
                    to.array(4, |to| numbers.iter().for_each(|n| to.u32(*n)));
                }
            }
        }
    });
}

/// Where a method is called.
pub(super) struct Method<'a> {
    pub(super) destination: &'a str,
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) name: &'a str,
}

/// A method call with a body of this signature.
pub(super) fn call(serial: u32, method: &Method<'_>, signature: &str, body: &[u8]) -> Vec<u8> {
    const CALL: u8 = 1;
    let mut to = Writer(vec![b'l', CALL, 0, 1]);
    to.u32(length(body.len()));
    to.u32(serial);
    to.array(8, |to| {
        for (code, kind, value) in [
            (1, "o", method.path),
            (2, "s", method.interface),
            (3, "s", method.name),
            (6, "s", method.destination),
        ] {
            to.align(8);
            to.0.push(code);
            to.signature(kind);
            to.string(value);
        }
        if !signature.is_empty() {
            to.align(8);
            to.0.push(8);
            to.signature("g");
            to.signature(signature);
        }
    });
    to.align(8);
    to.0.extend(body);
    to.0
}

/// What is known of a message by its first 16 bytes.
pub(super) struct Head {
    /// 2: an answer; 3: an error.
    pub(super) kind: u8,
    /// The bytes of the fields, with what fills them up.
    pub(super) fields: usize,
    pub(super) body: usize,
}

/// Reads the beginning of a message.
pub(super) fn head(bytes: &[u8; 16]) -> Option<Head> {
    /// A message is at most this long.
    const MOST: usize = 1 << 20;
    let number = |at: usize| {
        let mut four = [0; 4];
        four.copy_from_slice(&bytes[at..at + 4]);
        usize::try_from(u32::from_le_bytes(four)).ok()
    };
    let (body, fields) = (number(4)?, number(12)?);
    let known = bytes[0] == b'l' && body < MOST && fields < MOST;
    known.then(|| Head {
        kind: bytes[1],
        fields: fields.next_multiple_of(8),
        body,
    })
}

/// The serial number that an answer is for, from its fields.
pub(super) fn answers(fields: &[u8]) -> Option<u32> {
    // A field's code, its signature `u`, and the number, in a structure that begins at a multiple
    // of 8; no other field has this signature.
    fields.chunks_exact(8).find_map(|field| {
        let known = field[..4] == [5, 1, b'u', 0];
        known.then(|| u32::from_le_bytes([field[4], field[5], field[6], field[7]]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_what_the_specification_says() {
        let method = Method {
            destination: "org.freedesktop.DBus",
            path: "/org/freedesktop/DBus",
            interface: "org.freedesktop.DBus",
            name: "Hello",
        };
        let message = call(1, &method, "", &[]);
        // As libdbus writes it, but for the order of the fields.
        assert_eq!(message.len(), 128);
        assert_eq!(&message[..16], b"l\x01\0\x01\0\0\0\0\x01\0\0\0\x6d\0\0\0");
        assert_eq!(&message[16..24], b"\x01\x01o\0\x15\0\0\0");
        assert!(message.len().is_multiple_of(8));
    }

    #[test]
    fn a_list_of_properties_is_aligned() {
        let mut body = Writer::default();
        properties(
            &mut body,
            &[("A", Value::Number(7)), ("P", Value::Numbers(&[3]))],
        );
        let expected: &[u8] = &[
            44, 0, 0, 0, 0, 0, 0, 0, // length, filled up
            1, 0, 0, 0, b'A', 0, 1, b't', 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, //
            1, 0, 0, 0, b'P', 0, 2, b'a', b'u', 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0,
        ];
        assert_eq!(&body.0[..4], &expected[..4]);
        assert_eq!(body.0, expected);
    }

    #[test]
    fn an_answer_is_known_by_its_serial_number() {
        let fields = [
            6, 1, b's', 0, 1, 0, 0, 0, b':', 0, 0, 0, 0, 0, 0, 0, 5, 1, b'u', 0, 9, 0, 0, 0,
        ];
        assert_eq!(answers(&fields), Some(9));
        assert_eq!(answers(&[]), None);
        let mut bytes = *b"l\x02\x01\x01\x05\0\0\0\x01\0\0\0\x0d\0\0\0";
        let known = head(&bytes).unwrap();
        assert_eq!((known.kind, known.fields, known.body), (2, 16, 5));
        bytes[7] = 0xff;
        assert!(head(&bytes).is_none(), "too long");
    }
}
