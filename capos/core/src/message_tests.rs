use super::*;
use proptest::prelude::*;
use std::string::String;
use std::vec;
use std::vec::Vec;

/// A message of these segments.
fn framed(segments: &[&[u64]]) -> Vec<u8> {
    let mut bytes = (segments.len() as u32 - 1).to_le_bytes().to_vec();
    for segment in segments {
        bytes.extend((segment.len() as u32).to_le_bytes());
    }
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes.extend(
        segments
            .iter()
            .flat_map(|s| s.iter())
            .flat_map(|word| word.to_le_bytes()),
    );
    bytes
}

/// Where the struct's pointer of a word leads: `offset`, words of data, pointers.
fn structure(offset: i32, data: u64, pointers: u64) -> u64 {
    u64::from((offset << 2) as u32) | data << 32 | pointers << 48
}

fn bytes(offset: i32, count: u64) -> u64 {
    u64::from((offset << 2 | 1) as u32) | 2 << 32 | count << 35
}

fn list(offset: i32, words: u64) -> u64 {
    u64::from((offset << 2 | 1) as u32) | 7 << 32 | words << 35
}

fn far(offset: u64, segment: u64, double: bool) -> u64 {
    2 | u64::from(double) << 2 | offset << 3 | segment << 32
}

fn word(text: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*text)
}

#[test]
fn what_is_written_reads_back() {
    let mut builder = Builder::new(2, 4);
    let root = builder.root();
    builder.set_u8(root, 0, 1);
    builder.set_u16(root, 2, 0x1234);
    builder.set_u32(root, 4, 0xdead_beef);
    builder.set_i64(root, 8, -5);
    builder.set_text(root, 0, "hallo");
    builder.set_data(root, 1, &[1, 2, 3]);
    let child = builder.child(root, 2, 1, 0);
    builder.set_bool(child, 9, true);
    let list = builder.list(root, 3, 3, (1, 1));
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        builder.set_u64(list.get(number), 0, number as u64);
        builder.set_text(list.get(number), 0, name);
    }
    let bytes = builder.finish();
    let message = Message::parse(&bytes).unwrap();
    let root = message.root().unwrap();
    assert_eq!(
        (root.u8(0), root.u16(2), root.u32(4)),
        (1, 0x1234, 0xdead_beef)
    );
    assert_eq!((root.i64(8), root.u64(16), root.u16(999)), (-5, 0, 0));
    assert_eq!(root.text(0), Ok("hallo"));
    assert_eq!(root.data(1), Ok(&[1, 2, 3][..]));
    let child = root.child(2).unwrap();
    assert!(child.bool(9) && !child.bool(8) && !child.has(0));
    let list = root.list(3).unwrap();
    let read: Vec<_> = list
        .iter()
        .map(|s| (s.u64(0), s.text(0).unwrap()))
        .collect();
    assert_eq!(read, [(0, "a"), (1, "b"), (2, "c")]);
}

#[test]
fn what_is_absent_is_empty() {
    let bytes = Builder::new(0, 1).finish();
    let message = Message::parse(&bytes).unwrap();
    let root = message.root().unwrap();
    for index in [0, 1, 9] {
        assert!(!root.has(index));
        assert_eq!(root.text(index), Ok(""));
        assert_eq!(root.data(index), Ok(&[][..]));
        assert!(root.list(index).unwrap().is_empty());
        assert_eq!(root.child(index).unwrap().child(0).unwrap().u64(0), 0);
    }
}

#[test]
fn an_empty_struct_is_there() {
    let mut builder = Builder::new(0, 1);
    builder.child(builder.root(), 0, 0, 0);
    let bytes = builder.finish();
    let message = Message::parse(&bytes).unwrap();
    assert!(message.root().unwrap().has(0));
    assert!(
        Message::parse(&Builder::new(0, 0).finish())
            .unwrap()
            .root()
            .is_ok()
    );
}

