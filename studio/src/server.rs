//! Connections: accepted, counted, each on a thread of its own, each with one request.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use folio::Database;

use crate::answer::answer;
use crate::connection::Connection;
use crate::failure::StartError;
use crate::guard;
use crate::http::{ARRIVAL, Request, Response};
use crate::limits::Limits;
use crate::listen::{Listen, Names};
use crate::shared::Shared;
use crate::token::Token;

/// The stack of a thread that answers; statements that nest deep bring a larger one.
const STACK_SIZE: usize = 2 << 20;

/// The most connections that wait to be accepted.
const WAITING_MAX: i32 = 4096;

/// After a connection that cannot be accepted, most often because too many files are open.
const PAUSE: Duration = Duration::from_millis(20);

/// How long the rest of a refused request may take to arrive.
const LINGER: Duration = Duration::from_secs(1);

pub(crate) fn start(
    database: Database,
    listen: Listen,
    limits: Limits,
) -> Result<(SocketAddr, Arc<Shared>), StartError> {
    let addresses = listen.addresses()?;
    let Listen { host, port, token, tls } = listen;
    let refused = |error| StartError::Socket { host: host.clone(), port, error };
    let listener = TcpListener::bind(&*addresses).map_err(refused)?;
    // The standard library lets 128 connections wait; the system resets some of those beyond.
    rustix::net::listen(&listener, WAITING_MAX).map_err(|error| refused(error.into()))?;
    let address = listener.local_addr().map_err(refused)?;
    let (token, names) = (token.unwrap_or_else(Token::random), Names::new(tls, address));
    let shared = Arc::new(Shared::new(database, limits, token, names));
    let accepting = Arc::clone(&shared);
    let thread = thread::Builder::new().name("folio-studio".to_owned());
    thread.spawn(move || accept(&listener, &accepting)).map_err(refused)?;
    Ok((address, shared))
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for connection in listener.incoming() {
        if shared.is_ended.load(Ordering::Acquire) {
            return;
        }
        let Ok(connection) = connection else {
            thread::sleep(PAUSE);
            continue;
        };
        let (place, shared) = (shared.connections.enter(), Arc::clone(shared));
        // Without a thread, the connection closes.
        let _ = thread::Builder::new().stack_size(STACK_SIZE).spawn(move || {
            serve(connection, &shared);
            drop(place);
        });
    }
}

fn serve(socket: TcpStream, shared: &Shared) {
    let connection = match shared.names.tls() {
        None => Connection::plain(socket),
        Some(tls) => match Connection::with_tls(socket, tls, ARRIVAL) {
            Ok(connection) => connection,
            Err(Some(plain)) => {
                return send(&Response::refused(400, "the studio is at https:// here"), &plain);
            }
            Err(None) => return,
        },
    };
    if let Some(response) = respond(&connection, shared) {
        send(&response, &connection);
    }
}

/// The response to the request of a connection; nothing if there is nobody to answer.
fn respond(connection: &Connection, shared: &Shared) -> Option<Response> {
    match Request::read(connection) {
        Ok(request) => match guard::refusal(&request, shared) {
            Some(refusal) => Some(refusal),
            None => answer(&request, connection, shared),
        },
        Err(refusal) => refusal,
    }
}

/// If nobody reads the response, nobody misses it.
fn send(response: &Response, connection: &Connection) {
    if response.write(connection).is_ok() && response.status != 200 {
        connection.linger(LINGER);
    }
}
