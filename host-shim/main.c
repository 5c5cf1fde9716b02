/* SPDX-License-Identifier: Apache-2.0 */
/*
 * toolhost, the reference host of the tool-provider ABI: reads the command line and hands over to
 * a command. Main thread.
 */
#include <signal.h>
#include <string.h>

#include "cleanup.h"
#include "commands.h"
#include "console.h"
#include "descriptor_io.h"

static int print_text(int out, const char *text)
{
    return write_fully(out, text, strlen(text)) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_command(const struct options *options, int out)
{
    switch (options->command) {
    case COMMAND_MANIFEST:
        return command_manifest(options, out);
    case COMMAND_RUN:
        return command_run(options, out);
    case COMMAND_INVOKE:
        return command_invoke(options, out);
    case COMMAND_DOCTOR:
        return command_doctor(options, out);
    case COMMAND_STATUS:
        return command_status(options, out);
    case COMMAND_TOP:
        return command_top(options, out);
    case COMMAND_CONFORMANCE:
        return command_conformance(options, out);
    case COMMAND_CONFORMANCE_CASE:
        return command_conformance_case(options, out);
    case COMMAND_POLICY:
        return command_policy(options, out);
    case COMMAND_APPROVALS:
        return command_approvals(options, out);
    case COMMAND_AUDIT:
        return command_audit(options, out);
    case COMMAND_MCP:
        return command_mcp(options, out);
    case COMMAND_VERSION:
        return print_text(out, "toolhost " TOOLHOST_VERSION "\n");
    case COMMAND_HELP:
    case COMMAND_NONE:
        break;
    }
    return print_text(out, options_help);
}

int main(int argc, char **argv)
{
    /* One that was inherited as ignored would make every child unwaitable. */
    (void)signal(SIGCHLD, SIG_DFL);
    CLEANUP_CLOSE int out = console_take_stdout();
    struct failure failure;
    CLEANUP(options_clear) struct options options = {0};
    if (out < 0)
        (void)failure_set(&failure, "internal", "the standard streams cannot be used");
    if (out < 0 || !options_parse(argc, argv, &options, &failure)) {
        console_print_failure(&failure);
        return EXIT_USAGE;
    }
    return run_command(&options, out);
}
