// SPDX-License-Identifier: Apache-2.0
// attack: B26
// title: kill a process of the host by its number
// backends: docker, process
// expect: completed exit
// layers: pid namespace
// evidence: death
// control docker: processes
// control process: processes user landlock
console.log(process.env.TRIED);
process.kill(Number(process.env.SENTINEL), "SIGKILL");
