//! What pid 1 is told about the sandbox that it builds. It is forked before the policy is read, so
//! that all of it comes as one message; a message larger than a packet is an anonymous file.

use crate::bare::Bare;
use crate::broker::Rules;
use crate::identity::Identity;
use crate::limits::Bounds;
use crate::monitor;
use crate::network;
use crate::plan::Plan;
use crate::programs::Programs;
use crate::skeleton::Skeleton;
use crate::switches::{Layer, without};
use bailiwick_event::Failure;
use bailiwick_gate::PROXY_PORT;
use bailiwick_policy::{Effective, ProtectAbsent};
pub(crate) use bailiwick_sandbox::packet::{pack, raw, raw_list, unpack, unpack_command};
use bailiwick_sandbox::{Invocation, Launch};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The sandbox and the command that starts in it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetUp {
    pub(crate) plan: Plan,
    pub(crate) skeleton: Skeleton,
    pub(crate) bounds: Bounds,
    /// What the write broker decides by; none where there is no broker.
    pub(crate) rules: Option<Rules>,
    /// Ports of the host's loopback that can be reached.
    pub(crate) loopback: Vec<u16>,
    /// The owners on disk whose idmappings come with [`crate::message::Order::Owners`], in that order.
    pub(crate) owners: BTreeSet<(u32, u32)>,
    /// What starts as soon as it may; none in a sandbox that waits for its command.
    pub(crate) command: Option<Command>,
    /// Whether other commands may enter it.
    pub(crate) open: bool,
    /// What a sandbox without namespaces needs; none where it must have them.
    pub(crate) bare: Option<Bare>,
    /// Whether Landlock may be missing.
    pub(crate) without_landlock: bool,
    /// Whether the system-call filter may be missing.
    pub(crate) without_seccomp: bool,
    /// Which of the standard streams come with the message.
    pub(crate) streams: [bool; 3],
}

/// The ports of the host's loopback that lead out of the sandbox.
fn loopback(policy: &Effective) -> Result<Vec<u16>, Failure> {
    let ports = bailiwick_policy::network::loopback_ports(&policy.network);
    match ports.contains(&PROXY_PORT) {
        true => Err(Failure::usage(format!(
            "not started: the policy opens localhost:{PROXY_PORT}, where every sandbox has its own \
             proxy\n  remedy: have the service listen at another port"
        ))),
        false => Ok(ports),
    }
}

impl SetUp {
    /// What a launch needs here and now. `scratch` is the folder for temporary files of a sandbox
    /// without namespaces.
    pub(crate) fn of(
        launch: &Launch<'_>,
        identity: Identity,
        scratch: Option<&Path>,
    ) -> Result<Self, Failure> {
        let policy = launch.policy;
        let dispensable = |layer: &str| launch.best_effort || !policy.requires(layer);
        let host: Vec<PathBuf> = Plan::writable_on_host(policy).collect();
        let enforced =
            policy.filesystem.protect_absent() == ProtectAbsent::Enforce && !without(Layer::Broker);
        let mut rules = enforced.then(|| Rules::of(policy, &host));
        let root = identity.is_by_root() && !without(Layer::Identity);
        let mut plan = Plan::new(policy, launch.private, root, rules.as_ref())?;
        plan.notices.extend(rules.as_ref().and_then(Rules::told));
        plan.notices
            .extend(rules.as_ref().and_then(Rules::told_of_place));
        if let Some(rules) = rules.as_mut().filter(|_| plan.may_be_replaced(policy)) {
            rules.keep_from_reading(policy);
        }
        if let Some(rules) = &mut rules {
            rules.deny_elsewhere(policy, plan.denied_elsewhere());
        }
        let skeleton = match &launch.monitor {
            None => Skeleton::new(policy, identity, launch.trust),
            Some(monitor) => {
                let placed = monitor::place(&mut plan, rules, monitor, policy, root)?;
                // A template is opened by the broker, whatever the policy wants of that.
                rules = (!without(Layer::Broker)).then_some(placed);
                Skeleton::of_monitor(identity)
            }
        };
        let bounds = match without(Layer::Limits) {
            true => Bounds::default(),
            false => Bounds::from(&policy.limits),
        };
        let bare = match scratch {
            None => None,
            Some(scratch) => Some(Bare {
                scratch: scratch.to_path_buf(),
                network: network::grants_any(&policy.network),
                programs: Programs::of(&plan, policy)?,
            }),
        };
        if let Some(bare) = &bare {
            let own = plan.private_folders().chain([bare.scratch.clone()]);
            let host = &host;
            rules = (!without(Layer::Broker))
                .then(|| Rules::without_mounts(policy, host, own.collect(), &plan.pinned));
            if let Some(rules) = &mut rules {
                rules.deny_elsewhere(policy, plan.denied_elsewhere());
            }
        }
        if let Some(rules) = &mut rules {
            rules.seeing(plan.seen().collect());
            // The folder of this workspace lies in that of all of them.
            if let Some(own) = launch.private.ancestors().nth(2) {
                rules.beside(own);
            }
        }
        Ok(Self {
            skeleton,
            bounds,
            rules,
            loopback: loopback(policy)?,
            owners: BTreeSet::new(),
            command: launch.command.as_ref().map(Command::from),
            open: launch.open,
            plan,
            bare,
            without_landlock: dispensable("landlock"),
            without_seccomp: dispensable("seccomp"),
            streams: launch.streams.map(|stream| stream.is_some()),
        })
    }

    /// Whether calls of `connect` are made for its commands.
    pub(crate) fn connects(&self) -> bool {
        self.bare.as_ref().is_some_and(|bare| bare.network)
    }
}

/// A command, complete.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Command {
    /// Its words; not empty.
    pub(crate) argv: Vec<OsString>,
    /// The folder in which it starts.
    #[serde(with = "raw")]
    pub(crate) cwd: PathBuf,
    /// Its whole environment.
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl From<&Invocation<'_>> for Command {
    fn from(invocation: &Invocation<'_>) -> Self {
        Self {
            argv: invocation.argv.to_vec(),
            cwd: invocation.cwd.to_path_buf(),
            environment: environment(invocation),
        }
    }
}

/// The command's variables.
fn environment(invocation: &Invocation<'_>) -> Vec<(OsString, OsString)> {
    let mut all = invocation.environment.to_vec();
    if without(Layer::Environment) {
        all.extend(std::env::vars_os());
    }
    all
}

#[cfg(test)]
#[path = "setup_tests.rs"]
mod tests;
