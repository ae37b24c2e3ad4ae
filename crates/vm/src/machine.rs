//! The machine that is asked of QEMU: `microvm`, virtio devices and nothing else. No network card, no
//! display, no disk that can be written unless the session has one, no firmware but what finds the kernel.

use crate::accelerator::Accelerator;
use crate::counter;
use std::ffi::OsString;
use std::path::Path;

/// Paths inside of the monitor's own sandbox.
pub(crate) const KERNEL: &str = "/vm/kernel";
/// See [`KERNEL`].
pub(crate) const INITRD: &str = "/vm/initrd";
/// See [`KERNEL`].
pub(crate) const ROOT: &str = "/vm/root";
/// Where the policy's files are that the guest is shown.
pub(crate) const SHARE: &str = "/share";

/// The device behind the port on which the guest asks for these files, as the monitor's control calls it.
pub(crate) const FILES: &str = "files";

/// See [`KERNEL`].
pub(crate) const RAM: &str = "/vm/ram";

/// The session's own disk. See [`KERNEL`].
pub(crate) const DISK: &str = "/vm/disk";

/// Where a machine's memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ram {
    /// In the monitor alone.
    Anonymous,
    /// In the monitor alone, and what is in it comes with the devices' state.
    Loaded,
    /// In a file that is written as the machine writes.
    Written,
    /// In a file that is copied page by page as the machine writes.
    Copied,
}

impl Ram {
    /// Whether the machine goes on from what was saved, and not from its kernel's beginning.
    pub(crate) fn is_restored(self) -> bool {
        matches!(self, Self::Copied | Self::Loaded)
    }
}

/// What a machine is made of.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) accelerator: Accelerator,
    /// Bytes of memory.
    pub(crate) memory: u64,
    /// Processors.
    pub(crate) cpus: u32,
    /// Where the memory lies.
    pub(crate) ram: Ram,
    /// Bytes of the session's own disk, where it has one.
    pub(crate) disk: Option<u64>,
    /// Whether what it writes to its disk goes with it.
    pub(crate) reads_disk: bool,
}

/// The kernel's own words.
pub(crate) fn append(accelerator: Accelerator) -> String {
    // Where mounts and control groups change, the kernel waits until every processor has been seen to do
    // something else: by its own measure until the next ticks, some 50 ms; when it is asked to hurry, some
    // microseconds.
    let mut words = "console=ttyS0 quiet loglevel=3 reboot=t panic=-1 random.trust_cpu=on \
                     rcupdate.rcu_expedited=1"
        .to_owned();
    if accelerator == Accelerator::Tcg {
        // A translation is found by its address: where each process has its programs elsewhere,
        // every one of them is translated anew, which takes six times as long as running it.
        words.push_str(" norandmaps");
        // An idle processor polls for 200 µs before it halts: answers to requests for files come soon, and waking
        // a halted one takes longer (`images/kernel.patch`).
        words.push_str(" halt_poll_us=200");
        // With one processor the kernel would take the locks out of its own code, one by one, in another
        // address space for each: a tenth of its start.
        words.push_str(" noreplace-smp");
        if let Some(clock) = counter::kilohertz() {
            // Else the kernel measures it for a second, or for ever; and compares it with its own ticks, of
            // which a translated machine misses some, takes the ticks for right, and is seconds late after
            // a minute of work.
            words.push_str(&format!(" tsc_early_khz={clock} tsc=reliable"));
        }
    }
    words
}

/// How many processors there are, for QEMU. Where it translates, it takes a machine that can never have
/// more than one for one that nobody else looks at, and leaves out memory barriers (before QEMU 8): the
/// kernel then misses a word of a device's, about once in a hundred starts, and waits for ever. What could
/// have two has its barriers.
fn processors(accelerator: Accelerator, cpus: u32) -> String {
    match (accelerator, cpus) {
        (Accelerator::Tcg, 1) => "1,maxcpus=2".to_owned(),
        (_, cpus) => cpus.to_string(),
    }
}

