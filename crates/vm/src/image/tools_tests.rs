use super::{Need, missing};

#[test]
fn what_is_missing_is_named_by_its_debian_package() {
    assert!(missing(false, |_| true).is_empty());
    let without = |name: &'static str| {
        missing(false, move |need| match need {
            Need::Program(program) => *program != name,
            Need::File(file) => *file != name,
        })
    };
    assert_eq!(without("mkfs.erofs"), ["erofs-utils"]);
    assert_eq!(without("/usr/include/libelf.h"), ["libelf-dev"]);
    assert_eq!(without("newuidmap"), ["uidmap"]);
}

#[test]
fn root_needs_no_numbers_of_others() {
    assert!(!missing(true, |_| false).contains(&"uidmap"));
    assert_eq!(
        missing(true, |_| false).len() + 1,
        missing(false, |_| false).len()
    );
}
