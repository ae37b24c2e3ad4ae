//! Init of a manifest with services: reads the manifest, starts the services by what each of them is given,
//! those that export before those that are given it, waits for their ends, and starts again what is to be.
//!
//! Its code: that of the service whose end is the machine's; else 0 where all ended well, 1 where one did
//! not. 3 where the manifest cannot be used, 4 where a service cannot be started.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::format;
use alloc::vec::Vec;
use bailiwick_capos_core::manifest::{Cap as Given, Manifest, Restart, Service, Source};
use bailiwick_capos_rt::call::{Call, Cap};
use bailiwick_capos_rt::caps::{Child, Grant, spawn};
use bailiwick_capos_rt::{entry, held, required, sys};

entry!(main);

const UNUSABLE: i64 = 3;
const UNSTARTED: i64 = 4;
/// How often a service is started again at most: one that ends at once for ever would keep the machine.
const AGAIN: u32 = 100;
/// Bytes that are read of the manifest at a time.
const PIECE: u64 = 4096;

fn say(text: &str) {
    if let Some(console) = held("console") {
        let _ = console.write_line(&format!("init: {text}"));
    }
}

/// The manifest, piece by piece.
fn manifest() -> Option<Vec<u8>> {
    let package = required("boot_package");
    let size = package.call(0, &[]).ok()?.u64(0);
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < size {
        let answer = package.numbers(1, &[bytes.len() as u64, PIECE]).ok()?;
        let piece = answer.data(0);
        if piece.is_empty() {
            return None;
        }
        bytes.extend_from_slice(&piece);
    }
    Some(bytes)
}

/// A service that runs, or has.
struct Started<'m> {
    service: &'m Service<'m>,
    child: Child,
    /// The wait for its end; none once it has ended for good.
    end: Option<Call>,
    again: u32,
}

impl Started<'_> {
    /// The side that calls of one of its endpoints, by the name that it has there: clients are told in the
    /// order of the endpoints that were made for it.
    fn export(&self, name: &str) -> Option<Cap> {
        let is_endpoint = |cap: &&Given<'_>| is_endpoint(cap);
        let mut endpoints = self.service.caps.iter().filter(is_endpoint);
        let at = endpoints.position(|cap| cap.name == name)?;
        self.child.clients.get(at).copied()
    }
}

fn is_endpoint(cap: &Given<'_>) -> bool {
    use bailiwick_capos_core::interfaces::KernelSource::Endpoint;
    cap.source == Source::Kernel(Endpoint)
}

/// Starts a service; none where one that it is given something by has not been started yet.
fn start<'m>(service: &'m Service<'m>, others: &[Started<'m>]) -> Option<Result<Started<'m>, i64>> {
    let mut grants = Vec::new();
    for cap in &service.caps {
        grants.push(match cap.source {
            Source::Kernel(source) => Grant::Kernel(cap.name, source),
            Source::Service { service, export } => {
                let exporter = others.iter().find(|other| other.service.name == service)?;
                match exporter.export(export) {
                    Some(client) => Grant::Client(cap.name, client, cap.badge),
                    None => {
                        say(&format!("{service} exports {export}, which is no endpoint"));
                        return Some(Err(UNSTARTED));
                    }
                }
            }
        });
    }
    let spawner = required("process_spawner");
    Some(
        match spawn(spawner, service.name, service.binary, &grants) {
            Ok(child) => {
                let end = Some(child.handle.begin(0, &[], &[]));
                Ok(Started {
                    service,
                    child,
                    end,
                    again: 0,
                })
            }
            Err(failed) => {
                say(&format!("{} cannot be started: {failed:?}", service.name));
                Err(UNSTARTED)
            }
        },
    )
}

/// Starts all, each as soon as what it is given is there. Services that wait for one another never are.
fn start_all<'m>(manifest: &'m Manifest<'m>, started: &mut Vec<Started<'m>>) -> Result<(), i64> {
    let mut left: Vec<&'m Service<'m>> = manifest.services.iter().collect();
    while !left.is_empty() {
        let before = left.len();
        let mut later = Vec::new();
        for service in left {
            match start(service, started) {
                Some(made) => started.push(made?),
                None => later.push(service),
            }
        }
        if later.len() == before {
            let names: Vec<_> = later.iter().map(|service| service.name).collect();
            say(&format!("these wait for one another: {}", names.join(", ")));
            return Err(UNSTARTED);
        }
        left = later;
    }
    Ok(())
}

/// Whether a service that ended with this code is to be started again.
fn is_again(restart: Restart, code: i64, again: u32) -> bool {
    let wanted = match restart {
        Restart::Never => false,
        Restart::OnFailure => code != 0,
        Restart::Always => true,
    };
    wanted && again < AGAIN
}

/// Waits for the ends of all; init's code. What serves for ever ends when nobody is left who could call.
fn wait(manifest: &Manifest<'_>, started: &mut Vec<Started<'_>>) -> i64 {
    let mut worst = 0;
    loop {
        let Some((at, code)) = ended(started) else {
            return worst;
        };
        let (service, again) = (started[at].service, started[at].again);
        if manifest.exit_when_service_exits == Some(service.name) {
            return code;
        }
        if is_again(service.restart, code, again) {
            match start(service, started) {
                Some(Ok(new)) => {
                    let old = core::mem::replace(
                        &mut started[at],
                        Started {
                            again: again + 1,
                            ..new
                        },
                    );
                    let _ = (old.child.handle.release(), old.child.manager.release());
                }
                _ => return UNSTARTED,
            }
            continue;
        }
        if code != 0 {
            say(&format!("{} ended with {code}", service.name));
            worst = 1;
        }
    }
}

/// The next service that has ended, and its code; none where all have.
fn ended(started: &mut [Started<'_>]) -> Option<(usize, i64)> {
    loop {
        let mut is_any = false;
        for (at, one) in started.iter_mut().enumerate() {
            let Some(end) = one.end.take() else {
                continue;
            };
            is_any = true;
            match end.poll() {
                Ok(answer) => {
                    let code = answer.map_or(-1, |answer| answer.u64(0).cast_signed());
                    return Some((at, code));
                }
                Err(waits) => one.end = Some(waits),
            }
        }
        if !is_any {
            return None;
        }
        sys::enter(1, sys::FOR_EVER);
    }
}

fn main() -> i64 {
    let Some(bytes) = manifest() else {
        say("the manifest cannot be read");
        return UNUSABLE;
    };
    let manifest = match Manifest::decode(&bytes) {
        Ok(manifest) => manifest,
        Err(invalid) => {
            say(&format!("the manifest cannot be used: {invalid}"));
            return UNUSABLE;
        }
    };
    let mut started = Vec::new();
    let code = match start_all(&manifest, &mut started) {
        Ok(()) => wait(&manifest, &mut started),
        Err(code) => code,
    };
    // Who still serves is no longer needed.
    for one in started.iter().filter(|one| one.end.is_some()) {
        let _ = one.child.terminate();
    }
    code
}
