use super::*;

#[test]
fn an_authority_is_known_by_its_name() {
    let authority = TestAuthority::make().unwrap();
    let subject = subject(&authority.certificate).unwrap();
    assert!(subject.contains(&hex(b"Bailiwick benchmark")), "{subject}");
    assert!(super::subject("no certificate").is_err());
}
