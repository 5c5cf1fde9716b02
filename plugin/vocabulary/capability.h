/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities a call can need, and lists that grant and deny them. One table names them for
 * the manifest, the policy, the gate and the documentation. A name outside it grants nothing
 * anywhere. Constant data and pure code, any thread.
 *
 * An entry of a list is NAME, NAME=PARAMETER (that one thing only), !NAME or !NAME=PARAMETER (a
 * denial, which wins over any grant).
 */
#pragma once

#include <stdbool.h>

/* X(constant, name, default grant, what it lets a call do); the first is needed by every call. The
 * default grants give a call nothing that is not its own: a host grants them unless its operator
 * says otherwise, and the policy's maxima hold. */
#define CAPABILITIES(X)                                                                           \
    X(EXEC, "sandbox.exec", true, "run code at all")                                              \
    X(NETWORK, "sandbox.exec.network", false, "ask for network access")                           \
    X(ENDPOINTS, "sandbox.exec.endpoints", false, "reach endpoints of the policy")                \
    X(SECRETS, "sandbox.exec.secrets", false, "ask for secrets by handle")                        \
    X(FILES, "sandbox.exec.files", true, "put files into the working directory")                  \
    X(IMAGE, "sandbox.exec.image", false, "choose an image of the policy's list (docker mode)")   \
    X(SESSION, "sandbox.exec.session", true, "keep an interpreter's state between calls")         \
    X(TOOLS, "sandbox.exec.tools", false, "let programs call tools of the gateway")               \
    X(MODE_NONE, "sandbox.exec.mode.none", false, "run without isolation where the mode is none") \
    X(MODE_UNPRIVILEGED, "sandbox.exec.mode.unprivileged", true,                                  \
      "run without namespaces where the policy's isolation is unprivileged")                      \
    X(LIMITS_EXTENDED, "sandbox.exec.limits.extended", true,                                      \
      "ask for more than the default of a limit, up to the policy's ceiling")

enum capability {
#define X(constant, name, default_grant, meaning) CAPABILITY_##constant,
    CAPABILITIES(X)
#undef X
        CAPABILITY_COUNT
};

/* NAME=PARAMETER at its longest, and a NUL. */
#define CAPABILITY_TEXT_SIZE 320

/* capability < CAPABILITY_COUNT */
const char *capability_name(enum capability capability);
const char *capability_meaning(enum capability capability);
bool capability_is_default_grant(enum capability capability);

/* Whether it is an entry of a list: a name of the table, and a parameter only where it has one: of
 * secrets a secret's name, of tools a tool's, of endpoints an endpoint's, of network HOST:PORT
 * (lower case; [ADDRESS]:PORT for IPv6). */
bool capability_entry_valid(const char *entry);

/* Whether the list (entries that are valid; NULL-terminated) grants it. parameter NULL: all of it,
 * which a denial of any part takes away. */
bool capability_list_grants(char *const *list, enum capability capability, const char *parameter);

/* Whether the list grants everything that a valid entry grants; a denial grants nothing. */
bool capability_list_covers(char *const *list, const char *entry);

/* NAME, or NAME=PARAMETER. */
void capability_text(enum capability capability, const char *parameter,
                     char ret[CAPABILITY_TEXT_SIZE]);
