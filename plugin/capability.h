/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities a call can need. One table names them for the manifest, the policy, the gate and
 * the documentation. A name outside it grants nothing anywhere. Constant data, any thread.
 */
#pragma once

#include <stdbool.h>

/* X(constant, name, what it lets a call do); the first is needed by every call. */
#define CAPABILITIES(X)                                                                           \
    X(EXEC, "sandbox.exec", "run code at all")                                                    \
    X(NETWORK, "sandbox.exec.network", "ask for network access")                                  \
    X(SECRETS, "sandbox.exec.secrets", "ask for secrets by handle")                               \
    X(FILES, "sandbox.exec.files", "put files into the working directory")                        \
    X(IMAGE, "sandbox.exec.image", "choose an image of the policy's list (docker mode)")          \
    X(SESSION, "sandbox.exec.session", "keep an interpreter's state between calls")               \
    X(MODE_NONE, "sandbox.exec.mode.none", "run without isolation where the policy's mode is so") \
    X(LIMITS_EXTENDED, "sandbox.exec.limits.extended",                                            \
      "ask for more time than the policy's default, up to its ceiling")

enum capability {
#define X(constant, name, meaning) CAPABILITY_##constant,
    CAPABILITIES(X)
#undef X
        CAPABILITY_COUNT
};

/* capability < CAPABILITY_COUNT */
const char *capability_name(enum capability capability);
const char *capability_meaning(enum capability capability);
bool capability_known(const char *name);
