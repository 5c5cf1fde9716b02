/* SPDX-License-Identifier: Apache-2.0 */
/* The catalogue of attacks: data only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* How the same code is shown to work where the layer is absent. */
enum control {
    CONTROL_NONE_MODE, /* mode none, as whoever runs the test */
    CONTROL_ROOT,      /* the same, but only root may */
    CONTROL_THROWAWAY, /* as root in a copy of the machine's root that is thrown away */
    CONTROL_BARE,      /* without the backend: mode none stops it as well */
};

struct attack {
    const char *name;
    /* Python, behind "import os,socket,ctypes,sys; c=ctypes.CDLL(None,use_errno=True);
     * e=os.environ" and attack_numbers. Prints "no" or ends with an exception where it gets
     * nowhere. */
    const char *code;
    unsigned int evidence; /* one of enum evidence, which the control must give */
    enum control control;
    /* Why the control cannot be had on this machine, NULL where it can. */
    const char *(*lacks)(void);
    bool is_killed; /* the sandbox does not refuse it but kills */
};

/* Python: the numbers of this machine's system calls that the attacks use, as SYS_NAME. */
extern const char attack_numbers[];

extern const struct attack attacks[];
extern const size_t attack_count;
