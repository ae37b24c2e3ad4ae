//! Numbers, layouts and submissions, compared with the published ABI.

use bailiwick_capos_core::interfaces::{self, KernelSource};
use bailiwick_capos_core::{capset, layout, ring};
use capos_config::KernelCapSource as Theirs;
use capos_config::capos_capnp::KernelCapSource as Ordinal;
use capos_config::ring as theirs;
use proptest::prelude::*;

/// The published form of a submission.
fn published(sqe: &ring::Sqe) -> theirs::CapSqe {
    theirs::CapSqe {
        opcode: sqe.opcode,
        flags: sqe.flags,
        method_id: sqe.method_id,
        cap_id: sqe.cap_id,
        user_data: sqe.user_data,
        addr: sqe.addr,
        len: sqe.len,
        result_len: sqe.result_len,
        result_addr: sqe.result_addr,
        pipeline_dep: sqe.pipeline_dep,
        pipeline_field: sqe.pipeline_field,
        xfer_cap_count: sqe.xfer_cap_count,
        call_id: sqe.call_id,
        session_disclosure: sqe.session_disclosure,
    }
}

/// The bytes of a published struct.
fn bytes_of<T: Copy, const N: usize>(value: &T) -> [u8; N] {
    assert_eq!(size_of::<T>(), N);
    let mut bytes = [0; N];
    let from = std::ptr::from_ref(value).cast::<u8>();
    for (offset, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: the offset is within the value, and the structs that this is called with have no
        // padding, so that every byte is initialised.
        *byte = unsafe { from.add(offset).read() };
    }
    bytes
}

#[test]
fn addresses_and_limits_are_the_published_ones() {
    use capos_config::process_layout as place;
    assert_eq!(layout::PAGE, place::USER_PAGE_BYTES);
    assert_eq!(layout::IMAGE_BASE, place::USER_IMAGE_BASE);
    assert_eq!(layout::IMAGE_LIMIT, place::USER_IMAGE_LINK_LIMIT);
    assert_eq!(layout::STACK_BASE, place::USER_STACK_BASE);
    assert_eq!(layout::STACK_PAGES, place::USER_STACK_PAGES);
    assert_eq!(layout::STACK_TOP, place::USER_STACK_TOP);
    assert_eq!(layout::TLS_BASE, place::USER_TLS_REGION_BASE);
    assert_eq!(layout::TLS_LIMIT, place::USER_TLS_REGION_LIMIT);
    assert_eq!(layout::RING, theirs::RING_VADDR);
    assert_eq!(layout::CAPSET, capos_config::capset::CAPSET_VADDR);
    assert_eq!(
        u64::from_le_bytes(capset::MAGIC),
        capos_config::capset::CAPSET_MAGIC
    );
    assert_eq!(capset::VERSION, capos_config::capset::CAPSET_VERSION);
    assert_eq!(capset::ENTRIES, capos_config::capset::CAPSET_MAX_ENTRIES);
    assert_eq!(capset::NAME, capos_config::capset::CAPSET_NAME_MAX);
    assert_eq!(ring::SQES as u32, theirs::SQE_ARRAY_OFFSET);
    assert_eq!(ring::CQES as u32, theirs::CQE_ARRAY_OFFSET);
    assert_eq!(ring::MAX_TRANSFERS, theirs::MAX_TRANSFER_DESCRIPTORS);
    let disclosure = capos_config::ENDPOINT_SESSION_DISCLOSURE_ALLOWED_MASK;
    assert_eq!(ring::DISCLOSURE, disclosure);
}

#[test]
fn an_empty_ring_is_the_published_one() {
    let mut ours = [0xff; 4096];
    ring::init_page(&mut ours);
    let mut header = std::mem::MaybeUninit::<theirs::CapRingHeader>::zeroed();
    // SAFETY: a header of its own size, zeroed and aligned; its fields are all numbers.
    let header = unsafe {
        theirs::init_ring_header(header.as_mut_ptr());
        header.assume_init()
    };
    let words = [
        header.sq_head,
        header.sq_tail,
        header.sq_mask,
        header.sq_entries,
        header.sq_flags,
        header.cq_head,
        header.cq_tail,
        header.cq_mask,
        header.cq_entries,
        header.cq_flags,
        header.cq_overflow,
        header.sqe_offset,
        header.cqe_offset,
    ];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    assert_eq!(ours[..52], bytes);
}

