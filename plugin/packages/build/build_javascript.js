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
      name: nameOf(place, entry),
      version: entry.version || null,
      integrity: entry.integrity || null,
    }));
}

// The package of a place in the lock file, such as node_modules/a/node_modules/@b/c.
function nameOf(place, entry) {
  return entry.name || place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
}

// Where the registry is an endpoint, its addresses have the endpoint's path in front, which npm leaves out of those that the registry tells.
// The hashes of the lock file say whether an archive is the right one.
function resolveAtEndpoint(lock) {
  const registry = process.env.npm_config_registry;
  if (!registry)
    return;
  for (const [place, entry] of Object.entries(lock.packages || {})) {
    if (!entry.integrity || (entry.resolved && !/^https?:/.test(entry.resolved)))
      continue;
    const name = nameOf(place, entry);
    const file = entry.resolved ? path.posix.basename(new URL(entry.resolved).pathname) : `${name.replace(/^.*\//, "")}-${entry.version}.tgz`;
    entry.resolved = `${registry.replace(/\/$/, "")}/${name}/-/${file}`;
  }
}

const settings = JSON.parse(fs.readFileSync("settings.json", "utf8"));
const lock = JSON.parse(fs.readFileSync("package-lock.json", "utf8"));
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
resolveAtEndpoint(lock);
fs.writeFileSync(path.join(target, "package-lock.json"), JSON.stringify(lock));
const scripts = settings.build_scripts ? [] : ["--ignore-scripts"];
run("npm", ["ci", ...scripts, "--omit=dev", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error", "--bin-links=false"], target);
fs.mkdirSync(path.join(target, "node_modules"), { recursive: true });
fs.writeFileSync("packages.json", JSON.stringify({ runtime: `node ${process.version} ${process.arch}`, packages }));
run("tar", ["--create", "--file", path.resolve("environment.tar"), "--format=pax", "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
  `--mtime=${TIME}`, "--pax-option=delete=atime,delete=ctime,exthdr.name=%d/PaxHeaders/%f", "node_modules"], target);
