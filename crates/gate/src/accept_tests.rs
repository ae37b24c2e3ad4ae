use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

async fn hello(mut stream: TcpStream) {
    let _ = stream.write_all(b"hello").await;
    let _ = stream.read_u8().await;
}

async fn is_greeted(stream: &mut TcpStream) -> bool {
    let mut buffer = [0; 5];
    stream.read_exact(&mut buffer).await.is_ok() && &buffer == b"hello"
}

/// Waits until nothing can come of a connection any more.
fn wait_until_over(stream: &TcpStream) {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut look = [PollFd::new(stream, PollFlags::empty())];
    assert_eq!(poll(&mut look, None), Ok(1));
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_until_one_ends() {
    let limit = Arc::new(Semaphore::new(2));
    let (mut busy, mut addresses) = (Vec::new(), Vec::new());
    // More listeners than permits: those that nobody uses take none.
    for _ in 0..3 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(listener.local_addr().unwrap());
        tokio::spawn(run(listener, limit.clone(), hello));
    }
    for _ in 0..2 {
        let mut stream = TcpStream::connect(addresses[0]).await.unwrap();
        assert!(is_greeted(&mut stream).await);
        busy.push(stream);
    }
    let mut waiting = TcpStream::connect(addresses[2]).await.unwrap();
    // Who came later to another limit's listener has been served meanwhile.
    let elsewhere = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = elsewhere.local_addr().unwrap();
    tokio::spawn(run(elsewhere, Arc::new(Semaphore::new(1)), hello));
    let mut later = TcpStream::connect(address).await.unwrap();
    assert!(is_greeted(&mut later).await);
    let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
    let heard = rustix::net::recv(&waiting, &mut [0; 5], flags);
    assert_eq!(heard.unwrap_err(), rustix::io::Errno::AGAIN);
    busy.pop();
    assert!(is_greeted(&mut waiting).await);
}

#[tokio::test]
async fn only_a_program_that_is_gone_is_taken_for_that() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    ask_silent(&listener);
    let mut client = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    assert!(
        sockopt::socket_keepalive(&stream).unwrap(),
        "of all its connections"
    );
    assert!(!is_gone(stream.as_raw_fd()));
    client.shutdown().await.unwrap();
    assert!(!is_gone(stream.as_raw_fd()), "it may still want the answer");
    client.set_zero_linger().unwrap();
    drop(client);
    wait_until_over(&stream);
    assert!(is_gone(stream.as_raw_fd()));
}

#[tokio::test(start_paused = true)]
async fn a_connection_whose_program_is_gone_is_not_served_for_ever() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let (stream, _) = listener.accept().await.unwrap();
    let stays = while_there(stream.as_raw_fd(), std::future::pending());
    assert!(timeout(LOOK * 4, stays).await.is_err());
    client.set_zero_linger().unwrap();
    drop(client);
    wait_until_over(&stream);
    let ends = while_there(stream.as_raw_fd(), std::future::pending());
    assert!(timeout(LOOK * 2, ends).await.is_ok());
}
