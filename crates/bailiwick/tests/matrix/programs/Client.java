import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.zip.GZIPInputStream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Client h1|h2: does $STEPS against $BASE, and says what came of each. */
final class Client {
    static final String BASE = System.getenv("BASE");
    static HttpClient client;
    static byte[] posted;

    public static void main(String[] words) throws Exception {
        posted = Files.readAllBytes(Path.of("posted"));
        var version = words[0].equals("h2") ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1;
        var builder = HttpClient.newBuilder().version(version);
        if (System.getenv("ORIGIN_CA") != null) {
            builder.sslContext(trusting(Path.of(System.getenv("ORIGIN_CA"))));
        }
        client = builder.build();
        for (var step : System.getenv("STEPS").split(" ")) {
            System.out.println(step + " " + switch (step) {
                case "range" -> hashed(ask("GET", "/large", null, "Range", "bytes=1000-1999"));
                case "gzip" -> hashed(ask("GET", "/gzip", null, "Accept-Encoding", "gzip"));
                case "echo" -> hashed(ask("POST", "/echo", posted));
                case "head" -> {
                    var answer = ask("HEAD", "/large", null);
                    yield said(answer) + answer.headers().firstValue("content-length").get();
                }
                case "events" -> events();
                case "together" -> together();
                case "websocket" -> socket();
                default -> hashed(ask("GET", "/" + step, null));
            });
        }
        System.exit(0);
    }

    static SSLContext trusting(Path authority) throws Exception {
        var store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (var file = Files.newInputStream(authority)) {
            store.setCertificateEntry("origin", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        var context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    static HttpResponse<InputStream> ask(String method, String path, byte[] body, String... headers) throws Exception {
        BodyPublisher publisher = body == null ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body);
        var request = HttpRequest.newBuilder(URI.create(BASE + path)).method(method, publisher);
        if (headers.length > 0) {
            request.headers(headers);
        }
        return client.send(request.build(), BodyHandlers.ofInputStream());
    }

    static String said(HttpResponse<?> answer) {
        var protocol = answer.version() == HttpClient.Version.HTTP_2 ? "h2" : "h1";
        return protocol + " " + answer.statusCode() + " ";
    }

    static String hashed(HttpResponse<InputStream> answer) throws Exception {
        var body = answer.body();
        if (answer.headers().firstValue("content-encoding").isPresent()) {
            body = new GZIPInputStream(body);
        }
        return said(answer) + sha256(body.readAllBytes());
    }

    static String sha256(byte[] bytes) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    }

    static String together() throws Exception {
        var asked = new ArrayList<CompletableFuture<HttpResponse<byte[]>>>();
        for (var n = 1; n <= 12; n++) {
            var request = HttpRequest.newBuilder(URI.create(BASE + "/large?" + n)).build();
            asked.add(client.sendAsync(request, BodyHandlers.ofByteArray()));
        }
        var all = new TreeSet<String>();
        for (var one : asked) {
            var answer = one.get(60, TimeUnit.SECONDS);
            all.add(said(answer) + sha256(answer.body()));
        }
        return String.join(" ", all);
    }

    static String events() throws Exception {
        var request = HttpRequest.newBuilder(URI.create(BASE + "/events")).build();
        var answer = client.send(request, BodyHandlers.ofLines());
        var words = new ArrayList<String>();
        for (var lines = answer.body().iterator(); lines.hasNext(); ) {
            var line = lines.next();
            if (line.startsWith("data: ")) {
                words.add(line.substring(6));
                if (words.size() == 1) {
                    ask("POST", "/seen", new byte[0]).body().close();
                }
            }
        }
        return said(answer) + String.join(" ", words);
    }

    static String socket() throws Exception {
        var text = new CompletableFuture<String>();
        var bytes = new CompletableFuture<byte[]>();
        var listener = new WebSocket.Listener() {
            final ByteArrayOutputStream sofar = new ByteArrayOutputStream();

            @Override
            public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
                text.complete(data.toString());
                socket.request(1);
                return null;
            }

            @Override
            public CompletionStage<?> onBinary(WebSocket socket, ByteBuffer data, boolean last) {
                var piece = new byte[data.remaining()];
                data.get(piece);
                sofar.writeBytes(piece);
                if (last) {
                    bytes.complete(sofar.toByteArray());
                }
                socket.request(1);
                return null;
            }
        };
        var url = URI.create(BASE.replace("https", "wss") + "/websocket");
        var socket = client.newWebSocketBuilder().buildAsync(url, listener).get(30, TimeUnit.SECONDS);
        socket.sendText("hello", true).get();
        var hello = text.get(30, TimeUnit.SECONDS);
        socket.sendBinary(ByteBuffer.wrap(posted), true).get();
        var hash = sha256(bytes.get(30, TimeUnit.SECONDS));
        socket.sendClose(WebSocket.NORMAL_CLOSURE, "").get();
        return "- 101 " + hello + " " + hash;
    }
}
