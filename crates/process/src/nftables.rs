//! The one nftables rule set of a sandbox: whatever leaves for an address outside 127/8 and ::1
//! is handed to the gate's listeners (TPROXY), with its destination unchanged and without
//! connection tracking. Nothing here decides; what is not handed over cannot leave, because the
//! namespace has no other interface than `lo`.

use crate::netlink::{ACK, APPEND, Batch, CREATE, EXCL, REQUEST};
use std::io;

/// Ports of the gate's listeners on the sandbox's loopback.
#[derive(Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) tcp: u16,
    pub(crate) dns: u16,
    pub(crate) udp: u16,
}

// linux/netfilter/nfnetlink.h and nf_tables.h.
const NETFILTER: u32 = 12;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;
const SUBSYSTEM: u16 = 10 << 8;
const NEW_TABLE: u16 = SUBSYSTEM;
const NEW_CHAIN: u16 = SUBSYSTEM | 3;
const NEW_RULE: u16 = SUBSYSTEM | 6;
const INET: u8 = 1;
const IPV4: u8 = 2;
const IPV6: u8 = 10;
const NAME: &str = "bailiwick";
const CHAIN: &str = "pre";

const REGISTER: u32 = 1;
const VERDICT: u32 = 0;
const META_L4PROTO: u32 = 16;
const META_NFPROTO: u32 = 15;
const EQUAL: u32 = 0;
/// The address family of a rule for every family, which may then name no address.
const ANY_FAMILY: u8 = 0;
const NETWORK_HEADER: u32 = 1;
const TRANSPORT_HEADER: u32 = 2;
const ACCEPT: u32 = 1;

fn header(family: u8) -> [u8; 4] {
    // nfgenmsg: family, version 0, resource id in network order (the subsystem, for a batch).
    if family == 0 {
        [0, 0, 0, 10]
    } else {
        [family, 0, 0, 0]
    }
}

/// One expression of a rule: `NFTA_LIST_ELEM {name, data}`.
fn expression(batch: &mut Batch, name: &str, fill: impl FnOnce(&mut Batch)) {
    batch.nest(1, |b| {
        b.text(1, name);
        b.nest(2, fill);
    });
}

fn meta(batch: &mut Batch, key: u32) {
    expression(batch, "meta", |b| {
        b.number(1, REGISTER);
        b.number(2, key);
    });
}

fn payload(batch: &mut Batch, base: u32, offset: u32, length: u32) {
    expression(batch, "payload", |b| {
        b.number(1, REGISTER);
        b.number(2, base);
        b.number(3, offset);
        b.number(4, length);
    });
}

fn compare(batch: &mut Batch, operator: u32, value: &[u8]) {
    expression(batch, "cmp", |b| {
        b.number(1, REGISTER);
        b.number(2, operator);
        b.nest(3, |b| b.attribute(1, value));
    });
}

fn immediate(batch: &mut Batch, value: &[u8]) {
    expression(batch, "immediate", |b| {
        b.number(1, REGISTER);
        b.nest(2, |b| b.attribute(1, value));
    });
}

fn accept(batch: &mut Batch) {
    expression(batch, "immediate", |b| {
        b.number(1, VERDICT);
        b.nest(2, |b| b.nest(2, |b| b.number(1, ACCEPT)));
    });
}

/// Hands packets of a protocol to the listener at `port`.
fn hand_over(batch: &mut Batch, table: u8, protocol: u8, destination: Option<u16>, port: u16) {
    let family = if table == INET { ANY_FAMILY } else { table };
    meta(batch, META_L4PROTO);
    compare(batch, EQUAL, &[protocol]);
    if let Some(destination) = destination {
        payload(batch, TRANSPORT_HEADER, 2, 2);
        compare(batch, EQUAL, &destination.to_be_bytes());
    }
    immediate(batch, &port.to_be_bytes());
    expression(batch, "tproxy", |b| {
        b.number(1, family.into());
        b.number(3, REGISTER);
    });
    accept(batch);
}

fn rule(batch: &mut Batch, family: u8, fill: impl FnOnce(&mut Batch)) {
    let open = batch.begin(NEW_RULE, REQUEST | ACK | CREATE | APPEND, &header(family));
    batch.text(1, NAME);
    batch.text(2, CHAIN);
    batch.nest(4, fill);
    batch.end(&open);
}

/// Leaves the sandbox's own loopback alone.
fn own_loopback(batch: &mut Batch, family: u8) {
    meta(batch, META_NFPROTO);
    compare(batch, EQUAL, &[family]);
    if family == IPV4 {
        payload(batch, NETWORK_HEADER, 16, 1);
        compare(batch, EQUAL, &[127]);
    } else {
        payload(batch, NETWORK_HEADER, 24, 16);
        compare(batch, EQUAL, &std::net::Ipv6Addr::LOCALHOST.octets());
    }
    accept(batch);
}

/// Installs the rule set in the current network namespace. A kernel without IPv6 has no table for both
/// families.
pub(crate) fn install(ports: Ports, v6: bool) -> io::Result<()> {
    const TCP: u8 = 6;
    const UDP: u8 = 17;
    const DNS: u16 = 53;
    let table = if v6 { INET } else { IPV4 };
    let mut batch = Batch::new();
    let open = batch.begin(BATCH_BEGIN, REQUEST, &header(0));
    batch.end(&open);
    let open = batch.begin(NEW_TABLE, REQUEST | ACK | CREATE | EXCL, &header(table));
    batch.text(1, NAME);
    batch.end(&open);
    let open = batch.begin(NEW_CHAIN, REQUEST | ACK | CREATE | EXCL, &header(table));
    batch.text(1, NAME);
    batch.text(3, CHAIN);
    batch.nest(4, |b| {
        b.number(1, 0); // the prerouting hook
        b.number(2, (-150_i32) as u32); // before address translation, as `mangle`
    });
    batch.text(7, "filter");
    batch.end(&open);
    rule(&mut batch, table, |b| own_loopback(b, IPV4));
    if v6 {
        rule(&mut batch, table, |b| own_loopback(b, IPV6));
    }
    rule(&mut batch, table, |b| {
        hand_over(b, table, TCP, None, ports.tcp)
    });
    rule(&mut batch, table, |b| {
        hand_over(b, table, UDP, Some(DNS), ports.dns)
    });
    rule(&mut batch, table, |b| {
        hand_over(b, table, UDP, None, ports.udp)
    });
    let open = batch.begin(BATCH_END, REQUEST, &header(0));
    batch.end(&open);
    batch.send(NETFILTER)
}
