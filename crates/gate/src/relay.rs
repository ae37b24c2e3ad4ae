//! Copies bytes both ways. The end of one direction is passed on as that, and a reset as a reset,
//! so that a program sees the failure that the other side had and not a polite end of data.

use crate::prefixed::Prefixed;
use crate::steps::Step;
use tokio::io::copy_bidirectional_with_sizes;

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
