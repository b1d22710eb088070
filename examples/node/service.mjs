// A small HTTP service over a collection, with nothing but Node.
//
// Lookups are made here and now: one takes about a microsecond, which is less than
// handing it to another thread. Writes go through their asynchronous twins, and the
// whole collection is streamed while it is read. The errors of the database have
// codes; a table makes statuses of them.
//
// Prints:
//
//     PUT /users/ada 201 {"_id":"ada","name":"Ada","born":1815}
//     PUT /users/ada 200 {"_id":"ada","name":"Ada","born":1815,"field":"mathematics"}
//     PATCH /users/ada 200 {"_id":"ada","name":"Ada","born":1815}
//     GET /users/nobody 404 {"error":"no user \"nobody\""}
//     PUT /users/..evil 400 {"error":"document id \"..evil\" may not start with a dot or contain \"..\""}
//     PUT /users/broken 400 {"error":"the body is not JSON"}
//     POST /users 404 {"error":"no POST /users"}
//     GET /users streamed 1001 lines
//     DELETE /users/ada 204
//     after a restart there are 1000 users

import { once } from 'node:events'
import http from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { FolioError, open } from 'foliodb'

const BODY_SIZE_MAX = 1 << 20
const STATUSES = { invalid_input: 400, syntax: 400, type_mismatch: 422, not_found: 404, conflict: 409, locked: 503 }

/** Makes a service of a database. */
function service(db) {
  const users = db.collection('users')
  const missing = (id) => ({ status: 404, body: { error: `no user ${JSON.stringify(id)}` } })

  const routes = {
    'GET /users': () => ({ status: 200, lines: users.scan({ lazy: true }) }),
    'GET /users/:id': (id) => {
      const user = users.get(id)
      return user ? { status: 200, body: user } : missing(id)
    },
    'PUT /users/:id': async (id, request) => {
      const what = await users.putAsync(id, await json(request))
      return { status: what === 'inserted' ? 201 : 200, body: users.get(id) }
    },
    'PATCH /users/:id': async (id, request) => {
      const user = await users.patchAsync(id, await json(request))
      return user ? { status: 200, body: user } : missing(id)
    },
    'DELETE /users/:id': async (id) => ((await users.deleteAsync(id)) ? { status: 204 } : missing(id)),
  }

  return http.createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost')
    const [, id] = /^\/users\/([^/]+)$/.exec(pathname) ?? []
    const route = `${request.method} ${id === undefined ? pathname : '/users/:id'}`
    try {
      const answer = await (routes[route]?.(id && decodeURIComponent(id), request) ?? { status: 404, body: { error: `no ${route}` } })
      await send(response, answer)
    } catch (error) {
      const status = (error instanceof FolioError && STATUSES[error.code]) || error.status || 500
      await send(response, { status, body: { error: status === 500 ? 'something went wrong' : error.message } })
    }
  })
}

/** The body of a request. */
async function json(request) {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk
    if (text.length > BODY_SIZE_MAX) throw Object.assign(new Error('the body is too large'), { status: 413 })
  }
  try {
    return JSON.parse(text)
  } catch {
    throw Object.assign(new Error('the body is not JSON'), { status: 400 })
  }
}

/** Sends an answer; lines go out as they are read, and no faster than the client takes them. */
async function send(response, { status, body, lines }) {
  if (lines) {
    response.writeHead(status, { 'content-type': 'application/x-ndjson' })
    return pipeline(Readable.from(text(lines)), response)
  }
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(body && JSON.stringify(body))
}

async function* text(documents) {
  for await (const document of documents) yield `${document.raw}\n`
}

// The service at work.

const db = open('service')
const server = service(db).listen(0)
await once(server, 'listening')
const base = `http://localhost:${server.address().port}`

async function ask(method, path, body) {
  const answer = await fetch(base + path, { method, body })
  console.log(`${method} ${path} ${answer.status} ${await answer.text()}`.trim())
}

await ask('PUT', '/users/ada', '{"name":"Ada","born":1815}')
await ask('PUT', '/users/ada', '{"name":"Ada","born":1815,"field":"mathematics"}')
await ask('PATCH', '/users/ada', '{"field":null}')
await ask('GET', '/users/nobody')
await ask('PUT', '/users/..evil', '{}')
await ask('PUT', '/users/broken', '{"name":')
await ask('POST', '/users', '{}')
db.collection('users').putMany(Array.from({ length: 1000 }, (_, n) => ({ _id: `user${n}`, n })))
const streamed = await (await fetch(`${base}/users`)).text()
console.log(`GET /users streamed ${streamed.trim().split('\n').length} lines`)
await ask('DELETE', '/users/ada')

// An orderly end: no new requests, the open ones answered, the data on the disk.
server.close()
await once(server, 'close')
await db.closeAsync()
console.log(`after a restart there are ${open('service', { mode: 'r' }).collection('users').count()} users`)
