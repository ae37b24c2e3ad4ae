//! The interfaces of the kernel's capabilities, and the sources that a manifest can name.
//!
//! Decision: one table each. An id is what a program trusts a capability to be, so it is written
//! down once, from the published schema (`capos.capnp`), and the conformance tests compare it with
//! what the published crates say.

/// An interface: what methods a capability has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name in the schema.
    pub name: &'static str,
    /// Its id.
    pub id: u64,
    /// The names of its methods, by ordinal.
    pub methods: &'static [&'static str],
}

impl Interface {
    /// The interface of an id.
    pub fn of(id: u64) -> Option<&'static Self> {
        ALL.iter().find(|interface| interface.id == id)
    }

    /// The ordinal of a method.
    pub fn method(&self, name: &str) -> Option<u16> {
        self.methods
            .iter()
            .position(|method| *method == name)
            .map(|ordinal| ordinal as u16)
    }
}

macro_rules! interfaces {
    ($($(#[$doc:meta])* $constant:ident = $name:literal $id:literal [$($method:literal),*];)*) => {
        $($(#[$doc])* pub const $constant: Interface =
            Interface { name: $name, id: $id, methods: &[$($method),*] };)*
        /// All of them.
        pub const ALL: &[Interface] = &[$($constant),*];
    };
}

interfaces! {
    /// Writes to the machine's console.
    CONSOLE = "Console" 0x913a_e022_0246_3262 ["write", "writeLine"];
    /// Starts processes and makes pipes.
    PROCESS_SPAWNER = "ProcessSpawner" 0xc38e_920d_571b_d988 ["spawn", "createPipe"];
    /// Waits for a process or ends it.
    PROCESS_HANDLE = "ProcessHandle" 0xd5b6_eb41_fc32_049b ["wait", "terminate"];
    /// Reads the manifest.
    BOOT_PACKAGE = "BootPackage" 0xf90b_23a1_ce34_df61 ["manifestSize", "readManifest"];
    /// Starts threads in the process.
    THREAD_SPAWNER = "ThreadSpawner" 0xdcdd_6651_f6fd_25b0 ["create"];
    /// Waits for a thread.
    THREAD_HANDLE = "ThreadHandle" 0xd394_558c_d1df_8c83 ["join", "exitCode"];
    /// What a thread may do to itself.
    THREAD_CONTROL = "ThreadControl" 0x8b2f_6272_ccb7_8e32 ["getFsBase", "setFsBase", "exitThread"];
    /// Parks threads by words of the process's memory; no methods.
    PARK_SPACE = "ParkSpace" 0xb520_d669_3ae6_db6f [];
    /// Parks threads by words of a memory object; no methods.
    SHARED_PARK_SPACE = "SharedParkSpace" 0xa729_63b5_8c4b_af63 [];
    /// Tells the time and sleeps.
    TIMER = "Timer" 0x9ac1_5f2e_068e_4b7b ["now", "sleep"];
    /// Receives calls; no methods of its own.
    ENDPOINT = "Endpoint" 0xd5dc_40d9_73e7_5b84 [];
    /// Grants frames as memory objects.
    FRAME_ALLOCATOR = "FrameAllocator" 0x99c5_fd03_46dd_918b ["allocFrame", "allocContiguous"];
    /// Frames that can be mapped.
    MEMORY_OBJECT = "MemoryObject" 0xa6d3_25ad_1360_95be ["info", "map", "unmap", "protect"];
    /// The process's own address space.
    VIRTUAL_MEMORY = "VirtualMemory" 0x8624_6d60_3d6c_b6e5 ["map", "unmap", "protect", "reserve", "commit", "decommit"];
    /// One end of a stream of bytes.
    PIPE = "Pipe" 0xd9e8_60ce_d94a_61ee ["read", "write", "close", "isClosed"];
    /// Lists and revokes what a process holds.
    CAPABILITY_MANAGER = "CapabilityManager" 0xa619_067a_feb1_3801 ["list", "revoke"];
    /// A terminal with input.
    TERMINAL_SESSION = "TerminalSession" 0x9348_4e80_4b83_f366 ["write", "writeLine", "readLine"];
    /// Random bytes.
    ENTROPY_SOURCE = "EntropySource" 0x8f80_6845_9451_57e9 ["fill"];
    /// What the machine is called.
    SYSTEM_INFO = "SystemInfo" 0xfbbd_c602_980c_b986 ["motd", "hostname"];
    /// Measures parking.
    PARK_BENCH = "ParkBench" 0xee87_4571_6391_e35c ["wait", "wake"];
    /// Does nothing, to measure calls. It is not in the schema; the id is its name.
    NULL = "Null" 0x6e75_6c6c_6361_7030 [];
    /// What the processors did, to show what a measured part of a program had to do with the kernel. It is
    /// our own, and not in the schema; the id is its name.
    ACTIVITY = "Activity" 0x6163_7469_7669_7479 ["map"];
}

macro_rules! sources {
    ($($(#[$doc:meta])* $variant:ident = $ordinal:literal $name:literal $interface:ident;)*) => {
        /// What the kernel itself can give to a process.
        ///
        /// The schema has more: networks, devices, storage. A manifest that names one of those
        /// is refused by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum KernelSource {
            $($(#[$doc])* $variant = $ordinal,)*
        }

        impl KernelSource {
            /// All of them, by ordinal.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Its name in a manifest.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// The interface of what it gives.
            pub const fn interface(self) -> Interface {
                match self {
                    $(Self::$variant => $interface,)*
                }
            }
        }
    };
}

sources! {
    /// The machine's console.
    Console = 0 "console" CONSOLE;
    /// A new endpoint.
    Endpoint = 1 "endpoint" ENDPOINT;
    /// Frames of memory.
    FrameAllocator = 2 "frame_allocator" FRAME_ALLOCATOR;
    /// The receiver's own address space.
    VirtualMemory = 3 "virtual_memory" VIRTUAL_MEMORY;
    /// Starting processes.
    ProcessSpawner = 4 "process_spawner" PROCESS_SPAWNER;
    /// The manifest.
    BootPackage = 5 "boot_package" BOOT_PACKAGE;
    /// Random bytes.
    EntropySource = 7 "entropy_source" ENTROPY_SOURCE;
    /// What the machine is called.
    SystemInfo = 12 "system_info" SYSTEM_INFO;
    /// Nothing, to measure calls.
    Null = 13 "null" NULL;
    /// Nothing, to measure parking.
    ParkBench = 14 "park_bench" PARK_BENCH;
    /// Time.
    Timer = 15 "timer" TIMER;
    /// The receiver's own threads, one by one.
    ThreadControl = 16 "thread_control" THREAD_CONTROL;
    /// Starting threads in the receiver.
    ThreadSpawner = 17 "thread_spawner" THREAD_SPAWNER;
    /// Parking the receiver's threads.
    ParkSpace = 18 "park_space" PARK_SPACE;
    /// What the processors did; of ours, behind all ordinals of the schema.
    Activity = 0xa000 "activity" ACTIVITY;
    /// Parking by words of memory objects; the schema has the interface, and no source of it.
    SharedParkSpace = 0xa001 "shared_park_space" SHARED_PARK_SPACE;
}

impl KernelSource {
    /// The source of a name in a manifest.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|source| source.name() == name)
    }

    /// Those that a program is given that the kernel starts itself.
    pub fn granted() -> impl Iterator<Item = Self> {
        let all = Self::ALL.iter().copied();
        all.filter(|source| !source.only_measures())
    }

    /// The one of these with a name.
    pub fn of_grant(name: &str) -> Option<Self> {
        Self::granted().find(|source| source.name() == name)
    }

    /// The source of an ordinal in a spawn grant.
    pub fn of_ordinal(ordinal: u16) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|source| source.ordinal() == ordinal)
    }

    /// Its ordinal in the schema.
    pub const fn ordinal(self) -> u16 {
        self as u16
    }

    /// Whether the published system has it too.
    pub const fn is_published(self) -> bool {
        self.ordinal() < 0xa000
    }

    /// Whether it only serves to measure, and is given to children alone.
    pub const fn only_measures(self) -> bool {
        matches!(self, Self::Null | Self::ParkBench | Self::Activity)
    }

    /// Whether what it gives is the receiver's own address space, and means nothing elsewhere.
    pub const fn bound_to_address_space(self) -> bool {
        matches!(
            self,
            Self::VirtualMemory | Self::ParkSpace | Self::SharedParkSpace
        )
    }
}

#[cfg(test)]
#[path = "interfaces_tests.rs"]
mod tests;
