/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program behind the commands pip, npm and others, in the view of each sandbox whose program
 * has no network (interpreter/installer_command/installer_command.h).
 */
#include "interpreter/installer_command/installer_command.h"

int main(int count, char **words)
{
    return installer_command(count, words);
}
