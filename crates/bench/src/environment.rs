//! The machine that a figure was taken on. A time means nothing without it, and a field that the
//! machine does not tell is written as such instead of being left out, so that a gap is seen.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// What is known about the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Environment {
    pub host: String,
    pub kernel: String,
    pub architecture: String,
    pub cpu_model: String,
    pub cpus: usize,
    /// `cpu N: package P, core C`, for each online CPU.
    pub topology: Vec<String>,
    /// `on`, `off`, or what the kernel says.
    pub smt: String,
    pub governor: String,
    pub ram_bytes: u64,
    /// The hypervisor, or `none`.
    pub virtualisation: String,
    /// What isolates CPUs for the measurement, or `none`.
    pub isolation: String,
    /// What guests run on. Process sandboxes run on the host's kernel and use none.
    pub accelerator: String,
    /// `local-kvm`, `local-tcg`, `nested` or `cloud-direct`.
    pub class: String,
    /// Vendor, product and firmware, where the machine tells.
    pub machine: BTreeMap<String, String>,
    pub user_id: u32,
    /// The kind of file system that the workspace lies on.
    pub workspace_filesystem: String,
    /// What that lies on: a device, or what a file system without one calls its source.
    #[serde(default)]
    pub workspace_device: String,
    /// `/proc/loadavg` before the first run.
    pub load_before: String,
    /// The same after the last.
    pub load_after: String,
    /// Versions of the programs that the rows run.
    pub tools: BTreeMap<String, String>,
}

const UNKNOWN: &str = "unknown";

impl Environment {
    /// Looks at the machine, before the first run. What is not known until the workspace exists
    /// or the last run has ended is empty.
    pub(crate) fn observe() -> Self {
        let cpuinfo = read("/proc/cpuinfo");
        let machine = machine();
        let virtualisation = virtualisation(&cpuinfo, &machine);
        Self {
            host: read("/proc/sys/kernel/hostname"),
            kernel: format!(
                "{} {}",
                read("/proc/sys/kernel/osrelease"),
                read("/proc/sys/kernel/version")
            ),
            architecture: std::env::consts::ARCH.to_owned(),
            cpu_model: field(&cpuinfo, "model name").unwrap_or_else(|| UNKNOWN.to_owned()),
            cpus: cpus(),
            topology: topology(),
            smt: match read("/sys/devices/system/cpu/smt/active").as_str() {
                "0" => "off".to_owned(),
                "1" => "on".to_owned(),
                other => other.to_owned(),
            },
            governor: governor(),
            ram_bytes: field(&read("/proc/meminfo"), "MemTotal")
                .and_then(|text| text.split(' ').next()?.parse::<u64>().ok())
                .map_or(0, |kib| kib * 1024),
            class: class(&virtualisation, &machine).to_owned(),
            virtualisation,
            isolation: isolation(),
            accelerator: "none: a process sandbox runs on the host's kernel".to_owned(),
            machine,
            user_id: rustix::process::getuid().as_raw(),
            workspace_filesystem: String::new(),
            workspace_device: String::new(),
            load_before: load(),
            load_after: String::new(),
            tools: BTreeMap::new(),
        }
    }

    /// The one-minute load average before the start, per CPU; infinite where it is unknown, so
    /// that nothing passes on a machine about which nothing is known.
    pub(crate) fn load_per_cpu(&self) -> f64 {
        self.load_before
            .split(' ')
            .next()
            .and_then(|text| text.parse::<f64>().ok())
            .map_or(f64::INFINITY, |load| load / self.cpus.max(1) as f64)
    }

    /// Whether times, and not only factors, can be compared.
    pub(crate) fn is_same_machine(&self, other: &Self) -> bool {
        let key = |e: &Self| {
            (
                e.host.clone(),
                e.cpu_model.clone(),
                e.cpus,
                e.ram_bytes >> 28,
                e.virtualisation.clone(),
                e.accelerator.clone(),
                e.class.clone(),
            )
        };
        key(self) == key(other)
    }
}

/// The kind of the file system that `path` lies on.
pub(crate) fn filesystem_of(path: &Path) -> String {
    mounted(&read("/proc/self/mountinfo"), path, 0)
}

/// The device of it, or what stands in a device's place.
pub(crate) fn device_of(path: &Path) -> String {
    mounted(&read("/proc/self/mountinfo"), path, 1)
}

