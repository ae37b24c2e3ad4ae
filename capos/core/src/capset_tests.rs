use super::*;
use proptest::prelude::*;
use std::string::String;
use std::vec::Vec;

const CONSOLE: Entry<'_> = Entry {
    cap_id: 1,
    interface_id: 0x913a_e022_0246_3262,
    name: "console",
};

#[test]
fn a_capability_is_found_by_its_name() {
    let mut page = [0xff; 4096];
    write(&mut page, &[CONSOLE]).unwrap();
    assert_eq!(find(&page, "console"), Some(CONSOLE));
    assert_eq!(find(&page, "consol"), None);
    assert_eq!(&page[..12], b"capsetv1\x01\0\0\0");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut page = [0; 4096];
    assert_eq!(write(&mut page, &[CONSOLE; ENTRIES]), Ok(()));
    assert_eq!(
        write(&mut page, &[CONSOLE; ENTRIES + 1]),
        Err(Unfit::TooMany)
    );
    let long = Entry {
        name: "123456789012345678901234567890123",
        ..CONSOLE
    };
    assert_eq!(
        write(&mut page, &[CONSOLE, long]),
        Err(Unfit::NameTooLong(1))
    );
}

#[test]
fn a_page_that_lies_is_refused() {
    let mut page = [0; 4096];
    assert_eq!(entries(&page).err(), Some(Invalid::Magic));
    assert_eq!(entries(&page[..4095]).err(), Some(Invalid::Short));
    write(&mut page, &[CONSOLE]).unwrap();
    page[12] = 86;
    assert_eq!(entries(&page).err(), Some(Invalid::Count(86)));
    page[12] = 1;
    page[20] = 33;
    assert_eq!(entries(&page).err(), Some(Invalid::Name(0)));
    page[20] = 1;
    page[32] = 0xff;
    assert_eq!(entries(&page).err(), Some(Invalid::Name(0)));
}

proptest! {
    #[test]
    fn a_set_reads_back(
        set in proptest::collection::vec((any::<u32>(), any::<u64>(), "[a-zé_]{0,16}"), 0..ENTRIES)
    ) {
        let set: Vec<(u32, u64, String)> = set;
        let written: Vec<Entry<'_>> = set
            .iter()
            .map(|(cap_id, interface_id, name)| Entry {
                cap_id: *cap_id,
                interface_id: *interface_id,
                name,
            })
            .collect();
        let mut page = [0; 4096];
        prop_assert_eq!(write(&mut page, &written), Ok(()));
        let read: Vec<Entry<'_>> = entries(&page).unwrap().collect();
        prop_assert_eq!(read, written);
    }
}
