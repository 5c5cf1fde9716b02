// SPDX-License-Identifier: Apache-2.0
// Lets the conformance suite start on Node 20: it imports fs.globSync, which came with Node 22, and uses it nowhere in a run
// against a server. Usage: node --import ./glob_sync.mjs …
import { register } from 'node:module'

const source = `export * from 'node:fs'; export { default } from 'node:fs'
export function globSync() { throw new Error('fs.globSync is of Node 22') }`
const url = 'data:text/javascript,' + encodeURIComponent(source)
const hooks = `export async function resolve(name, context, next) {
  return name === 'fs' && context.parentURL?.includes('/conformance/') ? { url: ${JSON.stringify(url)}, shortCircuit: true } : next(name, context)
}`
register('data:text/javascript,' + encodeURIComponent(hooks))
