// SPDX-License-Identifier: Apache-2.0
// Streamable HTTP in front of a server that speaks over standard input and output: the official conformance suite asks for
// a URL. Usage: node bridge.mjs COMMAND ARGUMENT...   Prints its URL, ends with its standard input.
//
// A client with a handshake gets a process and a session of its own; clients of 2026-07-28 share one process, which they
// may, because every request says all of itself. Each POST is answered with one JSON text, or with a stream of events when
// the server says more than the answer. BRIDGE_LOG names a file that gets each line of the server's, for the schema.
import http from 'node:http'
import fs from 'node:fs'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { randomUUID } from 'node:crypto'

const [command, ...args] = process.argv.slice(2)
const LIMIT = 4 << 20
const sessions = new Map()
const log = process.env.BRIDGE_LOG ? fs.openSync(process.env.BRIDGE_LOG, 'a') : null

class Session {
  constructor() {
    this.open = new Map() // id -> what takes messages until the answer to it
    this.lastId = 0
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.child.on('exit', () => { for (const one of this.open.values()) one.end() })
    createInterface({ input: this.child.stdout }).on('line', line => this.take(JSON.parse(line), line))
  }
  send(message) { this.child.stdin.write(JSON.stringify(message) + '\n') }
  // Two HTTP requests may well have the same id: here each gets one of its own.
  ask(message, listener) {
    const id = `bridge-${++this.lastId}`
    this.open.set(id, { ...listener, theirs: message.id, token: message.params?._meta?.progressToken })
    this.send({ ...message, id })
    return id
  }
  take(message, line) {
    if (log !== null) fs.writeSync(log, line + '\n')
    const open = this.open.get(message.id)
    if (open && message.method === undefined) {
      this.open.delete(message.id)
      return open.answer({ ...message, id: open.theirs })
    }
    if (message.method === undefined) { // to something that had no id to answer to
      const [first] = this.open.values()
      return first?.answer(message)
    }
    const token = message.params?.progressToken
    for (const one of this.open.values()) {
      if (token === undefined || one.token === token) return one.more(message)
    }
  }
}

const STATUS = { '-32601': 404, '-32602': 400, '-32600': 400, '-32700': 400, '-32020': 400, '-32021': 400, '-32022': 400 }

function isLocal(request) {
  const name = value => value === undefined || ['localhost', '127.0.0.1', '[::1]'].includes(value.replace(/^https?:\/\//, '').replace(/:\d+$/, ''))
  return name(request.headers.host) && name(request.headers.origin)
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(body === undefined ? undefined : JSON.stringify(body))
}

const modernMeta = message => message.params?._meta?.['io.modelcontextprotocol/protocolVersion']
const isModern = (request, message) => modernMeta(message) !== undefined || request.headers['mcp-protocol-version'] === '2026-07-28'

// What 2026-07-28 has the transport compare: headers and body say the same.
function mismatch(request, message) {
  const wrong = []
  const header = request.headers['mcp-protocol-version']
  if (modernMeta(message) !== undefined && header !== modernMeta(message)) wrong.push('MCP-Protocol-Version')
  if (request.headers['mcp-method'] !== undefined && request.headers['mcp-method'] !== message.method) wrong.push('Mcp-Method')
  return wrong
}

function serve(request, response, session, message, modern, headers) {
  if (message.id === undefined || message.method === undefined) {
    session.send(message)
    return json(response, 202, undefined, headers)
  }
  let streaming = false
  const event = one => response.write(`event: message\ndata: ${JSON.stringify(one)}\n\n`)
  const id = session.ask(message, {
    more(one) {
      if (!streaming) response.writeHead(200, { 'Content-Type': 'text/event-stream', ...headers })
      streaming = true
      event(one)
    },
    answer(one) {
      if (streaming) { event(one); return response.end() }
      json(response, modern && one.error ? STATUS[one.error.code] ?? 200 : 200, one, headers)
    },
    end() { response.end() }
  })
  response.on('close', () => {
    if (session.open.delete(id)) session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
  })
}

let shared
const server = http.createServer(async (request, response) => {
  if (!isLocal(request)) return json(response, 403, { error: 'not from here' })
  const name = request.headers['mcp-session-id']
  if (request.method === 'DELETE') {
    sessions.get(name)?.child.stdin.end()
    sessions.delete(name)
    return json(response, 200)
  }
  if (request.method !== 'POST') return json(response, 405)
  let body = ''
  for await (const part of request) if ((body += part).length > LIMIT) return json(response, 413)
  let message
  try { message = JSON.parse(body) } catch { return json(response, 400, { jsonrpc: '2.0', error: { code: -32700, message: 'no JSON' } }) }
  if (isModern(request, message)) {
    const wrong = mismatch(request, message)
    if (wrong.length) {
      return json(response, 400, { jsonrpc: '2.0', id: message.id, error: { code: -32020, message: `header mismatch: ${wrong}` } })
    }
    return serve(request, response, shared ??= new Session(), message, true, {})
  }
  if (message.method === 'initialize') {
    const fresh = randomUUID()
    sessions.set(fresh, new Session())
    return serve(request, response, sessions.get(fresh), message, false, { 'Mcp-Session-Id': fresh })
  }
  const session = name === undefined ? (shared ??= new Session()) : sessions.get(name)
  if (!session) return json(response, 404)
  serve(request, response, session, message, name === undefined, {})
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
process.stdin.resume().on('end', () => process.exit(0))
