// SPDX-License-Identifier: Apache-2.0
// A file in by reference, a chart and a table out, with koffi 3:
// CODE_EXEC_POLICY=files.json node files.mjs code_execute.so data.csv
// Approval, secrets and streaming are in gateway.mjs.
import { fstatSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import koffi from 'koffi';

const ALLOW = 0x600dca11;
const [, , plugin, path] = process.argv;
let kept = 0;
const host = {
  check_capability(user, name, verdict) {
    if (['sandbox.exec', 'sandbox.exec.files'].includes(name)) koffi.encode(verdict, 'uint32_t', ALLOW);
  },
  audit(user, record, verdict) {
    process.stderr.write(`audit: ${record}\n`);
    koffi.encode(verdict, 'uint32_t', ALLOW);
  },
  open_file(user, ref, descriptor, size, verdict) { // only for a ref that is listed
    const opened = openSync(path); // a number: the provider closes it. A FileHandle would close it a second time
    koffi.encode(size, 'uint64_t', fstatSync(opened).size);
    koffi.encode(descriptor, 'int32_t', opened);
    koffi.encode(verdict, 'uint32_t', ALLOW);
  },
  store_file(user, file, descriptor, uri, capacity, length, verdict) {
    const name = Buffer.from(`kept-${++kept}`); // the file's "path" is the program's word
    writeFileSync(name, readFileSync(descriptor)); // lent until return: nothing may keep it for later
    koffi.encode(uri, 'uint8_t', name, name.length);
    koffi.encode(length, 'size_t', name.length);
    koffi.encode(verdict, 'uint32_t', ALLOW);
  },
};
const parameters = {
  check_capability: ['void *', 'const char *', 'void *'], request_approval: null, read_secret: null,
  audit: ['void *', 'const char *', 'void *'], on_output: null, log: null, check_content: null,
  open_file: ['void *', 'const char *', 'void *', 'void *', 'void *'],
  store_file: ['void *', 'const char *', 'int32_t', 'void *', 'size_t', 'void *', 'void *'],
};
for (const name in parameters) {
  parameters[name] = parameters[name] ? koffi.pointer(koffi.proto(name, 'void', parameters[name])) : 'void *';
}
const type = koffi.struct('tool_host', { struct_size: 'uint32_t', abi_version: 'uint32_t', user: 'void *',
  call_id: 'uint64_t', context_json: 'const char *', ...parameters });
const caught = (callback) => (...words) => { try { callback(...words); } catch (error) { console.error(error); } };
for (const name in host) host[name] = koffi.register(caught(host[name]), parameters[name]);
const library = koffi.load(plugin);
const tool_invoke = library.func('int32_t tool_invoke(const char *, const char *, const tool_host *, _Out_ void **)');
const tool_free = library.func('void tool_free(void *)');

const code = "import pandas\nframe = pandas.read_csv('data.csv')\nframe.plot().figure.savefig('chart.png')\nframe.describe()";
const call = { language: 'python', code, files: [{ path: 'data.csv', ref: 'data' }] };
const context_json = JSON.stringify({ files: [{ ref: 'data', name: 'data.csv', size: statSync(path).size }] });
const result = [null];
const filled = { struct_size: koffi.sizeof(type), abi_version: 1 << 16 | 2, call_id: 1, context_json, ...host };
tool_invoke.async('code_execute', JSON.stringify(call), filled, result, (error, status) => {
  console.log(`result: ${koffi.decode(result[0], 'char', -1)}`);
  tool_free(result[0]);
  process.exit(status);
});
