// SPDX-License-Identifier: Apache-2.0
// Compiles schemas with Ajv in strict mode and holds instances against them. Standard input:
// [{"name", "schema", "valid": [...], "invalid": [...]}]; one line for everything that is not so.
// node compile_schemas.cjs DIRECTORY-WITH-NODE_MODULES
const { createRequire } = require('node:module');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');

const Ajv = createRequire(join(process.argv[2], 'package.json'))('ajv/dist/2020').default;

for (const { name, schema, valid = [], invalid = [] } of JSON.parse(readFileSync(0, 'utf8'))) {
  try {
    const validate = new Ajv({ strict: true, strictRequired: true, validateFormats: false }).compile(schema);
    for (const instance of valid)
      if (!validate(instance)) console.log(`${name}: ${JSON.stringify(instance)}: ${JSON.stringify(validate.errors)}`);
    for (const instance of invalid)
      if (validate(instance)) console.log(`${name}: takes ${JSON.stringify(instance)}`);
  } catch (error) {
    console.log(`${name}: ${error.message}`);
  }
}
