// SPDX-License-Identifier: Apache-2.0
// A gateway in Node, with koffi 3 (npm install koffi): API_KEY=... CODE_EXEC_POLICY=policy.json node gateway.mjs code_execute.so
// tool_invoke() waits on a thread of koffi's and its callbacks run on the main one, which may not wait: the approval is
// answered later, by tool_reply_approval().
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import koffi from 'koffi';

const ALLOW = 0x600dca11, LATER = 0x1a7e4001;
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const library = koffi.load(process.argv[2]);
const host = {
  check_capability(user, name, verdict) {
    if (['sandbox.exec', 'sandbox.exec.secrets'].includes(name)) koffi.encode(verdict, 'uint32_t', ALLOW);
  },
  request_approval(user, token, request, verdict) {
    process.stderr.write(`${request}\nRun this? [y/N] `);
    koffi.encode(verdict, 'uint32_t', LATER);
    answers.next().then(({ value }) => tool_reply_approval(token,
      JSON.stringify({ decision: value === 'y' ? 'allow_once' : 'deny', approver: 'terminal' })));
  },
  read_secret(user, name, buffer, capacity, length, verdict) {
    const value = Buffer.from({ 'api-key': process.env.API_KEY }[name]); // throws where there is none: denied
    koffi.encode(length, 'size_t', value.length); // where it is more than capacity, it is asked for again
    if (value.length <= capacity) koffi.encode(buffer, 'uint8_t', value, value.length);
    koffi.encode(verdict, 'uint32_t', ALLOW);
  },
  audit(user, record, verdict) {
    process.stderr.write(`audit: ${record}\n`);
    koffi.encode(verdict, 'uint32_t', ALLOW); // what is not stored does not run
  },
  on_output(user, stream, bytes, length) {
    writeSync(stream === 1 ? 1 : 2, Buffer.from(koffi.decode(bytes, 'uint8_t', Number(length))));
  },
};
const parameters = {
  check_capability: ['void *', 'const char *', 'void *'],
  request_approval: ['void *', 'uint64_t', 'const char *', 'void *'],
  read_secret: ['void *', 'const char *', 'void *', 'size_t', 'void *', 'void *'],
  audit: ['void *', 'const char *', 'void *'],
  on_output: ['void *', 'uint32_t', 'void *', 'size_t'],
};
for (const name in parameters) parameters[name] = koffi.pointer(koffi.proto(name, 'void', parameters[name]));
const type = koffi.struct('tool_host', { struct_size: 'uint32_t', abi_version: 'uint32_t', user: 'void *',
  call_id: 'uint64_t', context_json: 'const char *', ...parameters });
// What throws out of a callback ends the program, which would then wait for ever for the thread inside the call.
const caught = (callback) => (...words) => { try { callback(...words); } catch (error) { console.error(error); } };
for (const name in parameters) host[name] = koffi.register(caught(host[name]), parameters[name]);
const tool_invoke = library.func('int32_t tool_invoke(const char *, const char *, const tool_host *, _Out_ void **)');
const tool_reply_approval = library.func('int32_t tool_reply_approval(uint64_t, const char *)');
const tool_free = library.func('void tool_free(void *)');

const call = { language: 'sh', code: 'echo length ${#KEY}; echo $KEY', secrets: { KEY: '{{secret:api-key}}' } };
const result = [null];
const filled = { struct_size: koffi.sizeof(type), abi_version: 1 << 16, call_id: 1, ...host };
tool_invoke.async('code_execute', JSON.stringify(call), filled, result, (error, status) => {
  console.log(`result: ${koffi.decode(result[0], 'char', -1)}`);
  tool_free(result[0]);
  process.exit(status);
});
