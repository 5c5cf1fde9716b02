// SPDX-License-Identifier: Apache-2.0
// The official clients over real standard input and output. Usage: node official_client.mjs KIND COMMAND ARGUMENT...
// KIND: sdk (@modelcontextprotocol/sdk), default or auto (@modelcontextprotocol/client, without and with negotiation).
// Prints as JSON what each step came to. MCP_CLIENTS names where the packages are installed.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

const [kind, command, ...args] = process.argv.slice(2)
const require = createRequire(process.env.MCP_CLIENTS + '/')
const load = name => import(pathToFileURL(require.resolve(name)))
const capabilities = { elicitation: { form: {} } }
const asked = []
const said = { action: 'accept' }
const onQuestion = async request => { asked.push(request.params); return { ...said } }

async function connect() {
  const information = { name: `official-${kind}`, version: '1' }
  if (kind === 'sdk') {
    const { Client } = await load('@modelcontextprotocol/sdk/client/index.js')
    const { StdioClientTransport } = await load('@modelcontextprotocol/sdk/client/stdio.js')
    const { ElicitRequestSchema } = await load('@modelcontextprotocol/sdk/types.js')
    const client = new Client(information, { capabilities })
    client.setRequestHandler(ElicitRequestSchema, onQuestion)
    await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }))
    return { client, call: (name, input = {}, options = {}) => client.callTool({ name, arguments: input }, undefined, options) }
  }
  const { Client } = await load('@modelcontextprotocol/client')
  const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio')
  const client = new Client(information, { capabilities, ...(kind === 'auto' ? { versionNegotiation: { mode: 'auto' } } : {}) })
  client.setRequestHandler('elicitation/create', onQuestion)
  await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }))
  return { client, call: (name, input = {}, options = {}) => client.callTool({ name, arguments: input }, options) }
}

const outcome = {}
const step = async (name, run) => {
  try { outcome[name] = await run() } catch (error) { outcome[name] = { thrown: error.message, code: error.code } }
}
const { client, call } = await connect()
outcome.revision = client.getNegotiatedProtocolVersion?.() ?? client.transport?._protocolVersion
outcome.server = client.getServerVersion()
await step('tools', async () => (await client.listTools()).tools.map(tool => tool.name))
for (const name of ['test_structured', 'test_image_content', 'test_multiple_content_types', 'test_error_handling', 'test_files']) {
  await step(name, () => call(name))
}
await step('read', async () => {
  const link = outcome.test_files.content.find(block => block.type === 'resource_link' && block.name.endsWith('.bin'))
  const { contents } = await client.readResource({ uri: link.uri })
  return contents.map(one => ({ uri: one.uri === link.uri, length: one.blob.length }))
})
await step('no such tool', () => call('no_such_tool'))
await step('progress', async () => {
  const steps = []
  await call('test_tool_with_progress', {}, { onprogress: one => steps.push(one) })
  return steps
})
await step('accepted', () => call('test_elicitation'))
said.action = 'decline'
await step('declined', () => call('test_elicitation'))
await step('cancelled', async () => {
  const ending = new AbortController()
  const running = call('test_tool_with_progress', {}, { signal: ending.signal })
  setTimeout(() => ending.abort('enough'), 100)
  return await running
})
await step('after', () => call('test_simple_text'))
outcome.asked = asked
await client.close()
console.log(JSON.stringify(outcome))
