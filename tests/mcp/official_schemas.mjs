// SPDX-License-Identifier: Apache-2.0
// Prints the protocol's official JSON schemas, one for each revision that the conformance suite carries, as one JSON text.
// Usage: node official_schemas.mjs FILE-OF-THE-SUITE
import fs from 'node:fs'

const source = fs.readFileSync(process.argv[2], 'utf8')

// The end of the object that begins at `start`, past strings of all three kinds.
function endOf(start) {
  let depth = 0
  for (let i = start; i < source.length; i++) {
    const c = source[i]
    if (c === '"' || c === "'" || c === '`') {
      for (i++; source[i] !== c; i++) if (source[i] === '\\') i++
    } else if (c === '{') depth++
    else if (c === '}' && --depth === 0) return i + 1
  }
  throw new Error('the object has no end')
}

const schemas = []
for (const found of source.matchAll(/\{\$schema:`[^`]*`,(?:definitions|\$defs):\{Annotations/g)) {
  schemas.push(new Function(`return ${source.slice(found.index, endOf(found.index))}`)())
}
const definitions = schema => schema.$defs ?? schema.definitions
const known = {
  '2026-07-28': one => 'DiscoverResult' in one,
  '2025-11-25': one => 'URLElicitationRequiredError' in one,
  '2025-06-18': one => 'ElicitRequest' in one && 'ResourceLink' in one,
  '2025-03-26': one => 'JSONRPCBatchRequest' in one
}
const named = {}
for (const schema of schemas) {
  const revision = Object.keys(known).find(name => known[name](definitions(schema)))
  named[revision ?? 'unknown'] ??= schema
}
console.log(JSON.stringify(named))
