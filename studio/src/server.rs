//! Connections: accepted, counted, each on a thread of its own, each with one request.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use folio::Database;

use crate::answer::answer;
use crate::guard;
use crate::http::{Request, linger};
use crate::limits::Limits;
use crate::shared::Shared;

/// The stack of a thread that answers; statements that nest deep bring a larger one.
const STACK_SIZE: usize = 2 << 20;

/// The most connections that wait to be accepted.
const WAITING_MAX: i32 = 4096;

/// After a connection that cannot be accepted, most often because too many files are open.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn start(
    database: Database,
    port: u16,
    limits: Limits,
) -> io::Result<(SocketAddr, Arc<Shared>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    // The standard library lets 128 connections wait; the system resets some of those beyond.
    rustix::net::listen(&listener, WAITING_MAX)?;
    let address = listener.local_addr()?;
    let shared = Arc::new(Shared::new(database, limits, address.port()));
    let accepting = Arc::clone(&shared);
    thread::Builder::new()
        .name("folio-studio".to_owned())
        .spawn(move || accept(&listener, &accepting))?;
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
            serve(&connection, &shared);
            drop(connection);
            drop(place);
        });
    }
}

fn serve(connection: &TcpStream, shared: &Shared) {
    let response = match Request::read(connection) {
        Ok(request) => match guard::refusal(&request, shared) {
            Some(refusal) => refusal,
            None => match answer(&request, connection, shared) {
                Some(response) => response,
                None => return,
            },
        },
        Err(Some(refusal)) => refusal,
        Err(None) => return,
    };
    // If nobody reads the answer, nobody misses it.
    if response.write(connection).is_ok() && response.status != 200 {
        linger(connection);
    }
}
