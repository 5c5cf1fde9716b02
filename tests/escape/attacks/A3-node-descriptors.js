// SPDX-License-Identifier: Apache-2.0
// attack: A3
// title: find what an interpreter that waited has still open: sockets, memory files, a filter's listener, directories
// backends: docker, process
// expect: completed exit
// layers: nothing is inherited
// evidence: proof
// control docker: leaked-descriptor
// control process: leaked-descriptor landlock
const fs = require('fs');

for (const descriptor of fs.readdirSync('/proc/self/fd').map(Number).filter((number) => number > 2)) {
  try {
    const name = fs.readlinkSync(`/proc/self/fd/${descriptor}`);
    if (/^socket:|memfd|seccomp|signalfd/.test(name) || (name.startsWith('/') && !/^.(dev|proc|sys).*/.test(name)))
      console.log(process.env.PROOF, descriptor, name);
  } catch (error) { // the one by which the directory was read
    if (error.code !== 'ENOENT') throw error;
  }
}
console.log(process.env.TRIED);
