// SPDX-License-Identifier: Apache-2.0
// attack: B20
// title: more processes than there may be (100)
// backends: docker, process
// expect: completed exit | completed process_limit | killed cpu_limit
// layers: process limit
// evidence: tasks
// control docker: pids memory nofile
// control process: pids memory rlimit-nofile
console.log(process.env.TRIED);
const { spawn } = require("child_process");
for (let i = 0; i < 100; i++) spawn("sleep", ["1"]).on("error", () => {});
