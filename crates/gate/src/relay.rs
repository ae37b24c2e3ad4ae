//! Copies bytes both ways. The end of one direction is passed on as that, and a reset as a reset,
//! so that a program sees the failure that the other side had and not a polite end of data.

use crate::prefixed::Prefixed;
use crate::secrets::Replacer;
use crate::steps::Step;
use std::io;
use tokio::io::{
    AsyncReadExt as _, AsyncWriteExt as _, copy as copy_all, copy_bidirectional_with_sizes, split,
};

/// Bytes that one direction holds at most.
const BUFFER: usize = 64 * 1024;

/// Copies until both directions have ended or one side fails.
pub(crate) fn run(client: Prefixed, server: Prefixed) -> Step {
    Step::last(copy(client, server))
}

async fn copy(mut client: Prefixed, mut server: Prefixed) {
    let copied = copy_bidirectional_with_sizes(&mut client, &mut server, BUFFER, BUFFER).await;
    if copied.is_err() {
        client.reset_on_close();
        server.reset_on_close();
    }
}

/// The same, with secrets taken out of what the server says.
pub(crate) fn masked(client: Prefixed, server: Prefixed, mask: Replacer) -> Step {
    Step::last(copy_masked(client, server, mask))
}

async fn copy_masked(client: Prefixed, server: Prefixed, mut mask: Replacer) {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_server, mut to_server) = split(server);
    let up = async {
        copy_all(&mut from_client, &mut to_server).await?;
        to_server.shutdown().await
    };
    let down = async {
        let mut chunk = vec![0; BUFFER];
        loop {
            let out = match from_server.read(&mut chunk).await? {
                0 => break,
                n => mask.part(&chunk[..n]),
            };
            to_client.write_all(&out).await?;
            to_client.flush().await?;
        }
        to_client.write_all(&mask.end()).await?;
        to_client.shutdown().await
    };
    let copied: io::Result<_> = async { tokio::try_join!(up, down) }.await;
    if copied.is_err() {
        from_client.unsplit(to_client).reset_on_close();
        from_server.unsplit(to_server).reset_on_close();
    }
}