/// `/proc/loadavg`.
pub(crate) fn load() -> String {
    read("/proc/loadavg")
}

fn read(path: &str) -> String {
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => UNKNOWN.to_owned(),
    }
}

fn field(text: &str, name: &str) -> Option<String> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim().to_owned())
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn topology() -> Vec<String> {
    let mut cpus: Vec<(usize, String)> = fs::read_dir("/sys/devices/system/cpu")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let n: usize = name.strip_prefix("cpu")?.parse().ok()?;
            let at = |file: &str| read(&format!("{}/topology/{file}", entry.path().display()));
            let place = format!(
                "cpu {n}: package {}, core {}, siblings {}",
                at("physical_package_id"),
                at("core_id"),
                at("thread_siblings_list")
            );
            Some((n, place))
        })
        .collect();
    cpus.sort();
    cpus.into_iter().map(|(_, place)| place).collect()
}

fn governor() -> String {
    let path = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    match Path::new(path).exists() {
        true => read(path),
        false => "none: the machine shows no frequency scaling".to_owned(),
    }
}

fn machine() -> BTreeMap<String, String> {
    [
        "sys_vendor",
        "product_name",
        "bios_vendor",
        "bios_version",
        "chassis_asset_tag",
    ]
    .into_iter()
    .map(|name| (name, read(&format!("/sys/class/dmi/id/{name}"))))
    .filter(|(_, value)| value != UNKNOWN)
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

fn virtualisation(cpuinfo: &str, machine: &BTreeMap<String, String>) -> String {
    let guest = field(cpuinfo, "flags").is_some_and(|f| f.split(' ').any(|w| w == "hypervisor"));
    let kind = read("/sys/hypervisor/type");
    match (guest, machine.get("sys_vendor")) {
        _ if kind != UNKNOWN => kind,
        (true, Some(vendor)) => format!("a hypervisor; the machine says {vendor}"),
        (true, None) => "a hypervisor that does not name itself".to_owned(),
        (false, _) => "none".to_owned(),
    }
}

/// A process sandbox runs where the bench runs: on a cloud's machine, in some other virtual
/// machine, or on hardware; there the class says what a guest beside it could run on.
fn class(virtualisation: &str, machine: &BTreeMap<String, String>) -> &'static str {
    const CLOUDS: [&str; 6] = [
        "Amazon EC2",
        "Google",
        "Microsoft Corporation",
        "DigitalOcean",
        "Hetzner",
        "Alibaba Cloud",
    ];
    let vendor = machine.get("sys_vendor").map(String::as_str);
    match virtualisation {
        "none" if Path::new("/dev/kvm").exists() => "local-kvm",
        "none" => "local-tcg",
        _ if vendor.is_some_and(|v| CLOUDS.contains(&v)) => "cloud-direct",
        _ => "nested",
    }
}

fn isolation() -> String {
    let mut found = Vec::new();
    let isolated = read("/sys/devices/system/cpu/isolated");
    if isolated != UNKNOWN {
        found.push(format!("isolated CPUs {isolated}"));
    }
    let line = read("/proc/cmdline");
    for option in ["isolcpus=", "nohz_full=", "rcu_nocbs="] {
        found.extend(
            line.split(' ')
                .filter(|w| w.starts_with(option))
                .map(str::to_owned),
        );
    }
    let allowed = field(&read("/proc/self/status"), "Cpus_allowed_list");
    let online = read("/sys/devices/system/cpu/online");
    if let Some(allowed) = allowed.filter(|allowed| *allowed != online) {
        found.push(format!("cpuset {allowed} of {online}"));
    }
    match found.is_empty() {
        true => "none".to_owned(),
        false => found.join("; "),
    }
}

/// Of the mount with the longest path that `path` lies below, and of several the last, the word with
/// this number behind the dash (proc_pid_mountinfo(5)).
fn mounted(mountinfo: &str, path: &Path, word: usize) -> String {
    mountinfo
        .lines()
        .filter_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let at = before.split(' ').nth(4)?;
            let found = after.split(' ').nth(word)?;
            path.starts_with(at).then_some((at.len(), found))
        })
        .fold((0, UNKNOWN), |best, found| match found.0 >= best.0 {
            true => found,
            false => best,
        })
        .1
        .to_owned()
}

#[cfg(test)]
#[path = "environment_tests.rs"]
mod tests;
