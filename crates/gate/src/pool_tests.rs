use super::*;
use crate::http1;
use bailiwick_event::Host;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

fn key() -> Key {
    Key::of(&Destination {
        host: Host::parse("a.test").unwrap(),
        address: None,
        port: 443,
        via: Via::Transparent,
        secure: None,
    })
}

/// A connection to a server, and the server's end.
async fn connection() -> (h1::SendRequest<Body>, DuplexStream) {
    let (client, server) = duplex(4096);
    let (mut sender, connection) = http1::writer()
        .handshake(TokioIo::new(client))
        .await
        .unwrap();
    tokio::spawn(async move { drop(connection.await) });
    sender.ready().await.unwrap();
    (sender, server)
}

/// As many connections as requests may use without waiting for each other.
async fn many(pool: &Arc<Pool>) -> (Vec<Lent>, Vec<DuplexStream>) {
    let mut all = (Vec::new(), Vec::new());
    for _ in 0..MANY {
        let (sender, server) = connection().await;
        all.0.push(pool.begin(&key()).lend(sender));
        all.1.push(server);
    }
    all
}

fn used(pool: &Pool) -> usize {
    pool.with(|servers| servers.get(&key()).map_or(0, |server| server.used))
}

fn idle(pool: &Pool) -> usize {
    pool.with(|servers| servers.get(&key()).map_or(0, |server| server.idle.len()))
}

#[tokio::test]
async fn what_is_given_back_takes_the_next_request() {
    let pool = Arc::new(Pool::default());
    let (sender, _server) = connection().await;
    pool.begin(&key()).lend(sender).give_back();
    assert_eq!((used(&pool), idle(&pool)), (0, 1));
    let Some(Sender::One(lent)) = pool.take(&key()) else {
        panic!("nothing was kept");
    };
    assert_eq!((used(&pool), idle(&pool)), (1, 0));
    drop(lent);
    assert_eq!(used(&pool), 0);
    assert!(pool.take(&key()).is_none());
}

#[tokio::test]
async fn a_connection_is_kept_when_its_answer_has_come_whole() {
    let pool = Arc::new(Pool::default());
    let (sender, mut server) = connection().await;
    let mut lent = pool.begin(&key()).lend(sender);
    let request = hyper::Request::new(Body::from(Bytes::new()));
    let answer = tokio::spawn(async move {
        let response = lent.sender.send_request(request).await.unwrap();
        lent.give_back();
        response
    });
    let mut head = [0; 256];
    assert!(server.read(&mut head).await.unwrap() > 0);
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab";
    server.write_all(half).await.unwrap();
    let response = answer.await.unwrap();
    assert!(pool.take(&key()).is_none(), "half of the answer is missing");
    server.write_all(b"cd").await.unwrap();
    let whole = http_body_util::BodyExt::collect(response.into_body()).await;
    assert_eq!(whole.unwrap().to_bytes().as_ref(), b"abcd");
    tokio::task::yield_now().await;
    assert!(pool.take(&key()).is_some());
}

