/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of toolhost. Read once, on the main thread, and constant from then on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "approval/approval.h"
#include "audit/audit_setting.h"
#include "base/failure.h"
#include "files/artifact_store.h"

#define OPTIONS_CAPABILITIES 32u
#define OPTIONS_ENDPOINTS    32u
#define OPTIONS_PAIRS        128u
#define OPTIONS_WORDS        64u

enum command {
    COMMAND_NONE,
    COMMAND_MANIFEST,
    COMMAND_RUN,
    COMMAND_SESSION,
    COMMAND_SESSIONS,
    COMMAND_INVOKE,
    COMMAND_DOCTOR,
    COMMAND_ENV,
    COMMAND_STATUS,
    COMMAND_CONFORMANCE,
    COMMAND_CONFORMANCE_CASE,
    COMMAND_APPROVALS,
    COMMAND_ARTIFACTS,
    COMMAND_AUDIT,
    COMMAND_POLICY,
    COMMAND_MCP,
    COMMAND_HELP,
    COMMAND_COMPLETION_WORDS,
};

struct name_value {
    char *name; /* owned */
    const char *value;
};

/* Of an option that may be repeated. */
struct name_values {
    struct name_value pairs[OPTIONS_PAIRS];
    size_t count;
};

/* All pointers but the names above are into argv. */
struct options {
    enum command command;
    const char *plugin;
    const char *policy;
    const char *sandbox;
    const char *capabilities[OPTIONS_CAPABILITIES];
    size_t capability_count;
    bool no_default_capabilities;
    struct name_values secrets;
    struct approver approver;
    bool always;    /* approvals approve: the answer is to stand */
    bool cells;     /* approvals approve: the answer is for the session's further cells too */
    bool whole_run; /* approvals approve: the answer is for all calls of the tool in the run */
    uint64_t days;  /* for so long; 0: not given */
    const char *reason;
    bool approver_named; /* --approve was given */
    bool no_elicitation;
    bool elicitation_choice;
    const char *listen;  /* a socket's path */
    const char *control; /* likewise, for operators */
    uint64_t max_calls;  /* 0: not given */
    bool full_result;    /* structured content is all of the output */
    struct audit_options audit;
    bool help;    /* of the command */
    bool version; /* and nothing else */
    bool open;    /* approvals list: what waits only */
    bool verbose;
    bool json;
    bool sweep;
    const char *workspace;
    const char *narrow; /* a file */
    const char *input;  /* files of policy explain */
    const char *context;
    const char *tool;
    const char *language;
    const char *code;
    const char *stdin_file;
    const char *only_case;
    const char *format;
    const char *metrics;
    const char *metrics_listen; /* an address of this machine */
    uint64_t watch_ms;          /* 0: one look */
    uint64_t timeout_ms;        /* 0: not given */
    bool network;
    const char *endpoints[OPTIONS_ENDPOINTS];
    size_t endpoint_count;
    struct name_values files; /* by --file: a path, and its name in the run */
    const char *tools_from;   /* a file: servers whose tools programs may call */
    const char *files_below;  /* a directory whose files a tool's input may name */
    const char *out;          /* a directory for files that the program leaves */
    bool force;               /* also over files that are there */
    bool quiet;
    bool show;             /* pictures, in the terminal */
    const char *artifacts; /* the directory of files that runs left */
    uint64_t artifacts_max_bytes;
    uint64_t artifacts_age_ms; /* how long a new one is kept */
    struct name_values environment;
    struct name_values used_secrets;
    struct name_values settings;      /* members of the tool's input */
    const char *words[OPTIONS_WORDS]; /* what stands behind the command */
    size_t word_count;
    char **program_arguments; /* what stands behind "--" */
    size_t program_argument_count;
};

/* false fills the failure (code "usage") with what is wrong about the command line. */
bool options_parse(int argc, char **argv, struct options *ret, struct failure *failure);
void options_clear(struct options *options);
