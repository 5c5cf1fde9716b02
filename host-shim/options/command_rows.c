/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of toolhost and their words. Constant data. */
#include "options/command_rows.h"

#include <string.h>

#include "base/cleanup.h"

static const struct command_action policy_actions[] = {
    {"check", "FILE", "check that the policy loads and that all of it has an effect"},
    {"explain", "--input FILE", "show what would happen to a tool input, and which rule decides"},
    {NULL, NULL, NULL},
};

static const struct command_action approvals_actions[] = {
    {"list", "", "list requests and standing grants"},
    {"show", "ID", "show one request or grant in full"},
    {"approve", "ID", "allow a request"},
    {"deny", "ID", "deny a request"},
    {"cancel", "ID", "deny a request, and end what waits for it"},
    {"revoke", "ID", "withdraw a grant or a request"},
    {NULL, NULL, NULL},
};

static const struct command_action sessions_actions[] = {
    {"list", "", "list the sessions that live in the server"},
    {"end", "ID", "end one; its owner's next call for it hears of it"},
    {NULL, NULL, NULL},
};

static const struct command_action env_actions[] = {
    {"list", "[NAME]", "list the environments, and with NAME the packages of one"},
    {"build", "NAME", "build one from its lock file, in a sandbox"},
    {"check", "[NAME]", "compare every file with what was built"},
    {"gc", "", "remove sets of packages that nothing leads to any more"},
    {NULL, NULL, NULL},
};

static const struct command_action artifacts_actions[] = {
    {"list", "", "list the files that are kept"},
    {"get", "URI", "print the content of one, or with --json its entry and content"},
    {NULL, NULL, NULL},
};

static const struct command_action audit_actions[] = {
    {"verify", "[FILE...]", "check that the audit log is unchanged"},
    {"show", "[FILE...]", "print its records"},
    {"head", "[FILE]", "print hash and number of the last record, to keep elsewhere"},
    {"rotate", "[FILE]", "begin a new file"},
    {NULL, NULL, NULL},
};

const struct command_row command_rows[] = {
    {"run", COMMAND_RUN, false, 0, 1, "(-c CODE | FILE | -) [-- ARGUMENT...]",
     "Run a program; its output and exit status are the program's.", NULL},
    {"session", COMMAND_SESSION, false, 0, 0, NULL,
     "Execute what is typed, or read from standard input, in one interpreter that is kept.", NULL},
    {"invoke", COMMAND_INVOKE, false, 0, 1, "[FILE | -]",
     "Call a tool: JSON input from a file or standard input, JSON result.", NULL},
    {"mcp", COMMAND_MCP, false, 0, 0, NULL,
     "Serve clients of the Model Context Protocol on standard input and output, or on a socket.",
     NULL},
    {"doctor", COMMAND_DOCTOR, false, 0, 0, NULL,
     "Show what this machine can do, what is missing, and how to get it.", NULL},
    {"status", COMMAND_STATUS, false, 0, 0, NULL,
     "Show whether programs can run, and the provider's counters.", NULL},
    {"manifest", COMMAND_MANIFEST, false, 0, 0, NULL,
     "Print the provider's manifest, or its tools as a model's API takes them.", NULL},
    {"policy", COMMAND_POLICY, false, 1, 2, NULL,
     "Check a policy, or explain what it does with a call; nothing is run.", policy_actions},
    {"approvals", COMMAND_APPROVALS, false, 1, 2, NULL,
     "List and answer requests for approval, and withdraw grants.", approvals_actions},
    {"sessions", COMMAND_SESSIONS, false, 1, 2, NULL,
     "List and end the sessions of a running toolhost mcp --control PATH.", sessions_actions},
    {"env", COMMAND_ENV, false, 1, 2, NULL,
     "Build, check and list the sets of packages of a policy's environments.", env_actions},
    {"artifacts", COMMAND_ARTIFACTS, false, 1, 2, NULL,
     "List and fetch files that programs have left.", artifacts_actions},
    {"audit", COMMAND_AUDIT, false, 1, OPTIONS_WORDS, NULL,
     "Verify, show and rotate the audit log.", audit_actions},
    {"conformance", COMMAND_CONFORMANCE, false, 1, 1, "FILE.so",
     "Check a provider against the ABI.", NULL},
    {"help", COMMAND_HELP, false, 0, 1, "[COMMAND]", "Show the options of a command.", NULL},
    {"conformance-case", COMMAND_CONFORMANCE_CASE, true, 2, 2, "NAME FILE.so",
     "Run one case of conformance.", NULL},
    {"completion-words", COMMAND_COMPLETION_WORDS, true, 0, 1, "[COMMAND]",
     "Print the commands, or the options of one, for a shell's completion.", NULL},
};
const size_t command_row_count = COUNT_OF(command_rows);

const struct command_row *command_row_of(enum command command)
{
    for (size_t i = 0; i < command_row_count; i++) {
        if (command_rows[i].command == command)
            return &command_rows[i];
    }
    return NULL;
}

const struct command_row *command_row_find(const char *name)
{
    for (size_t i = 0; i < command_row_count; i++) {
        if (strcmp(command_rows[i].name, name) == 0)
            return &command_rows[i];
    }
    return NULL;
}
