//! An index that is made of a list, so that what changes the list at random changes one thing of the index.
//!
//! The items end with a byte 30. The first byte of an entry is its mode (`f` file, `x` executable, `l` link, `g`
//! another repository, `d` folder, anything else as it is), the second its stage (`0` to `3`) or flag (`i` to be
//! added, `s` not checked out), and the rest its path. `+` is an extension: its name and its body.

/// The index without its checksum.
pub fn index(list: &[u8], width: usize) -> Vec<u8> {
    let items = list.split(|&b| b == 30).filter(|item| item.len() > 1);
    let (extensions, entries): (Vec<&[u8]>, Vec<&[u8]>) = items.partition(|item| item[0] == b'+');
    let mut bytes = b"DIRC\0\0\0\x03".to_vec();
    bytes.extend((entries.len() as u32).to_be_bytes());
    for item in entries {
        entry(item, width, &mut bytes);
    }
    for item in extensions {
        let (name, body) = item[1..].split_at(4.min(item.len() - 1));
        let mut padded = [b' '; 4];
        padded[..name.len()].copy_from_slice(name);
        bytes.extend(padded);
        bytes.extend((body.len() as u32).to_be_bytes());
        bytes.extend(body);
    }
    bytes
}

fn entry(item: &[u8], width: usize, bytes: &mut Vec<u8>) {
    let start = bytes.len();
    let (mode, flag, path) = (item[0], item[1], &item[2..]);
    let mode: u32 = match mode {
        b'f' => 0o100_644,
        b'x' => 0o100_755,
        b'l' => 0o120_000,
        b'g' => 0o160_000,
        b'd' => 0o040_000,
        other => other.into(),
    };
    let (stage, more): (u16, u16) = match flag {
        b'0'..=b'3' => ((flag - b'0').into(), 0),
        b'i' => (0, 0x2000),
        b's' => (0, 0x4000),
        other => (0, other.into()),
    };
    bytes.extend([0; 24]);
    bytes.extend(mode.to_be_bytes());
    bytes.extend([0; 12]);
    bytes.extend(std::iter::repeat_n(mode as u8 | 1, width));
    let flags = (path.len().min(0xfff) as u16) | stage << 12;
    match more {
        0 => bytes.extend(flags.to_be_bytes()),
        more => {
            bytes.extend((flags | 0x4000).to_be_bytes());
            bytes.extend(more.to_be_bytes());
        }
    }
    bytes.extend(path);
    bytes.push(0);
    while !(bytes.len() - start).is_multiple_of(8) {
        bytes.push(0);
    }
}
