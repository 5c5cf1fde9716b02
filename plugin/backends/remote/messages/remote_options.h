/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages between the gateway's side of mode remote and its backend. The opaque part of a
 * run's description says where the workers are and how to connect to them; the backend reports the
 * worker that a run was on. Pure code, any thread; both ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "protocol/run_description.h"
#include "protocol/run_event.h"

#define REMOTE_WORKERS_MOST      256
#define REMOTE_HOST_LIMIT        253 /* bytes of a host's name */
#define REMOTE_ADDRESS_LIMIT     261 /* of "HOST:PORT" and "[HOST]:PORT" */
#define REMOTE_WORKER_MODE_LIMIT 15  /* of "unprivileged" and the others */
#define REMOTE_DNS_NAME_LIMIT    127 /* of a name that a certificate must have */

/* Texts are "" where nothing is given, and NULL is written as "". */
struct remote_options {
    /* For each worker the DNS name that its certificate must have, a space and its address. NULL:
     * workers are to be discovered. */
    char **workers;
    char *discover_dns;  /* "HOST:PORT": each address of the host is a worker ... */
    char *discover_name; /* ... and its certificate has this name */
    char *discover_file; /* path of a file of such workers, one a line */
    char *authority;     /* path: those that sign the certificates of workers */
    char *certificate;   /* path: the gateway's own */
    char *key;           /* path */
    char *mode;          /* that the workers must have */
};

/* Into *ret, whose bytes before it frees; false when out of memory, or where it is too long. */
bool remote_options_write(const struct remote_options *options, struct wire_bytes *ret);
/* *ret owns its texts (remote_options_clear()); false where the bytes are no such options. */
bool remote_options_read(const struct wire_bytes *bytes, struct remote_options *ret);
void remote_options_clear(struct remote_options *options);

/* One worker as a line has it: "NAME HOST:PORT". */
struct remote_place {
    char name[REMOTE_DNS_NAME_LIMIT + 1];
    char address[REMOTE_ADDRESS_LIMIT + 1];
};

struct remote_address {
    char host[REMOTE_HOST_LIMIT + 1]; /* without the brackets of an IPv6 address */
    char port[6];
};

/* "HOST:PORT" or "[IPV6]:PORT", of a host that may stand in an address; false elsewhere. */
bool remote_address_parse(const char *text, struct remote_address *ret);
/* A DNS name in lower case, as a certificate has it, without "*". */
bool remote_name_is_valid(const char *name);
/* Any number of blanks may stand around and between the two. false: the line is not of that form.
 */
bool remote_place_parse(const char *line, struct remote_place *ret);

/* The worker that a run was on, in STARTED and ENDED; "" if not known. */
struct remote_details {
    char worker[128];                        /* as it calls itself */
    char attested_by[128];                   /* the name in its certificate that was checked */
    char address[96];                        /* cut */
    char mode[REMOTE_WORKER_MODE_LIMIT + 1]; /* in which it runs programs */
};

void remote_details_write(const struct remote_details *details, struct run_details *ret);
/* Nothing is known where the bytes are no details. */
struct remote_details remote_details_read(const struct run_details *details);
