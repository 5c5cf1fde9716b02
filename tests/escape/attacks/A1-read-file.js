// SPDX-License-Identifier: Apache-2.0
// attack: A1
// title: read a file of the host by its path
// backends: docker, process
// expect: completed exit
// layers: mount namespace, no binds
// evidence: token
// control docker: bind
// control process: bind
console.log(process.env.TRIED);
console.log(require("fs").readFileSync(process.env.CANARY_DIR + "/file", "utf8"));