#[tokio::test]
async fn where_few_are_used_nobody_waits() {
    let pool = Arc::new(Pool::default());
    assert!(pool.wait(&key()).await.is_none());
    let (mut lent, _servers) = many(&pool).await;
    drop(lent.pop());
    assert!(pool.wait(&key()).await.is_none());
    assert!(pool.with(|servers| servers[&key()].waiting.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn where_many_are_used_the_next_that_comes_free_is_taken_in_turn() {
    let pool = Arc::new(Pool::default());
    let (mut lent, _servers) = many(&pool).await;
    let waiter = |pool: &Arc<Pool>| {
        let pool = Arc::clone(pool);
        tokio::spawn(async move { pool.wait(&key()).await })
    };
    let (first, second) = (waiter(&pool), waiter(&pool));
    tokio::task::yield_now().await;
    lent.pop().unwrap().give_back();
    let _first = first.await.unwrap().unwrap();
    assert_eq!(idle(&pool), 0, "it went to who waited");
    lent.pop().unwrap().give_back();
    assert!(second.await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn who_waits_makes_a_connection_in_the_place_of_one_that_ended() {
    let pool = Arc::new(Pool::default());
    let (mut lent, _servers) = many(&pool).await;
    let waiting = {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move { pool.wait(&key()).await.is_none() })
    };
    tokio::task::yield_now().await;
    let began = Instant::now();
    drop(lent.pop());
    assert!(waiting.await.unwrap());
    assert_eq!(began.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_crowd_waits_for_the_connections_that_are_being_made() {
    let pool = Arc::new(Pool::default());
    let mut places: Vec<_> = (0..MANY).map(|_| pool.begin(&key())).collect();
    let waiting = {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move { pool.wait(&key()).await })
    };
    tokio::time::sleep(PATIENCE / 2).await;
    assert!(!waiting.is_finished());
    let (sender, _server) = connection().await;
    places.pop().unwrap().lend(sender).give_back();
    assert!(waiting.await.unwrap().is_some());
    drop(places);
    assert!(pool.with(|servers| servers[&key()].dialling == 0));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_what_does_not_come_free() {
    let pool = Arc::new(Pool::default());
    let (_lent, _servers) = many(&pool).await;
    let began = Instant::now();
    assert!(pool.wait(&key()).await.is_none());
    assert!(began.elapsed() <= PAUSE * 2, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_ever_behind_others() {
    let pool = Arc::new(Pool::default());
    let (_lent, _servers) = many(&pool).await;
    let waiting = {
        let pool = Arc::clone(&pool);
        tokio::spawn(async move { pool.wait(&key()).await.is_none() })
    };
    let began = Instant::now();
    while !waiting.is_finished() {
        // Connections come free, and others take them.
        pool.with(|servers| servers.get_mut(&key()).unwrap().freed = Some(Instant::now()));
        tokio::time::sleep(PAUSE / 4).await;
    }
    assert!(waiting.await.unwrap());
    assert!(began.elapsed() < PATIENCE * 2, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_waits_too_long_is_ended_and_its_server_forgotten() {
    let pool = Arc::new(Pool::default());
    let (sender, mut server) = connection().await;
    pool.begin(&key()).lend(sender).give_back();
    pool.tidy();
    assert_eq!(idle(&pool), 1);
    tokio::time::sleep(WAITS).await;
    pool.tidy();
    assert!(pool.with(|servers| servers.is_empty()));
    assert_eq!(server.read(&mut [0; 8]).await.unwrap(), 0, "it is open");
}

#[tokio::test]
async fn of_connections_that_nobody_uses_few_are_kept() {
    let pool = Arc::new(Pool::default());
    let (lent, mut servers) = many(&pool).await;
    let (sender, server) = connection().await;
    servers.push(server);
    let last = pool.begin(&key()).lend(sender);
    lent.into_iter().chain([last]).for_each(Lent::give_back);
    assert_eq!((used(&pool), idle(&pool)), (0, IDLE));
    assert_eq!(
        servers[0].read(&mut [0; 8]).await.unwrap(),
        0,
        "the oldest is open"
    );
}

#[tokio::test]
async fn what_is_kept_for_all_servers_together_is_bounded() {
    let pool = Arc::new(Pool::default());
    let of = |port| {
        Key::of(&Destination {
            port,
            ..key().0.clone()
        })
    };
    let mut servers = Vec::new();
    for port in 1..=200 {
        let (sender, server) = connection().await;
        pool.begin(&of(port)).lend(sender).give_back();
        servers.push(server);
    }
    let kept: usize = pool.with(|servers| servers.values().map(Server::kept).sum());
    assert_eq!(kept, KEPT);
    assert_eq!(pool.with(|servers| servers.len()), KEPT);
    // Those that were used last.
    assert!(pool.take(&of(1)).is_none() && pool.take(&of(200)).is_some());
}