impl Machine {
    /// The words by which QEMU is started: its stdin is the channel, its stdout its own control, its
    /// stderr the console.
    pub(crate) fn words(&self, qemu: &Path) -> Vec<OsString> {
        let accelerator = match self.accelerator {
            Accelerator::Kvm => "kvm".to_owned(),
            Accelerator::Tcg => "tcg,thread=multi,tb-size=256".to_owned(),
        };
        let cpu = match self.accelerator {
            Accelerator::Kvm => "host",
            // Where a processor says that it copies bytes fast, the kernel clears and copies pages byte by
            // byte, each of which is a turn of a translated loop; else it takes words, eight times as fast.
            Accelerator::Tcg => "max,erms=off",
        };
        let memory = format!("{}M", self.memory >> 20);
        let backend = match self.ram {
            Ram::Anonymous | Ram::Loaded => {
                format!("memory-backend-ram,id=memory,size={memory},share=off")
            }
            Ram::Written => {
                format!("memory-backend-file,id=memory,size={memory},mem-path={RAM},share=on")
            }
            Ram::Copied => {
                format!("memory-backend-file,id=memory,size={memory},mem-path={RAM},share=off")
            }
        };
        let words: Vec<String> = [
            "-M",
            "microvm,x-option-roms=off,pit=off,pic=off,rtc=on,isa-serial=on,acpi=on,memory-backend=memory",
            "-object",
            &backend,
            "-global",
            "virtio-mmio.force-legacy=false",
            // What is saved of the devices alone does not say of which machine they are.
            "-global",
            "migration.send-configuration=off",
            "-accel",
            &accelerator,
            "-cpu",
            cpu,
            "-smp",
            &processors(self.accelerator, self.cpus),
            "-m",
            &memory,
            "-nodefaults",
            "-no-user-config",
            "-display",
            "none",
            "-no-reboot",
            "-sandbox",
            "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
            "-chardev",
            "file,id=console,path=/dev/stderr",
            "-serial",
            "chardev:console",
            "-chardev",
            "socket,id=control,fd=1",
            "-mon",
            "chardev=control,mode=control",
            "-device",
            "virtio-serial-device,max_ports=3",
            "-chardev",
            "socket,id=channel,fd=0",
            "-device",
            "virtserialport,chardev=channel,nr=1,name=bailiwick",
            // Nobody is at its other end before the session has files of the host's.
            "-chardev",
            &format!("null,id={FILES}"),
            "-device",
            &format!("virtserialport,chardev={FILES},nr=2,name=files"),
            "-drive",
            &format!("id=root,file={ROOT},format=raw,if=none,readonly=on,file.locking=off"),
            "-device",
            "virtio-blk-device,drive=root",
        ]
        .map(str::to_owned)
        .into();
        let snapshot = if self.reads_disk { ",snapshot=on" } else { "" };
        let drive = format!(
            "id=disk,file={DISK},format=raw,if=none,file.locking=off,discard=unmap{snapshot}"
        );
        let disk: &[&str] = match self.disk {
            // Where the host has no room the machine's programs hear of it; else the machine would stand still.
            Some(_) => &[
                "-drive",
                &drive,
                "-device",
                "virtio-blk-device,drive=disk,werror=report,rerror=report",
            ],
            None => &[],
        };
        let append = append(self.accelerator);
        // What is restored has its kernel in its memory: QEMU need not hold another.
        let begins: &[&str] = match self.ram.is_restored() {
            true => &["-incoming", "defer", "-S"],
            false => &["-kernel", KERNEL, "-initrd", INITRD, "-append", &append],
        };
        let words = words.into_iter().map(OsString::from);
        let more = disk.iter().chain(begins).map(OsString::from);
        let first = qemu.as_os_str().to_owned();
        [first].into_iter().chain(words).chain(more).collect()
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
