//! A package of Python with one line, made on the spot: an archive (zip) whose files are stored as they
//! are (PEP 427).

const NAME: &str = "bailiwick_doctor-1-py3-none-any.whl";

/// Its file name, and the archive; the module says this page.
pub(super) fn wheel(page: &str) -> (&'static str, Vec<u8>) {
    let files = [
        ("bailiwick_doctor.py", format!("PAGE = {page:?}\n")),
        (
            "bailiwick_doctor-1.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: bailiwick-doctor\nVersion: 1\n".to_owned(),
        ),
        (
            "bailiwick_doctor-1.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: bailiwick\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
                .to_owned(),
        ),
        (
            "bailiwick_doctor-1.dist-info/RECORD",
            "bailiwick_doctor.py,,\nbailiwick_doctor-1.dist-info/METADATA,,\n\
             bailiwick_doctor-1.dist-info/WHEEL,,\nbailiwick_doctor-1.dist-info/RECORD,,\n"
                .to_owned(),
        ),
    ];
    (NAME, archive(&files))
}

fn archive(files: &[(&str, String)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, contents) in files {
        let at = number(bytes.len());
        // Version, flags, method, time, date: the first day that can be said.
        let mut about = Vec::new();
        for field in [10_u16, 0, 0, 0, 0x21] {
            about.extend_from_slice(&field.to_le_bytes());
        }
        for field in [
            crc(contents.as_bytes()),
            number(contents.len()),
            number(contents.len()),
        ] {
            about.extend_from_slice(&field.to_le_bytes());
        }
        about.extend_from_slice(&number(name.len()).to_le_bytes()[..2]);
        about.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(b"PK\x03\x04");
        bytes.extend_from_slice(&about);
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(contents.as_bytes());
        directory.extend_from_slice(b"PK\x01\x02\x0a\x00");
        directory.extend_from_slice(&about);
        // No comment, the first disk, no attributes.
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&at.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let at = number(bytes.len());
    let count = &number(files.len()).to_le_bytes()[..2];
    bytes.extend_from_slice(&directory);
    bytes.extend_from_slice(b"PK\x05\x06\x00\x00\x00\x00");
    bytes.extend_from_slice(&[count, count].concat());
    bytes.extend_from_slice(&number(directory.len()).to_le_bytes());
    bytes.extend_from_slice(&at.to_le_bytes());
    bytes.extend_from_slice(&[0, 0]);
    bytes
}

fn number(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The checksum of zip archives (CRC-32 of ISO 3309).
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = !0_u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let low = crc & 1;
            crc = (crc >> 1) ^ (0xedb8_8320 & low.wrapping_neg());
        }
    }
    !crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
    }
}