#[test]
fn framing_is_checked() {
    let of = |bytes: &[u8]| Message::parse(bytes).err();
    assert_eq!(of(&[]), Some(Malformed::Framing));
    assert_eq!(of(&[0, 0, 0, 0, 1, 0, 0, 0]), Some(Malformed::Framing));
    assert_eq!(
        of(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
        Some(Malformed::Framing)
    );
    assert_eq!(of(&[16, 0, 0, 0]), Some(Malformed::Segments));
    assert_eq!(of(&[0xff; 64]), Some(Malformed::Segments));
    assert_eq!(of(&framed(&[&[0u64][..]; 16])), None);
    let empty = framed(&[&[]]);
    assert_eq!(
        Message::parse(&empty).unwrap().root().err(),
        Some(Malformed::Bounds)
    );
}

#[test]
fn far_pointers_lead_to_other_segments() {
    let text = word(b"far away");
    let single = framed(&[&[far(0, 1, false)], &[structure(0, 1, 0), 77]]);
    assert_eq!(Message::parse(&single).unwrap().root().unwrap().u64(0), 77);
    let double = framed(&[
        &[structure(0, 0, 1), far(1, 1, true)],
        &[0, far(1, 2, false), bytes(0, 9)],
        &[0, text, 0],
    ]);
    assert_eq!(
        Message::parse(&double).unwrap().root().unwrap().text(0),
        Ok("far away")
    );
    // A struct behind a double far pointer finds its own pointers in its own segment.
    let nested = framed(&[
        &[far(0, 1, true)],
        &[far(0, 2, false), structure(0, 0, 1)],
        &[bytes(0, 9), text, 0],
    ]);
    assert_eq!(
        Message::parse(&nested).unwrap().root().unwrap().text(0),
        Ok("far away")
    );
}

#[test]
fn far_pointers_that_lead_nowhere_are_refused() {
    let of = |segments: &[&[u64]]| {
        let bytes = framed(segments);
        Message::parse(&bytes).unwrap().root().err()
    };
    assert_eq!(of(&[&[far(0, 1, false)]]), Some(Malformed::Far));
    assert_eq!(of(&[&[far(1, 0, false)]]), Some(Malformed::Far));
    assert_eq!(of(&[&[far(0, 0, false)]]), Some(Malformed::Kind));
    assert_eq!(
        of(&[&[far(1, 0, true), far(0, 0, false)]]),
        Some(Malformed::Far)
    );
    let tag = [far(1, 0, true), far(0, 9, false), structure(0, 1, 0)];
    assert_eq!(of(&[&tag]), Some(Malformed::Far));
    let shifted = [far(1, 0, true), far(0, 0, false), structure(1, 1, 0)];
    assert_eq!(of(&[&shifted]), Some(Malformed::Far));
    let twice = [far(1, 0, true), far(0, 0, true), structure(0, 1, 0)];
    assert_eq!(of(&[&twice]), Some(Malformed::Far));
}

#[test]
fn pointers_stay_in_their_segment() {
    let of = |words: &[u64]| {
        let bytes = framed(&[words]);
        let message = Message::parse(&bytes).unwrap();
        match message.root() {
            Ok(root) => root.text(0).err(),
            Err(error) => Some(error),
        }
    };
    assert_eq!(of(&[structure(0, 1, 0)]), Some(Malformed::Bounds));
    assert_eq!(of(&[structure(-2, 0, 0)]), Some(Malformed::Bounds));
    assert_eq!(of(&[structure(5, 0, 0)]), Some(Malformed::Bounds));
    assert_eq!(of(&[structure(-1, 0, 0)]), None);
    assert_eq!(of(&[bytes(0, 0)]), Some(Malformed::Kind));
    assert_eq!(of(&[3]), Some(Malformed::Kind));
    assert_eq!(
        of(&[structure(0, 0, 1), bytes(0, 9), 0]),
        Some(Malformed::Bounds)
    );
    assert_eq!(
        of(&[structure(0, 0, 1), bytes(0, 1), word(b"\xff\0\0\0\0\0\0\0")]),
        Some(Malformed::Text)
    );
    assert_eq!(
        of(&[structure(0, 0, 1), bytes(0, 2), word(b"\xff\0\0\0\0\0\0\0")]),
        Some(Malformed::Text)
    );
    assert_eq!(
        of(&[structure(0, 0, 1), bytes(0, 0)]),
        Some(Malformed::Text)
    );
    assert_eq!(
        of(&[structure(0, 0, 1), list(0, 0), 0]),
        Some(Malformed::Kind)
    );
}

#[test]
fn a_list_cannot_claim_more_than_it_has() {
    let of = |words: &[u64]| {
        let bytes = framed(&[words]);
        let message = Message::parse(&bytes).unwrap();
        message.root().unwrap().list(0).map(|list| list.len())
    };
    let root = structure(0, 0, 1);
    assert_eq!(of(&[root, list(0, 2), structure(2, 1, 0), 1, 2]), Ok(2));
    assert_eq!(
        of(&[root, list(0, 2), structure(3, 1, 0), 1, 2]),
        Err(Malformed::List)
    );
    assert_eq!(
        of(&[root, list(0, 2), bytes(0, 0), 1, 2]),
        Err(Malformed::List)
    );
    assert_eq!(
        of(&[root, list(0, 3), structure(2, 1, 0), 1, 2]),
        Err(Malformed::Bounds)
    );
    assert_eq!(of(&[root, list(0, 0), structure(4, 0, 0)]), Ok(4));
    // Half a billion structs without words.
    assert_eq!(
        of(&[root, list(0, 0), structure(1 << 28, 0, 0)]),
        Err(Malformed::Traversal)
    );
}

#[test]
fn loops_end() {
    // A struct whose only child is itself.
    let bytes = framed(&[&[structure(0, 0, 1), structure(-1, 0, 1)]]);
    let message = Message::parse(&bytes).unwrap();
    let mut at = message.root().unwrap();
    let mut steps = 1;
    let error = loop {
        match at.child(0) {
            Ok(child) => at = child,
            Err(error) => break error,
        }
        steps += 1;
    };
    assert_eq!((steps, error), (NESTING, Malformed::Depth));
}

#[test]
fn reading_again_and_again_ends() {
    let mut builder = Builder::new(0, 1);
    builder.set_data(builder.root(), 0, &[0; 8000]);
    let bytes = builder.finish();
    let message = Message::parse(&bytes).unwrap();
    let root = message.root().unwrap();
    let reads = (0..100).take_while(|_| root.data(0).is_ok()).count();
    assert_eq!(reads, 8);
    assert_eq!(root.data(0), Err(Malformed::Traversal));
}

/// A tree that a message can be.
#[derive(Clone, Debug, PartialEq)]
struct Tree {
    number: u64,
    text: String,
    data: Vec<u8>,
    children: Vec<Tree>,
}

fn write(builder: &mut Builder, at: StructAt, tree: &Tree) {
    builder.set_u64(at, 0, tree.number);
    builder.set_text(at, 0, &tree.text);
    builder.set_data(at, 1, &tree.data);
    let list = builder.list(at, 2, tree.children.len(), (1, 3));
    for (number, child) in tree.children.iter().enumerate() {
        write(builder, list.get(number), child);
    }
}

fn read(at: Struct<'_, '_>) -> Result<Tree, Malformed> {
    Ok(Tree {
        number: at.u64(0),
        text: at.text(0)?.into(),
        data: at.data(1)?.into(),
        children: at.list(2)?.iter().map(read).collect::<Result<_, _>>()?,
    })
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = (any::<u64>(), ".{0,9}", any::<Vec<u8>>()).prop_map(|(number, text, data)| Tree {
        number,
        text,
        data,
        children: vec![],
    });
    leaf.prop_recursive(5, 40, 5, |inner| {
        (
            any::<u64>(),
            ".{0,9}",
            proptest::collection::vec(inner, 0..5),
        )
            .prop_map(|(number, text, children)| Tree {
                number,
                text,
                data: vec![],
                children,
            })
    })
}

proptest! {
    #[test]
    fn trees_read_back(tree in trees()) {
        let mut builder = Builder::new(1, 3);
        let root = builder.root();
        write(&mut builder, root, &tree);
        let bytes = builder.finish();
        let message = Message::parse(&bytes).unwrap();
        prop_assert_eq!(read(message.root().unwrap()), Ok(tree));
    }

    #[test]
    fn any_bytes_are_read_or_refused(
        tree in trees(), at in any::<proptest::sample::Index>(), value: u8, cut in 0usize..64
    ) {
        let mut builder = Builder::new(1, 3);
        let root = builder.root();
        write(&mut builder, root, &tree);
        let mut bytes = builder.finish();
        let at = at.index(bytes.len());
        bytes[at] = value;
        bytes.truncate(bytes.len() - cut.min(bytes.len()));
        if let Ok(message) = Message::parse(&bytes) {
            let _ = message.root().and_then(read);
        }
    }
}
