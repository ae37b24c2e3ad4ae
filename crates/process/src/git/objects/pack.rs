//! Packs of objects and the lists of what is in them (gitformat-pack(5), version 2 of both).

use super::{Budget, Fault, Kind, LARGEST, Name, is_named, open, unpack, unpack_whole};
use flate2::bufread::ZlibDecoder;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

/// A change of a change of an object is followed so far.
const CHAIN: usize = 10_000;
/// A pack with more objects is not looked through.
const MOST: u32 = 2_000_000;

/// A pack, and the list of its objects in the order of their ids.
#[derive(Debug)]
pub(crate) struct Pack {
    list: File,
    data: File,
    /// Bytes of an id.
    width: usize,
    count: u32,
}

/// What begins at a place of a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Whole(Kind),
    /// A change of what begins at this place.
    Change(u64),
    /// A change of the object with this id.
    ChangeOf(Vec<u8>),
}

/// The bytes of a file from a place on.
struct From<'a> {
    file: &'a File,
    at: u64,
}

impl Read for From<'_> {
    fn read(&mut self, part: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(part, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

type Source<'a> = BufReader<From<'a>>;

fn byte(source: &mut impl Read) -> Result<u8, Fault> {
    let mut byte = [0];
    source.read_exact(&mut byte)?;
    Ok(byte[0])
}

impl Pack {
    /// By the path of its list, which is beside it.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        let name = path.file_stem().and_then(|name| name.to_str());
        let digits = name.and_then(|name| name.rsplit('-').next()).map(str::len);
        let width = match digits {
            Some(64) => 32,
            _ => 20,
        };
        let mut pack = Self {
            list: open(path)?,
            data: open(&path.with_extension("pack"))?,
            width,
            count: 0,
        };
        let head: [u8; 8] = pack.listed(0)?;
        if head != *b"\xfftOc\0\0\0\x02" {
            return Err(Fault::Broken);
        }
        pack.count = pack.number(8 + 255 * 4)?;
        let mut data = [0; 12];
        pack.data.read_exact_at(&mut data, 0)?;
        let count = u32::from_be_bytes([data[8], data[9], data[10], data[11]]);
        let version = [2, 3].map(|version| [b'P', b'A', b'C', b'K', 0, 0, 0, version]);
        match version.iter().any(|head| data.starts_with(head)) && count == pack.count {
            true if count > MOST => Err(Fault::TooMuch),
            true => Ok(pack),
            false => Err(Fault::Broken),
        }
    }

    fn listed<const N: usize>(&self, at: u64) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.list.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    fn number(&self, at: u64) -> Result<u32, Fault> {
        self.listed(at).map(u32::from_be_bytes)
    }

    fn id(&self, number: u32) -> Result<Vec<u8>, Fault> {
        let mut id = vec![0; self.width];
        let at = 8 + 256 * 4 + u64::from(number) * self.width as u64;
        self.list.read_exact_at(&mut id, at)?;
        Ok(id)
    }

    /// Where the object of this number begins.
    fn place(&self, number: u32) -> Result<u64, Fault> {
        let count = u64::from(self.count);
        let places = 8 + 256 * 4 + count * (self.width as u64 + 4);
        let place = self.number(places + u64::from(number) * 4)?;
        match place.checked_sub(1 << 31) {
            None => Ok(place.into()),
            Some(large) => {
                let at = places + count * 4 + u64::from(large) * 8;
                self.listed(at).map(u64::from_be_bytes)
            }
        }
    }

    /// Where an object begins, if it is here.
    pub(crate) fn find(&self, id: &[u8]) -> Result<Option<u64>, Fault> {
        let [first, ..] = id else { return Ok(None) };
        if id.len() != self.width {
            return Ok(None);
        }
        let bound = |first: u8| self.number(8 + u64::from(first) * 4);
        let mut low = match first.checked_sub(1) {
            Some(before) => bound(before)?,
            None => 0,
        };
        let mut high = bound(*first)?.min(self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.id(middle)?.as_slice().cmp(id) {
                std::cmp::Ordering::Equal => return self.place(middle).map(Some),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Ok(None)
    }

    /// What begins at a place, its size when it is unpacked, and what follows.
    fn entry(&self, place: u64) -> Result<(Entry, u64, Source<'_>), Fault> {
        let from = From {
            file: &self.data,
            at: place,
        };
        let mut source = BufReader::with_capacity(4 << 10, from);
        let first = byte(&mut source)?;
        let mut size = u64::from(first & 15);
        let (mut next, mut shift) = (first, 4);
        while next & 128 != 0 {
            next = byte(&mut source)?;
            if shift > 57 {
                return Err(Fault::Broken);
            }
            size |= u64::from(next & 127) << shift;
            shift += 7;
        }
        let entry = match first >> 4 & 7 {
            1 => Entry::Whole(Kind::Commit),
            2 => Entry::Whole(Kind::Tree),
            3 => Entry::Whole(Kind::Blob),
            4 => Entry::Whole(Kind::Tag),
            6 => {
                let mut next = byte(&mut source)?;
                let mut back = u64::from(next & 127);
                while next & 128 != 0 {
                    next = byte(&mut source)?;
                    let more = back.checked_add(1).filter(|more| *more < 1 << 56);
                    back = more.ok_or(Fault::Broken)? << 7 | u64::from(next & 127);
                }
                let base = place.checked_sub(back).filter(|base| *base < place);
                Entry::Change(base.ok_or(Fault::Broken)?)
            }
            7 => {
                let mut id = vec![0; self.width];
                source.read_exact(&mut id)?;
                Entry::ChangeOf(id)
            }
            _ => return Err(Fault::Broken),
        };
        Ok((entry, size, source))
    }

    /// The object that begins at a place. Nobody has compared it with its name.
    pub(super) fn read(&self, place: u64, budget: &Budget) -> Result<(Kind, Vec<u8>), Fault> {
        let mut changes: Vec<Vec<u8>> = Vec::new();
        let mut place = place;
        loop {
            let (entry, size, source) = self.entry(place)?;
            budget.take(size)?;
            let content = unpack_whole(&mut ZlibDecoder::new(source), size)?;
            place = match entry {
                Entry::Whole(kind) => {
                    let whole = changes
                        .iter()
                        .rev()
                        .try_fold(content, |base, change| changed(&base, change, budget));
                    return Ok((kind, whole?));
                }
                Entry::Change(base) => base,
                Entry::ChangeOf(id) => self.find(&id)?.ok_or(Fault::Broken)?,
            };
            changes.push(content);
            if changes.len() > CHAIN {
                return Err(Fault::TooMuch);
            }
        }
    }

    /// The commits that it has, when every object was compared with its name.
    pub(super) fn verify(&self, budget: &Budget) -> Result<Vec<Vec<u8>>, Fault> {
        let mut places = HashMap::new();
        for number in 0..self.count {
            places.insert(self.place(number)?, number);
        }
        let mut check = Check {
            pack: self,
            budget,
            children: HashMap::new(),
            commits: Vec::new(),
            count: 0,
        };
        let mut wholes = Vec::new();
        for number in 0..self.count {
            let base = match self.entry(self.place(number)?)?.0 {
                Entry::Whole(kind) => {
                    wholes.push((number, kind));
                    continue;
                }
                Entry::Change(place) => place,
                Entry::ChangeOf(id) => self.find(&id)?.ok_or(Fault::Broken)?,
            };
            let base = places.get(&base).ok_or(Fault::Broken)?;
            check.children.entry(*base).or_default().push(number);
        }
        for (number, kind) in wholes {
            check.whole(number, kind)?;
        }
        // What is a change of itself was never reached.
        match check.count == self.count {
            true => Ok(check.commits),
            false => Err(Fault::Broken),
        }
    }
}

/// A pack that is being looked through; objects are known by their numbers in its list.
struct Check<'a> {
    pack: &'a Pack,
    budget: &'a Budget,
    /// The changes of each object.
    children: HashMap<u32, Vec<u32>>,
    commits: Vec<Vec<u8>>,
    count: u32,
}

impl Check<'_> {
    /// Looks at an object, and at all that are changes of it.
    fn whole(&mut self, number: u32, kind: Kind) -> Result<(), Fault> {
        let (_, size, source) = self.pack.entry(self.pack.place(number)?)?;
        self.budget.take(size)?;
        let mut packed = ZlibDecoder::new(source);
        if !self.children.contains_key(&number) {
            let id = self.pack.id(number)?;
            let mut name = Name::begin(id.len(), kind, size);
            unpack(&mut packed, size, &mut |part| name.add(part))?;
            name.is(&id)?;
            self.seen(kind, id);
            return Ok(());
        }
        let content = unpack_whole(&mut packed, size)?;
        self.named(number, kind, &content)?;
        let children = self.children.remove(&number).unwrap_or_default();
        let mut stack = vec![(Rc::new(content), children.into_iter())];
        while let Some((base, rest)) = stack.last_mut() {
            let Some(child) = rest.next() else {
                stack.pop();
                continue;
            };
            let base = Rc::clone(base);
            let (_, size, source) = self.pack.entry(self.pack.place(child)?)?;
            self.budget.take(size)?;
            let change = unpack_whole(&mut ZlibDecoder::new(source), size)?;
            let content = changed(&base, &change, self.budget)?;
            self.named(child, kind, &content)?;
            if let Some(children) = self.children.remove(&child) {
                stack.push((Rc::new(content), children.into_iter()));
            }
            if stack.len() > CHAIN {
                return Err(Fault::TooMuch);
            }
        }
        Ok(())
    }

    fn named(&mut self, number: u32, kind: Kind, content: &[u8]) -> Result<(), Fault> {
        let id = self.pack.id(number)?;
        is_named(&id, kind, content)?;
        self.seen(kind, id);
        Ok(())
    }

    fn seen(&mut self, kind: Kind, id: Vec<u8>) {
        self.count += 1;
        if kind == Kind::Commit {
            self.commits.push(id);
        }
    }
}

/// What a change makes of an object: a list of parts of that object and of bytes of its own.
pub(super) fn changed(base: &[u8], change: &[u8], budget: &Budget) -> Result<Vec<u8>, Fault> {
    let mut rest = change;
    if length(&mut rest)? != base.len() as u64 {
        return Err(Fault::Broken);
    }
    let size = length(&mut rest)?;
    budget.take(size)?;
    if size > LARGEST {
        return Err(Fault::TooMuch);
    }
    let mut content = Vec::new();
    while let [step, after @ ..] = rest {
        rest = after;
        let part = match *step {
            0 => return Err(Fault::Broken),
            count @ 1..=127 => {
                let (part, after) = rest.split_at_checked(count.into()).ok_or(Fault::Broken)?;
                rest = after;
                part
            }
            step => {
                let mut field = |bits: std::ops::Range<u8>, flag: u8| -> Result<usize, Fault> {
                    let mut value = 0;
                    for bit in bits {
                        if step & flag << bit != 0 {
                            let (byte, after) = rest.split_first().ok_or(Fault::Broken)?;
                            value |= usize::from(*byte) << (8 * bit);
                            rest = after;
                        }
                    }
                    Ok(value)
                };
                let at = field(0..4, 1)?;
                let count = match field(0..3, 16)? {
                    0 => 0x10000,
                    count => count,
                };
                let end = at.checked_add(count).ok_or(Fault::Broken)?;
                base.get(at..end).ok_or(Fault::Broken)?
            }
        };
        content.extend_from_slice(part);
        if content.len() as u64 > size {
            return Err(Fault::Broken);
        }
    }
    match content.len() as u64 == size {
        true => Ok(content),
        false => Err(Fault::Broken),
    }
}

/// A number, seven bits a byte, the least first.
fn length(rest: &mut &[u8]) -> Result<u64, Fault> {
    let mut value = 0;
    for shift in (0..57).step_by(7) {
        let (byte, after) = rest.split_first().ok_or(Fault::Broken)?;
        *rest = after;
        value |= u64::from(byte & 127) << shift;
        if byte & 128 == 0 {
            return Ok(value);
        }
    }
    Err(Fault::Broken)
}
