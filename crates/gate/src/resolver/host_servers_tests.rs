use super::*;

#[test]
fn servers_and_options_are_read_and_nonsense_is_not() {
    let servers = parse(
        "# a comment\nsearch example.com\nnameserver 10.0.0.1\nnameserver\t::1\n\
         nameserver no.address\n  nameserver fe80::1%lo\nnameserver fe80::1%nothing\n\
         options edns0 timeout:2 attempts:9\noptions timeout:0 attempts:x rotate\n\
         nameserver 10.0.0.4\n",
    );
    let shown: Vec<_> = servers.all.iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["10.0.0.1:53", "[::1]:53", "[fe80::1%1]:53"]);
    assert_eq!(servers.timeout, Duration::from_secs(2));
    assert_eq!(servers.attempts, 5);
}

#[test]
fn without_a_server_this_machine_is_asked() {
    let servers = parse("");
    assert_eq!(servers.all, ["127.0.0.1:53".parse().unwrap()]);
    assert_eq!(servers.attempts, 2);
}
