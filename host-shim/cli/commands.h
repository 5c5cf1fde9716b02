/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands. Each runs on the main thread, prints what it has to say, and returns the exit
 * status. out is where standard output is now (console.h).
 */
#pragma once

#include "options/options.h"

#define EXIT_USAGE 2

int command_manifest(const struct options *options, int out);
int command_run(const struct options *options, int out);
int command_invoke(const struct options *options, int out);
int command_session(const struct options *options, int out);
int command_sessions(const struct options *options, int out);
int command_doctor(const struct options *options, int out);
int command_env(const struct options *options, int out);
int command_status(const struct options *options, int out);
int command_conformance(const struct options *options, int out);
int command_conformance_case(const struct options *options, int out);
int command_policy(const struct options *options, int out);
int command_approvals(const struct options *options, int out);
int command_artifacts(const struct options *options, int out);
int command_audit(const struct options *options, int out);
int command_mcp(const struct options *options, int out);
