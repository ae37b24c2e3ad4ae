//! Making a manifest.
//!
//! Decision: no configuration language. Whoever builds a manifest is a Rust program that names what
//! it wants, and gets either bytes that the kernel takes or the same refusal that the kernel would
//! give.

use super::value::{DISCRIMINANT, NUMBER, kind, shape};
use super::{Binary, Cap, Init, Invalid, Manifest, SIZE, Service, Source, Wrong, check};
use crate::message::{self, StructAt};
use alloc::vec::Vec;

/// A manifest that is being made.
#[derive(Clone, Debug, Default)]
pub struct Builder<'a> {
    manifest: Manifest<'a>,
}

impl<'a> Builder<'a> {
    /// A manifest with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a program.
    pub fn binary(mut self, name: &'a str, data: &'a [u8]) -> Self {
        self.manifest.binaries.push(Binary { name, data });
        self
    }

    /// Says what the kernel starts.
    pub fn init(mut self, binary: &'a str, caps: impl Into<Vec<Cap<'a>>>) -> Self {
        self.manifest.init = Init {
            binary,
            caps: caps.into(),
        };
        self
    }

    /// Adds what init starts.
    pub fn service(mut self, service: Service<'a>) -> Self {
        self.manifest.services.push(service);
        self
    }

    /// Says whose end is the machine's.
    pub fn exit_when(mut self, service: &'a str) -> Self {
        self.manifest.exit_when_service_exits = Some(service);
        self
    }

    /// The manifest's bytes, if it makes sense.
    pub fn finish(self) -> Result<Vec<u8>, Invalid> {
        encode(&self.manifest)
    }
}

impl<'a> From<Manifest<'a>> for Builder<'a> {
    fn from(manifest: Manifest<'a>) -> Self {
        Self { manifest }
    }
}

fn encode(manifest: &Manifest<'_>) -> Result<Vec<u8>, Invalid> {
    check::check(manifest)?;
    // Before any of it is copied.
    let images: usize = manifest
        .binaries
        .iter()
        .map(|binary| binary.data.len())
        .sum();
    if images > SIZE {
        return Err(Wrong::Size(images).at(""));
    }
    let mut out = Writer(message::Builder::new(shape::MANIFEST.0, shape::MANIFEST.1));
    let root = out.0.root();
    out.0.set_u32(root, 0, 1);
    let list = out.0.list(root, 0, manifest.binaries.len(), shape::BINARY);
    for (number, binary) in manifest.binaries.iter().enumerate() {
        out.0.set_text(list.get(number), 0, binary.name);
        out.0.set_data(list.get(number), 1, binary.data);
    }
    let config = out.0.child(root, 1, shape::VALUE.0, shape::VALUE.1);
    let exit = manifest.exit_when_service_exits;
    let mut fields = out
        .record(config, 2 + usize::from(exit.is_some()))
        .into_iter();
    let mut next = |out: &mut Writer, name| fields.next().map(|at| out.field(at, name));
    if let Some(at) = next(&mut out, "init") {
        let fields = out.record(at, 2);
        out.text_field(&fields, 0, "binary", manifest.init.binary);
        out.caps(&fields, 1, &manifest.init.caps);
    }
    if let Some(at) = next(&mut out, "services") {
        let services = out.list(at, manifest.services.len());
        for (at, service) in services.into_iter().zip(&manifest.services) {
            out.service(at, service);
        }
    }
    if let Some(name) = exit
        && let Some(at) = next(&mut out, "exitWhenServiceExits")
    {
        out.text(at, name);
    }
    let bytes = out.0.finish();
    if bytes.len() > SIZE {
        return Err(Wrong::Size(bytes.len()).at(""));
    }
    Ok(bytes)
}

/// Writes values of the tree.
struct Writer(message::Builder);

impl Writer {
    /// Makes a value a record of so many fields.
    fn record(&mut self, at: StructAt, count: usize) -> Vec<StructAt> {
        self.0.set_u16(at, DISCRIMINANT, kind::RECORD);
        let list = self.0.list(at, 0, count, shape::FIELD);
        (0..count).map(|number| list.get(number)).collect()
    }

    /// Makes a value a list of so many.
    fn list(&mut self, at: StructAt, count: usize) -> Vec<StructAt> {
        self.0.set_u16(at, DISCRIMINANT, kind::LIST);
        let list = self.0.list(at, 0, count, shape::VALUE);
        (0..count).map(|number| list.get(number)).collect()
    }

    fn text(&mut self, at: StructAt, text: &str) {
        self.0.set_u16(at, DISCRIMINANT, kind::TEXT);
        self.0.set_text(at, 0, text);
    }

    /// Names a field, and gives its value.
    fn field(&mut self, field: StructAt, name: &str) -> StructAt {
        self.0.set_text(field, 0, name);
        self.0.child(field, 1, shape::VALUE.0, shape::VALUE.1)
    }

    fn value(&mut self, fields: &[StructAt], index: usize, name: &str) -> Option<StructAt> {
        fields.get(index).map(|field| self.field(*field, name))
    }

    fn text_field(&mut self, fields: &[StructAt], index: usize, name: &str, text: &str) {
        if let Some(at) = self.value(fields, index, name) {
            self.text(at, text);
        }
    }

    fn number_field(&mut self, fields: &[StructAt], index: usize, name: &str, number: u64) {
        if let Some(at) = self.value(fields, index, name) {
            self.0.set_u16(at, DISCRIMINANT, kind::UINT);
            self.0.set_u64(at, NUMBER, number);
        }
    }

    fn service(&mut self, at: StructAt, service: &Service<'_>) {
        let fields = self.record(at, 5);
        self.text_field(&fields, 0, "name", service.name);
        self.text_field(&fields, 1, "binary", service.binary);
        self.text_field(&fields, 2, "restart", service.restart.name());
        self.caps(&fields, 3, &service.caps);
        if let Some(at) = self.value(&fields, 4, "exports") {
            for (at, export) in self
                .list(at, service.exports.len())
                .into_iter()
                .zip(&service.exports)
            {
                self.text(at, export);
            }
        }
    }

    fn caps(&mut self, fields: &[StructAt], index: usize, caps: &[Cap<'_>]) {
        let Some(at) = self.value(fields, index, "caps") else {
            return;
        };
        for (at, cap) in self.list(at, caps.len()).into_iter().zip(caps) {
            let fields = self.record(at, 4);
            self.text_field(&fields, 0, "name", cap.name);
            self.number_field(&fields, 1, "badge", cap.badge);
            self.number_field(&fields, 2, "expectedInterfaceId", cap.interface);
            if let Some(at) = self.value(&fields, 3, "source") {
                self.source(at, cap.source);
            }
        }
    }

    fn source(&mut self, at: StructAt, source: Source<'_>) {
        let fields = self.record(at, 1);
        match source {
            Source::Kernel(source) => self.text_field(&fields, 0, "kernel", source.name()),
            Source::Service { service, export } => {
                if let Some(at) = self.value(&fields, 0, "service") {
                    let fields = self.record(at, 2);
                    self.text_field(&fields, 0, "service", service);
                    self.text_field(&fields, 1, "export", export);
                }
            }
        }
    }
}
