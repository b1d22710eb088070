//! The studio for other machines: what it demands, and HTTPS as a browser speaks it.

#![allow(clippy::unwrap_used)] // a test that panics has failed

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

use folio::{Database, OpenOptions};
use folio_studio::{Limits, Listen, StartError, Studio, Tls, Token};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A statement that takes minutes.
const LONG: &str =
    "select count(*) from generate_series(1, 3000000) a, generate_series(1, 3000000) b where a < b";

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

fn tls() -> Tls {
    Tls::read(&file("cert.pem"), &file("key.pem")).unwrap()
}

struct Server {
    studio: Studio,
    port: u16,
    folder: TempDir,
}

impl Server {
    fn start(host: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let token = folder.path().join("token");
        fs::write(&token, format!("{TOKEN}\n")).unwrap();
        let token = Some(Token::read(&token).unwrap());
        let listen = Listen { host: host.to_owned(), port: 0, token, tls: Some(tls()) };
        let studio = Studio::start(database(&folder), listen, Limits::default()).unwrap();
        let port = studio.url().split('/').nth(2).unwrap().rsplit(':').next().unwrap();
        let port = port.parse().unwrap();
        Self { studio, port, folder }
    }

    fn socket(&self) -> TcpStream {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket
    }

    /// Sends a request over TLS as a client that trusts the certificate, and knows the machine by
    /// the name.
    fn send(
        &self,
        name: &'static str,
        head: &str,
        body: &str,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(file("cert.pem")).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name).unwrap();
        let client = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = StreamOwned::new(client, self.socket());
        let size = body.len();
        write!(stream, "{head}\r\nContent-Length: {size}\r\n\r\n{body}").unwrap();
        stream.flush().unwrap();
        stream
    }

    /// The status and the body of the answer to what a page asks.
    fn call(&self, host: &str, headers: &str, action: &str, asked: &Value) -> (u16, String) {
        let head =
            format!("POST /{TOKEN}/api/{action} HTTP/1.1\r\nHost: {host}:{}{headers}", self.port);
        let mut stream = self.send("localhost", &head, &asked.to_string());
        let mut text = String::new();
        // A farewell of TLS ends it, so that nothing can be cut off unnoticed.
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    fn wait_until_idle(&self) {
        let start = Instant::now();
        while self.studio.running_count() > 0 {
            assert!(start.elapsed() < Duration::from_secs(5), "the statement goes on");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn database(folder: &TempDir) -> Database {
    let path = folder.path().join("data");
    let database = Database::open(&path).unwrap();
    let users = database.collection("users").unwrap();
    let text = "ö".repeat(100_000);
    for number in 0..20 {
        users.put(&format!("u{number}"), &json!({"age": number, "text": text})).unwrap();
    }
    database.close().unwrap();
    Database::open_with(&path, &OpenOptions::read_only()).unwrap()
}

#[test]
fn other_machines_are_served_with_a_token_and_tls_only() {
    let folder = TempDir::new().unwrap();
    let database = database(&folder);
    let path = folder.path().join("token");
    fs::write(&path, TOKEN).unwrap();
    let token = Token::read(&path).unwrap();
    for host in ["0.0.0.0", "::", "192.0.2.1"] {
        for (token, tls) in [(None, None), (Some(token.clone()), None), (None, Some(tls()))] {
            let expected = (token.is_some(), tls.is_some());
            let listen = Listen { host: host.to_owned(), port: 0, token, tls };
            match Studio::start(database.clone(), listen, Limits::default()) {
                Err(StartError::Unguarded { has_token, has_tls, .. }) => {
                    assert_eq!((has_token, has_tls), expected, "{host}");
                }
                other => panic!("{host}: {other:?}"),
            }
        }
    }
    let server = Server::start("0.0.0.0");
    assert_eq!(server.studio.url(), format!("https://studio.test:{}/{TOKEN}/", server.port));
    let (status, body) = server.call("studio.test", "", "names", &json!({}));
    assert!(status == 200 && body.contains("users"), "{body}");
    #[cfg(target_os = "linux")]
    assert!(TcpStream::connect(("127.0.0.2", server.port)).is_ok(), "it listens everywhere");
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let (empty, nonsense) = (write("empty.pem", ""), write("nonsense.pem", "nonsense"));
    let hollow = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    let hollow = write("hollow.pem", hollow);
    let (cert, key, none) = (file("cert.pem"), file("key.pem"), folder.path().join("none.pem"));
    for (cert, key, named, reason) in [
        (&cert, &file("other-key.pem"), "other-key.pem", "not the key of"),
        (&cert, &none, "none.pem", "No such file"),
        (&cert, &empty, "empty.pem", "no key in it"),
        (&cert, &nonsense, "nonsense.pem", "no key in it"),
        (&cert, &cert, "cert.pem", "no key in it"),
        (&none, &key, "none.pem", "No such file"),
        (&empty, &key, "empty.pem", "no certificate in it"),
        (&key, &key, "key.pem", "no certificate in it"),
        (&hollow, &key, "hollow.pem", "no certificate"),
    ] {
        let error = Tls::read(cert, key).unwrap_err().to_string();
        assert!(error.contains(&format!("{named}: ")), "{error}");
        assert!(cfg!(windows) || error.contains(reason), "{error}");
    }
    for text in
        ["", "short", &"x".repeat(31), &"x".repeat(257), &format!("{TOKEN} b"), &"ö".repeat(40)]
    {
        let path = write("token", text);
        let error = Token::read(&path).unwrap_err().to_string();
        assert!(error.contains("token: this is no token"), "{error}");
    }
    assert!(Token::read(&none).unwrap_err().to_string().contains("none.pem: "));
    let token = Token::read(&write("token", &format!("  {TOKEN}\r\n"))).unwrap();
    assert!(!format!("{token:?} {:?}", tls()).contains("012345"), "it is not shown");
}

#[test]
fn https_answers_under_the_names_of_the_certificate() {
    let server = Server::start("127.0.0.1");
    assert_eq!(server.studio.url(), format!("https://127.0.0.1:{}/{TOKEN}/", server.port));
    let ask = json!({"language": "sql", "text": "select count(*) as n from users"});
    for host in ["localhost", "127.0.0.1", "studio.test"] {
        let own = format!("\r\nOrigin: https://{host}:{}", server.port);
        let (status, body) = server.call(host, &own, "ask", &ask);
        assert!(status == 200 && body.contains("[20]"), "{host}: {body}");
    }
    for host in ["evil.example", "10.0.0.1", "studio.test.evil.example", ""] {
        assert_eq!(server.call(host, "", "ask", &ask).0, 403, "{host}");
    }
    for origin in ["http://localhost", "https://evil.example", "null"] {
        let headers = format!("\r\nOrigin: {origin}");
        assert_eq!(server.call("localhost", &headers, "ask", &ask).0, 403, "{origin}");
    }
    let foreign = "0".repeat(32);
    let head = format!("GET /{foreign}/ HTTP/1.1\r\nHost: localhost:{}", server.port);
    let mut text = String::new();
    server.send("localhost", &head, "").read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 403 "), "{text}");

    // More than fits into the buffers on the way.
    let all = json!({"language": "sql", "text": "select * from users"});
    let (_, body) = server.call("localhost", "", "ask", &all);
    let body: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(body["rows"].as_array().unwrap().len(), 20);
    assert!(server.folder.path().join("data").exists());
}

#[test]
fn what_is_not_tls_is_told_so_and_harms_nothing() {
    let server = Server::start("127.0.0.1");
    let plain =
        format!("GET /{TOKEN}/api/names HTTP/1.1\r\nHost: localhost:{}\r\n\r\n", server.port);
    let mut socket = server.socket();
    socket.write_all(plain.as_bytes()).unwrap();
    let mut text = String::new();
    let _ = socket.read_to_string(&mut text);
    assert!(text.starts_with("HTTP/1.1 400 ") && text.ends_with("https:// here"), "{text}");

    // Others hang up, say nothing, or send what begins like TLS.
    drop(server.socket());
    let silent = server.socket();
    for bytes in [&[0x16; 300][..], b"\x16\x03\x01\x00\x02\x01\x00", &[0; 9], &[0xff; 70_000]] {
        let mut socket = server.socket();
        let _ = socket.write_all(bytes);
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.read_to_end(&mut Vec::new());
    }
    assert_eq!(server.call("localhost", "", "names", &json!({})).0, 200);
    drop(silent);
    server.wait_until_idle();
}

#[test]
fn a_page_that_goes_away_stops_its_statement() {
    let server = Server::start("127.0.0.1");
    let asked = json!({"language": "sql", "text": LONG}).to_string();
    let head = format!("POST /{TOKEN}/api/ask HTTP/1.1\r\nHost: localhost:{}", server.port);
    for has_farewell in [true, false] {
        let mut stream = server.send("localhost", &head, &asked);
        thread::sleep(Duration::from_millis(300));
        assert_eq!(server.studio.running_count(), 1);
        if has_farewell {
            // The socket stays open: the farewell alone is the end.
            stream.conn.send_close_notify();
            stream.flush().unwrap();
            server.wait_until_idle();
        }
        drop(stream);
        server.wait_until_idle();
    }
}

#[test]
fn many_pages_at_once() {
    let server = Server::start("127.0.0.1");
    thread::scope(|scope| {
        let askers: Vec<_> = (0..100)
            .map(|number| {
                let server = &server;
                scope.spawn(move || {
                    let asked = json!({"language": "sql", "text": format!("select {number} as n")});
                    let (_, body) = server.call("localhost", "", "ask", &asked);
                    body.contains(&format!("[[{number}]]"))
                })
            })
            .collect();
        assert!(askers.into_iter().all(|asker| asker.join().unwrap()));
    });
    server.wait_until_idle();
}
