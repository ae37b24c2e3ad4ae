//! Capabilities that a manifest, or whoever may make processes, takes from the kernel itself, by their names.

use super::activity::Activity;
use super::boot_package::BootPackage;
use super::console::Console;
use super::endpoint::Endpoint;
use super::entropy_source::EntropySource;
use super::frame_allocator::FrameAllocator;
use super::null::Null;
use super::park_bench::ParkBench;
use super::park_space::{ParkSpace, SharedParkSpace};
use super::process_spawner::ProcessSpawner;
use super::system_info::SystemInfo;
use super::thread_control::ThreadControl;
use super::thread_spawner::ThreadSpawner;
use super::timer::Timer;
use super::virtual_memory::VirtualMemory;
use crate::hold::{Hold, Object};
use crate::options;
use alloc::sync::Arc;
use bailiwick_capos_core::interfaces::KernelSource;

/// Makes one; none where this kernel does not give it.
pub(crate) fn hold(source: KernelSource) -> Option<Hold> {
    // What acts on the process that holds it means another one in another's hands.
    let own = |object: Arc<dyn Object>| Some(Hold::own(object));
    let open = |object: Arc<dyn Object>| Some(Hold::open(object));
    match source {
        KernelSource::Console => own(Arc::new(Console)),
        KernelSource::Endpoint => open(Arc::new(Endpoint::new())),
        KernelSource::FrameAllocator => own(Arc::new(FrameAllocator)),
        KernelSource::VirtualMemory => own(Arc::new(VirtualMemory)),
        KernelSource::ProcessSpawner => own(Arc::new(ProcessSpawner)),
        KernelSource::BootPackage => open(Arc::new(BootPackage(options::manifest()))),
        KernelSource::EntropySource => open(Arc::new(EntropySource)),
        KernelSource::SystemInfo => open(Arc::new(SystemInfo)),
        KernelSource::Null => open(Arc::new(Null)),
        KernelSource::Timer => open(Arc::new(Timer)),
        KernelSource::ThreadControl => own(Arc::new(ThreadControl)),
        KernelSource::ThreadSpawner => own(Arc::new(ThreadSpawner)),
        KernelSource::ParkSpace => own(Arc::new(ParkSpace)),
        KernelSource::Activity => own(Arc::new(Activity)),
        KernelSource::SharedParkSpace => own(Arc::new(SharedParkSpace)),
        KernelSource::ParkBench => open(Arc::new(ParkBench::new())),
    }
}
