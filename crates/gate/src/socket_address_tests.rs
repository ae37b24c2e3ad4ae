use super::*;
use proptest::prelude::*;
use std::net::TcpListener;
use std::os::fd::AsRawFd;

fn v4(ip: [u8; 4], port: u16) -> Vec<u8> {
    let mut bytes = (libc::AF_INET as u16).to_ne_bytes().to_vec();
    bytes.extend(port.to_be_bytes());
    bytes.extend(ip);
    bytes.extend([0; 8]);
    bytes
}

fn v6(ip: [u8; 16], port: u16, rest: [u8; 4]) -> Vec<u8> {
    let mut bytes = (libc::AF_INET6 as u16).to_ne_bytes().to_vec();
    bytes.extend(port.to_be_bytes());
    bytes.extend(rest);
    bytes.extend(ip);
    bytes
}

proptest! {
    #[test]
    fn every_address_is_read_as_it_was_written(
        four: [u8; 4], six: [u8; 16], port: u16, flow: [u8; 4], after: Vec<u8>,
    ) {
        let four_bytes = [v4(four, port), after.clone()].concat();
        let shown = match four { [0, 0, 0, 0] => [127, 0, 0, 1], other => other };
        prop_assert_eq!(read(Family::V4, &four_bytes), Ok(SocketAddr::new(shown.into(), port)));
        prop_assert_eq!(read(Family::V6, &four_bytes), Err(Errno::AFNOSUPPORT));
        let six_bytes = [v6(six, port, flow), after].concat();
        let wanted = IpAddr::from(six).to_canonical();
        if !wanted.is_unspecified() {
            prop_assert_eq!(read(Family::V6, &six_bytes), Ok(SocketAddr::new(wanted, port)));
        }
        prop_assert_eq!(read(Family::V4, &six_bytes), Err(Errno::AFNOSUPPORT));
    }

    /// Whatever the bytes: an answer, never for another family or from too few bytes, and the
    /// kernel's own where it refuses what it is shown.
    #[test]
    fn what_the_kernel_refuses_to_read_is_refused_with_its_error(
        mut bytes in prop::collection::vec(any::<u8>(), 0..128),
        known in prop::option::of(prop::sample::select(vec![0_u16, 1, 2, 10, 16])),
    ) {
        if let (Some(known), true) = (known, bytes.len() >= 2) {
            bytes[..2].copy_from_slice(&known.to_ne_bytes());
        }
        for family in [Family::V4, Family::V6] {
            match read(family, &bytes) {
                Ok(address) => {
                    prop_assert!(!address.ip().is_unspecified());
                    let (number, length) = match family {
                        Family::V4 => (2, 16),
                        Family::V6 => (10, 24),
                    };
                    prop_assert!(bytes.len() >= length);
                    prop_assert_eq!(u16::from_ne_bytes([bytes[0], bytes[1]]), number);
                }
                Err(errno) => {
                    // The kernel looks at the length first in one family, and takes connections
                    // away for an address without a family.
                    let kernel = kernel_says(family, &bytes);
                    let unspecified = bytes.len() >= 2 && bytes[..2] == [0, 0];
                    prop_assert!(unspecified || kernel == Some(errno) ||
                        errno == Errno::AFNOSUPPORT && kernel == Some(Errno::INVAL), "{:?} {:?}", errno, kernel);
                }
            }
        }
    }
}

/// What a socket that cannot go anywhere else answers.
fn kernel_says(family: Family, bytes: &[u8]) -> Option<Errno> {
    let address = match family {
        Family::V4 => rustix::net::AddressFamily::INET,
        Family::V6 => rustix::net::AddressFamily::INET6,
    };
    let socket = rustix::net::socket(address, rustix::net::SocketType::STREAM, None).unwrap();
    // SAFETY: the address is `len` bytes of a live vector, which the kernel reads.
    let result = unsafe {
        libc::connect(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len() as u32,
        )
    };
    let error = std::io::Error::last_os_error();
    (result != 0).then(|| Errno::from_io_error(&error).unwrap())
}

#[test]
fn nothing_listening_says_nothing_else_about_a_proper_address() {
    // The helper above asks the real kernel: a proper address must get through its reading.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    assert_eq!(kernel_says(Family::V4, &v4([127, 0, 0, 1], port)), None);
}

#[test]
fn this_machine_has_several_spellings() {
    let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
    assert_eq!(read(Family::V4, &v4([0; 4], 80)), Ok(local(80)));
    let mut mapped = [0; 16];
    mapped[10..].copy_from_slice(&[255, 255, 127, 0, 0, 1]);
    assert_eq!(read(Family::V6, &v6(mapped, 80, [9; 4])), Ok(local(80)));
    mapped[12..].copy_from_slice(&[0; 4]);
    assert_eq!(read(Family::V6, &v6(mapped, 80, [9; 4])), Ok(local(80)));
    let six = SocketAddr::new(Ipv6Addr::LOCALHOST.into(), 443);
    assert_eq!(read(Family::V6, &v6([0; 16], 443, [0; 4])), Ok(six));
}
