// SPDX-License-Identifier: Apache-2.0
// attack: E75
// title: connect to a service of the host's loopback
// backends: docker, process
// expect: completed exit
// layers: network namespace, seccomp
// evidence: tcp
// control docker: network seccomp
// control process: network seccomp landlock
console.log(process.env.TRIED);
const socket = require("net").connect(Number(process.env.TCP_PORT), "127.0.0.1", () => socket.end());
socket.on("error", () => {});
