/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command that calls tools, in process mode: `tool`, which is written into the view of a
 * sandbox whose program may call some by it (interpreter/tool_command/tool_command.h).
 */
#include "interpreter/tool_command/tool_command.h"

int main(int count, char **words)
{
    return tool_command(count, words);
}