#[test]
fn sources_have_the_published_names_ordinals_and_interfaces() {
    let table = [
        (KernelSource::Console, Theirs::Console, Ordinal::Console),
        (KernelSource::Endpoint, Theirs::Endpoint, Ordinal::Endpoint),
        (
            KernelSource::FrameAllocator,
            Theirs::FrameAllocator,
            Ordinal::FrameAllocator,
        ),
        (
            KernelSource::VirtualMemory,
            Theirs::VirtualMemory,
            Ordinal::VirtualMemory,
        ),
        (
            KernelSource::ProcessSpawner,
            Theirs::ProcessSpawner,
            Ordinal::ProcessSpawner,
        ),
        (
            KernelSource::BootPackage,
            Theirs::BootPackage,
            Ordinal::BootPackage,
        ),
        (
            KernelSource::EntropySource,
            Theirs::EntropySource,
            Ordinal::EntropySource,
        ),
        (
            KernelSource::SystemInfo,
            Theirs::SystemInfo,
            Ordinal::SystemInfo,
        ),
        (KernelSource::Null, Theirs::Null, Ordinal::Null),
        (
            KernelSource::ParkBench,
            Theirs::ParkBench,
            Ordinal::ParkBench,
        ),
        (KernelSource::Timer, Theirs::Timer, Ordinal::Timer),
        (
            KernelSource::ThreadControl,
            Theirs::ThreadControl,
            Ordinal::ThreadControl,
        ),
        (
            KernelSource::ThreadSpawner,
            Theirs::ThreadSpawner,
            Ordinal::ThreadSpawner,
        ),
        (
            KernelSource::ParkSpace,
            Theirs::ParkSpace,
            Ordinal::ParkSpace,
        ),
    ];
    let published = KernelSource::ALL.iter().filter(|own| own.is_published());
    assert_eq!(table.len(), published.count());
    for (ours, theirs, ordinal) in table {
        assert_eq!(ours.name(), theirs.to_string());
        assert_eq!(ours.interface().id, theirs.default_interface_id());
        assert_eq!(ours.ordinal(), ordinal as u16);
    }
}

#[test]
fn interfaces_have_the_published_ids() {
    let table = [
        (interfaces::CONSOLE, capos_config::CONSOLE_INTERFACE_ID),
        (
            interfaces::PROCESS_SPAWNER,
            capos_config::PROCESS_SPAWNER_INTERFACE_ID,
        ),
        (
            interfaces::PROCESS_HANDLE,
            capos_config::PROCESS_HANDLE_INTERFACE_ID,
        ),
        (
            interfaces::BOOT_PACKAGE,
            capos_config::BOOT_PACKAGE_INTERFACE_ID,
        ),
        (
            interfaces::THREAD_SPAWNER,
            capos_config::THREAD_SPAWNER_INTERFACE_ID,
        ),
        (
            interfaces::THREAD_HANDLE,
            capos_config::THREAD_HANDLE_INTERFACE_ID,
        ),
        (
            interfaces::THREAD_CONTROL,
            capos_config::THREAD_CONTROL_INTERFACE_ID,
        ),
        (
            interfaces::PARK_SPACE,
            capos_config::PARK_SPACE_INTERFACE_ID,
        ),
        (
            interfaces::SHARED_PARK_SPACE,
            capos_config::SHARED_PARK_SPACE_INTERFACE_ID,
        ),
        (interfaces::TIMER, capos_config::TIMER_INTERFACE_ID),
        (interfaces::ENDPOINT, capos_config::ENDPOINT_INTERFACE_ID),
        (
            interfaces::FRAME_ALLOCATOR,
            capos_config::FRAME_ALLOCATOR_INTERFACE_ID,
        ),
        (
            interfaces::MEMORY_OBJECT,
            capos_config::MEMORY_OBJECT_INTERFACE_ID,
        ),
        (
            interfaces::VIRTUAL_MEMORY,
            capos_config::VIRTUAL_MEMORY_INTERFACE_ID,
        ),
        (interfaces::PIPE, capos_config::PIPE_INTERFACE_ID),
        (
            interfaces::CAPABILITY_MANAGER,
            capos_config::CAPABILITY_MANAGER_INTERFACE_ID,
        ),
        (
            interfaces::TERMINAL_SESSION,
            capos_config::TERMINAL_SESSION_INTERFACE_ID,
        ),
        (
            interfaces::ENTROPY_SOURCE,
            capos_config::ENTROPY_SOURCE_INTERFACE_ID,
        ),
        (
            interfaces::SYSTEM_INFO,
            capos_config::SYSTEM_INFO_INTERFACE_ID,
        ),
        (
            interfaces::PARK_BENCH,
            capos_config::PARK_BENCH_INTERFACE_ID,
        ),
        (interfaces::NULL, capos_config::NULL_INTERFACE_ID),
    ];
    let is_published = |own: &&interfaces::Interface| **own != interfaces::ACTIVITY;
    assert_eq!(
        table.len(),
        interfaces::ALL.iter().filter(is_published).count()
    );
    for (ours, id) in table {
        assert_eq!(ours.id, id, "{}", ours.name);
    }
}

