//! Makes processes from the programs of the manifest, with what whoever calls grants them: of what it
//! holds, or of the kernel's own. It is the most that a program can be given, and init alone has it unless
//! it passes it on.

use super::capability_manager::CapabilityManager;
use super::pipe;
use super::process_handle::ProcessHandle;
use super::sources;
use super::{Begins, with_params, with_params_to_begin};
use crate::call::{Call, Exception, Reply};
use crate::hold::{Facet, Hold, Object, Passing};
use crate::options;
use crate::process::{Process, Unmade};
use crate::submit::Sent;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use bailiwick_capos_core::capset;
use bailiwick_capos_core::interfaces::{self, KernelSource};
use bailiwick_capos_core::message::{Malformed, Struct};
use bailiwick_capos_core::ring::{Mode, Transfer};

/// Names of processes and capabilities are no longer, in bytes.
const NAME: usize = 32;

/// The modes of a grant (schema: `CapGrantMode`).
const RAW: u16 = 0;
const CLIENT: u16 = 1;
const MOVE: u16 = 2;
const SERVICE: u16 = 3;

/// The spawner.
pub(crate) struct ProcessSpawner;

/// What is granted, as it is told.
struct Grant {
    name: String,
    cap_id: u32,
    interface: u64,
    mode: u16,
    badge: u64,
    source: Option<u16>,
}

impl Grant {
    fn read(grant: &Struct<'_, '_>) -> Result<Self, Malformed> {
        let source = grant.child(1)?;
        Ok(Self {
            // One that is too long is not copied, and refused as an empty one is.
            name: Some(grant.text(0)?)
                .filter(|name| name.len() <= NAME)
                .unwrap_or_default()
                .into(),
            cap_id: grant.u32(0),
            mode: grant.u16(4),
            interface: grant.u64(8),
            badge: grant.u64(16),
            source: (source.u16(0) == 1).then(|| source.u16(2)),
        })
    }
}

fn invalid(why: &str) -> Reply {
    Reply::raised(Exception::InvalidArgument, why)
}

/// What one grant gives the child, and what the parent has of it.
fn granted(process: &Process, grant: &Grant) -> Result<(Hold, Option<Hold>), Reply> {
    if let Some(ordinal) = grant.source {
        let source = KernelSource::of_ordinal(ordinal);
        let hold = source.and_then(sources::hold);
        let hold = hold.ok_or_else(|| invalid("the kernel gives no such capability"))?;
        // An endpoint of the child's own: who had it made calls it, and says by badges who else does.
        let facet = match grant.badge {
            0 => Facet::Maker,
            _ => Facet::Client,
        };
        let client = hold.object.as_endpoint().map(|_| Hold {
            facet,
            badge: grant.badge,
            ..hold.clone()
        });
        return Ok((hold, client));
    }
    let hold = process
        .hold(grant.cap_id)
        .ok_or_else(|| invalid("nothing is held by this id"))?;
    let is_endpoint = hold.object.as_endpoint().is_some();
    match grant.mode {
        RAW if hold.passing == Passing::Copy && (!is_endpoint || grant.badge == 0) => {
            Ok((hold, None))
        }
        MOVE if hold.passing != Passing::Never => Ok((hold, None)),
        CLIENT if is_endpoint && hold.passing == Passing::Copy => {
            // A badge says through whom a call came: who has one cannot take another.
            let badge = match (hold.badge, hold.facet) {
                (0, Facet::Whole | Facet::Maker) => grant.badge,
                (badge, _) if grant.badge == 0 || grant.badge == badge => badge,
                _ => return Err(invalid("a badge cannot be changed")),
            };
            let client = Hold {
                facet: Facet::Client,
                badge,
                ..hold
            };
            Ok((client, None))
        }
        SERVICE if is_endpoint && hold.facet == Facet::Whole && hold.passing == Passing::Copy => {
            Ok((hold, None))
        }
        RAW | CLIENT | MOVE | SERVICE => Err(invalid("this capability is not granted in this way")),
        _ => Err(invalid("there is no such way to grant")),
    }
}

