use super::*;

#[test]
fn only_the_name_server_of_the_settings_is_replaced() {
    let text = "nameserver 198.18.0.1\nnameserver fd62::1\noptions edns0\nsearch a.test\n";
    assert_eq!(
        bare_settings(text),
        "nameserver 127.0.0.1\noptions edns0\nsearch a.test\n"
    );
}