/// A number that often is zero or small.
fn few<T: Arbitrary + From<u8> + Clone + 'static>() -> impl Strategy<Value = T> {
    prop_oneof![8 => Just(T::from(0)), 2 => (0u8..9).prop_map(T::from), 1 => any::<T>()]
}

fn submissions() -> impl Strategy<Value = ring::Sqe> {
    let opcode = prop_oneof![9 => 0u8..10, 1 => any::<u8>()];
    let flags = prop_oneof![3 => Just(0), 2 => (0u8..8).prop_map(|bit| 1 << bit), 1 => any::<u8>()];
    let first = (
        opcode,
        flags,
        few::<u16>(),
        few::<u32>(),
        few::<u64>(),
        few::<u64>(),
    );
    let second = (
        few::<u32>(),
        few::<u32>(),
        few::<u64>(),
        few::<u64>(),
        few::<u16>(),
    );
    (first, second, few::<u16>(), few::<u32>(), few::<u64>()).prop_map(
        |(a, b, xfer, call, told)| ring::Sqe {
            opcode: a.0,
            flags: a.1,
            method_id: a.2,
            cap_id: a.3,
            user_data: a.4,
            addr: a.5,
            len: b.0,
            result_len: b.1,
            result_addr: b.2,
            pipeline_dep: b.3,
            pipeline_field: b.4,
            xfer_cap_count: xfer,
            call_id: call,
            session_disclosure: told,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50_000))]

    #[test]
    fn a_submission_is_judged_as_published(sqe in submissions()) {
        let reference = published(&sqe);
        prop_assert_eq!(sqe.check(), theirs::sqe_wire_validation_error(&reference));
        let bench = sqe.opcode == ring::op::PARK_BENCH
            && !theirs::park_bench_sqe_has_unsupported_fields(&reference);
        prop_assert_eq!(sqe.check_measuring().is_ok(), bench || sqe.check().is_ok());
        prop_assert_eq!(sqe.to_bytes(), bytes_of::<_, 64>(&reference));
    }

    #[test]
    fn counters_are_judged_as_published(head: u32, ahead in 0u32..40, tail: u32) {
        for tail in [head.wrapping_add(ahead), tail] {
            let submissions = theirs::sq_pending_or_recovery_head(head, tail);
            prop_assert_eq!(ring::pending(head, tail, 16).ok(), submissions.ok());
            let completions = theirs::cq_pending_or_recovery_head(head, tail);
            prop_assert_eq!(ring::pending(head, tail, 32).ok(), completions.ok());
        }
    }

    #[test]
    fn transfers_are_judged_as_published(cap_id: u32, mode in few::<u16>(), reserved in few::<u16>(), addr: u64, len: u32) {
        let descriptor =
            theirs::CapTransferDescriptor { cap_id, transfer_mode: mode, _reserved0: reserved };
        let parsed = ring::Transfer::parse(&bytes_of::<_, 8>(&descriptor));
        prop_assert_eq!(parsed.is_ok(), theirs::is_valid_transfer_descriptor(descriptor));
        prop_assert_eq!(
            ring::transfers_at(addr, len),
            theirs::transfer_descriptor_region_start(addr, len)
        );
    }

    #[test]
    fn answers_are_laid_out_as_published(
        user_data: u64, result: i32, flags: u16, cap_count: u16, badge: u64, call_id: u32
    ) {
        let ours = ring::Cqe { user_data, result, flags, cap_count, badge, call_id };
        let reference = theirs::CapCqe {
            user_data, result, flags, cap_count, badge, call_id, _reserved: 0,
        };
        prop_assert_eq!(ours.to_bytes(), bytes_of::<_, 32>(&reference));
        let ours = ring::TransferResult { cap_id: call_id, interface_id: badge };
        let reference =
            theirs::CapTransferResult { cap_id: call_id, _reserved0: 0, interface_id: badge };
        prop_assert_eq!(ours.to_bytes(), bytes_of::<_, 16>(&reference));
        let ours = ring::MessageHeader {
            interface_id: badge, method_id: flags, flags: cap_count, params_len: call_id,
        };
        prop_assert_eq!(ring::MessageHeader::SIZE, size_of::<theirs::EndpointMessageHeader>());
        let bytes = ours.to_bytes();
        prop_assert_eq!(&bytes[8..10], &flags.to_le_bytes());
        prop_assert_eq!(&bytes[12..16], &call_id.to_le_bytes());
    }
}
