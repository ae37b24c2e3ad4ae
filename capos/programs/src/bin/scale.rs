//! The coordinator of the scaling proof: starts as many workers as the kernel counts processors, tells each
//! its part, verifies what they found, and tells how long each took and what the kernel did meanwhile.
//!
//! What is to be done it knows by the names of what it holds: `hash`, `nops` or `pairs`, else primes are
//! counted; with `threads` the workers are threads of one process.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::message::Message;
use bailiwick_capos_core::work::{self, hash};
use bailiwick_capos_programs::memory::object;
use bailiwick_capos_programs::processors;
use bailiwick_capos_programs::scale::{
    ASK, CALLS, Counters, Found, GRANTS, HASHES, NOPS, RESULT, Workload,
};
use bailiwick_capos_rt::call::{Cap, Failed, Received, numbers_message};
use bailiwick_capos_rt::caps::{Child, Grant, spawn};
use bailiwick_capos_rt::{entry, held, required};

entry!(main);

/// Bytes that a worker's hashes need.
const ROOM: usize = 32 * 1024;

/// What was told.
struct Told {
    found: Vec<Option<Found>>,
    hashes: Vec<Vec<[u8; 32]>>,
    activity: Counters,
}

impl Told {
    fn take(&mut self, call: &Received) -> Option<()> {
        let message = Message::parse(&call.params).ok()?;
        let root = message.root().ok()?;
        let index = root.u64(0) as usize;
        match call.method {
            RESULT => {
                *self.found.get_mut(index)? = Some(Found {
                    count: root.u64(8),
                    sum: root.u64(16),
                    ticks: root.u64(24),
                });
                for (at, place) in self.activity.iter_mut().enumerate() {
                    *place += root.u64(32 + 8 * at);
                }
            }
            HASHES => {
                let (hashes, _) = root.data(0).ok()?.as_chunks::<32>();
                *self.hashes.get_mut(index)? = hashes.to_vec();
            }
            _ => {}
        }
        Some(())
    }

    fn is_complete(&self) -> bool {
        self.found.iter().all(Option::is_some)
    }
}

/// What is to be done, by how many, as what.
struct Plan {
    workload: Workload,
    workers: u64,
    has_threads: bool,
}

impl Plan {
    fn of_what_is_held() -> Self {
        let named = |workload: &Workload| held(workload.name()).is_some();
        let workload = Workload::ALL.into_iter().find(named);
        Self {
            workload: workload.unwrap_or(Workload::Primes),
            workers: processors() as u64,
            has_threads: held("threads").is_some(),
        }
    }

    /// Starts the workers, and where they work in pairs their servers.
    fn start(&self, gate: Cap, board: Cap) -> Result<(Vec<Child>, Vec<Child>), Failed> {
        let (mut workers, mut servers) = (Vec::new(), Vec::new());
        let processes = if self.has_threads { 1 } else { self.workers };
        let spawner = required("process_spawner");
        for index in 0..processes {
            let mut grants = vec![
                Grant::Client("gate", gate, index + 1),
                Grant::Copy("board", board),
            ];
            grants.extend(GRANTS);
            if self.workload == Workload::Pairs {
                let serves = [Grant::Kernel("serve", KernelSource::Endpoint)];
                let server = spawn(spawner, &format!("server-{index}"), "worker", &serves)?;
                let clients = server.clients.iter();
                grants.extend(clients.map(|client| Grant::Client("server", *client, 0)));
                servers.push(server);
            }
            let name = format!("worker-{index}");
            workers.push(spawn(spawner, &name, "worker", &grants)?);
        }
        Ok((workers, servers))
    }

    /// What a worker is told that asks.
    fn part(&self, badge: u64) -> Vec<u8> {
        let number = Workload::ALL.iter().position(|each| *each == self.workload);
        let number = number.unwrap_or_default() as u64;
        numbers_message(&[number, badge - 1, self.has_threads.into(), self.workers])
    }

    /// Hears what the workers found.
    fn hear(&self, gate: Cap) -> Result<Told, Failed> {
        let workers = self.workers as usize;
        let mut told = Told {
            found: vec![None; workers],
            hashes: vec![Vec::new(); workers],
            activity: Counters::default(),
        };
        while !told.is_complete() {
            let call = gate.receive_in(ROOM)?;
            let answer = match call.method {
                ASK => self.part(call.badge),
                _ => {
                    told.take(&call);
                    Vec::new()
                }
            };
            gate.answer(call.call, &answer, &[]);
        }
        Ok(told)
    }

    /// Whether all of it is right; with the root of the hashes.
    fn verify(&self, count: u64, sum: u64, hashes: &[Vec<[u8; 32]>]) -> (bool, String) {
        let none = || String::from("-");
        match self.workload {
            Workload::Primes => (count == work::COUNT && sum == work::CHECKSUM, none()),
            Workload::Hash => {
                let root = hash::root(&hashes.concat());
                let is_right = count == u64::from(hash::CHUNKS) && root == hash::ROOT;
                (
                    is_right,
                    root.iter().map(|byte| format!("{byte:02x}")).collect(),
                )
            }
            Workload::Nops => (count == self.workers * NOPS, none()),
            Workload::Pairs => {
                let each = CALLS * (CALLS + 1) / 2;
                let is_right = count == self.workers * CALLS && sum == self.workers * each;
                (is_right, none())
            }
        }
    }

    fn say(&self, told: &Told) -> bool {
        let found: Vec<Found> = told.found.iter().flatten().copied().collect();
        let count = found.iter().map(|found| found.count).sum();
        let sum = found.iter().map(|found| found.sum).sum();
        let slowest = found.iter().map(|found| found.ticks).max();
        let each: Vec<String> = found
            .iter()
            .map(|found| format!("{}", found.ticks))
            .collect();
        let (is_right, root) = self.verify(count, sum, &told.hashes);
        let [locks, interrupts, timers, switches, calls] = told.activity;
        let line = format!(
            "scale: workload={} variant={} workers={} cpus={} verified={is_right} count={count} \
             checksum={sum} root={root} elapsed={} each={} locks={locks} ipis={interrupts} \
             timer={timers} switches={switches} calls={calls}",
            self.workload.name(),
            if self.has_threads {
                "thread"
            } else {
                "process"
            },
            found.len(),
            processors(),
            slowest.unwrap_or_default(),
            each.join(","),
        );
        let _ = required("console").write_line(&line);
        is_right
    }
}

fn run(plan: &Plan) -> Result<bool, Failed> {
    let gate = required("endpoint");
    let (workers, servers) = plan.start(gate, object(1)?)?;
    let told = plan.hear(gate)?;
    let mut is_right = plan.say(&told);
    for worker in &workers {
        is_right &= worker.wait()? == 0;
    }
    for server in &servers {
        for client in &server.clients {
            let _ = client.call(1, &numbers_message(&[0]));
        }
        is_right &= server.wait()? == 0;
    }
    Ok(is_right)
}

fn main() -> i64 {
    let plan = Plan::of_what_is_held();
    match run(&plan) {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(failed) => {
            let _ = required("console").write_line(&format!("scale: FAILED: {failed:?}"));
            2
        }
    }
}
