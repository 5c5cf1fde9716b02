// SPDX-License-Identifier: Apache-2.0
// Installs the packages of a lock file into a directory, and packs it: the content of an environment. Runs in a sandbox, as the program of a
// call of ours. Every file has the same time, so that the content depends on the lock file and the package manager alone.
"use strict";
const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");

const TIME = "@946684800"; // 2000-01-01

function run(command, options, directory) {
  const ended = spawnSync(command, options, { cwd: directory, stdio: ["ignore", "ignore", "inherit"] });
  if (ended.error) {
    process.stderr.write(`${command}: ${ended.error.message}\n`);
    process.exit(127);
  }
  if (ended.status !== 0)
    process.exit(ended.status === null ? 1 : ended.status);
}

function packagesOf(lock) {
  return Object.entries(lock.packages || {}).filter(([place, entry]) => place !== "" && !entry.link && place.includes("node_modules/"))
    .map(([place, entry]) => ({
      name: entry.name || place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length),
      version: entry.version || null,
      integrity: entry.integrity || null,
    }));
}

const settings = JSON.parse(fs.readFileSync("settings.json", "utf8"));
const lockText = fs.readFileSync("package-lock.json", "utf8");
const lock = JSON.parse(lockText);
const packages = packagesOf(lock);
const withoutHash = packages.find((entry) => !entry.integrity);
if (withoutHash) {
  process.stderr.write(`package-lock.json: ${withoutHash.name} has no integrity hash\n`);
  process.exit(1);
}
const target = fs.mkdtempSync(path.join(os.tmpdir(), "content-"));
const root = (lock.packages && lock.packages[""]) || {};
fs.writeFileSync(path.join(target, "package.json"),
  JSON.stringify({ name: root.name, version: root.version, dependencies: root.dependencies, optionalDependencies: root.optionalDependencies }));
fs.writeFileSync(path.join(target, "package-lock.json"), lockText);
const scripts = settings.build_scripts ? [] : ["--ignore-scripts"];
run("npm", ["ci", ...scripts, "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--bin-links=false"], target);
fs.mkdirSync(path.join(target, "node_modules"), { recursive: true });
fs.writeFileSync("packages.json", JSON.stringify({ runtime: `node ${process.version} ${process.arch}`, packages }));
run("tar", ["--create", "--file", path.resolve("environment.tar"), "--format=pax", "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
  `--mtime=${TIME}`, "--pax-option=delete=atime,delete=ctime,exthdr.name=%d/PaxHeaders/%f", "node_modules"], target);