fn spawn(
    params: &Struct<'_, '_>,
    parent: &Arc<Process>,
) -> Result<Result<(Reply, Begins), Reply>, Malformed> {
    let (name, binary) = (params.text(0)?, params.text(1)?);
    let list = params.list(2)?;
    // Before any of it is copied.
    if list.len() > capset::ENTRIES {
        let why = "more capabilities are granted than a process can be told of";
        return Ok(Err(invalid(why)));
    }
    let grants: Result<Vec<_>, _> = list.iter().map(|g| Grant::read(&g)).collect();
    Ok(made(name, binary, &grants?, parent))
}

fn made(
    name: &str,
    binary: &str,
    grants: &[Grant],
    parent: &Arc<Process>,
) -> Result<(Reply, Begins), Reply> {
    // The kernel tells it where it speaks for itself.
    let is_told = |byte: u8| byte.is_ascii_graphic();
    if name.is_empty() || name.len() > NAME || !name.bytes().all(is_told) {
        let why = "the process's name is not 1 to 32 visible characters of ASCII";
        return Err(invalid(why));
    }
    let file = options::binary(binary).ok_or_else(|| invalid("there is no such program"))?;
    let mut holds = Vec::new();
    let mut clients = Vec::new();
    let mut moved = Vec::new();
    for (at, grant) in grants.iter().enumerate() {
        let is_again = grants
            .iter()
            .take(at)
            .any(|before| before.name == grant.name);
        if grant.name.is_empty() || is_again {
            return Err(invalid("a grant's name is empty, too long, or there twice"));
        }
        let (hold, client) = granted(parent, grant)?;
        if grant.interface != 0 && grant.interface != hold.interface() {
            return Err(invalid("a granted capability has another interface"));
        }
        if grant.source.is_none() && grant.mode == MOVE {
            moved.push(Transfer {
                cap_id: grant.cap_id,
                mode: Mode::Move,
            });
        }
        holds.push((grant.name.clone(), hold));
        clients.extend(client);
    }
    // Taken from the parent now, and given back should anything fail.
    let sent = Sent::take(parent, &moved).map_err(|_| invalid("a capability cannot be moved"))?;
    if parent.table.lock().room() < 2 + clients.len() {
        let why = "the process holds as much as it may";
        return Err(Reply::raised(Exception::Overloaded, why));
    }
    let (child, thread) = Process::make(name, file, holds).map_err(|error| match error {
        Unmade::Memory => {
            Reply::raised(Exception::Overloaded, "there is no memory for the process")
        }
        Unmade::TooMany => {
            let why = "the machine has as many processes as it may have";
            Reply::raised(Exception::Overloaded, why)
        }
        Unmade::Image => invalid("the program's file cannot be loaded"),
        Unmade::Capabilities => invalid("there are too many capabilities, or a name is too long"),
    })?;
    let handle = Hold::own(Arc::new(ProcessHandle {
        process: Arc::downgrade(&child),
        exit: child.exit.clone(),
    }));
    let manager = Hold::own(Arc::new(CapabilityManager(Arc::downgrade(&child))));
    let mut results = vec![handle, manager];
    results.extend(clients);
    Ok((Reply::capabilities_of(results, 2), Begins { thread, sent }))
}

impl Object for ProcessSpawner {
    fn interface(&self) -> u64 {
        interfaces::PROCESS_SPAWNER.id
    }

    fn label(&self) -> &'static str {
        "process spawner"
    }

    fn call(&self, call: Call) {
        match call.method {
            0 => with_params_to_begin(call, |params, call| spawn(params, &call.process)),
            1 => with_params(call, |params, call| {
                let size = params.u32(0);
                if size == 0 || size > pipe::MOST {
                    return Ok(invalid("a pipe's buffer has 1 to 65,536 bytes"));
                }
                let pair = pipe::pair(&call.process, size);
                Ok(pair.map_or_else(
                    || {
                        let why = "the process has as many bytes in pipes as it may have";
                        Reply::raised(Exception::Overloaded, why)
                    },
                    |ends| Reply::capabilities(ends.into()),
                ))
            }),
            _ => call.answer(Reply::no_method()),
        }
    }
}
