// SPDX-License-Identifier: Apache-2.0
// attack: D61
// title: more memory than there may be (240 MiB)
// backends: docker, process
// expect: killed memory_limit
// layers: memory limit
// evidence: memory
// control docker: memory
// control process: memory
console.log(process.env.TRIED);
const blocks = [];
for (let i = 0; i < 240; i++) blocks.push(Buffer.alloc(1 << 20, 1));
setTimeout(() => {}, 300);
