/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order for one run to a backend: complete, already decided, nothing left to interpret. Written
 * by the plugin (encode), read by a backend (decode). The text of the message is a binary sequence
 * of length-prefixed fields (wire.h), carried in a memfd so that its size needs no datagram limit.
 * Pure code, no system call, any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "directory.h"
#include "wire.h"

#define RUN_ID_LENGTH         32                   /* hexadecimal digits */
#define RUN_DESCRIPTION_LIMIT (UINT32_C(64) << 20) /* bytes; a longer one is refused unread */
#define RUN_STRINGS_LIMIT     4096                 /* members of one list */
#define RUN_IMAGE_LIMIT       255                  /* bytes of an image's name */
#define RUN_POOL_LIMIT        256                  /* sandboxes ready at one time */
#define RUN_POOL_IDLE_LIMIT   (UINT64_C(86400000)) /* milliseconds */
#define RUN_NAME_LIMIT        127                  /* of an image's id, a module, an option */
#define RUN_OPTIONS_LIMIT     16384                /* bytes of a mode's own options */
#define RUN_RENEW_LIMIT       1000000              /* copies of one interpreter */
#define RUN_SESSION_LIMIT     UINT64_C(604800000)  /* milliseconds */
#define RUN_WORKSPACE         "/work"              /* where a program finds its workspace */
#define RUN_HOME              "/home/sandbox"      /* its working directory, not in mode none */
#define RUN_HOME_NAME         "home" /* without mounts, in a directory of the run's own: the same, */
#define RUN_TEMPORARY_NAME    "tmp"  /* and beside it what else is at /tmp */
/* Where a program with results finds RUN_FD_RESULTS. The number is out of the way of the ones that
 * a program gets for its own files, and still within the kernel's first table of descriptors. It
 * stays open over one execve, which starts the interpreter. */
#define RUN_RESULTS_FD 63
/* The same for RUN_FD_TOOLS. */
#define RUN_TOOLS_FD 62
/* Where a program with endpoints reaches them, on 127.0.0.1. Its network namespace is empty, so
 * that nobody else has the port. */
#define RUN_ENDPOINTS_PORT 8080

enum run_isolation {
    RUN_ISOLATION_NONE = 0,         /* mode none: a child with limits on time and output only */
    RUN_ISOLATION_SANDBOX = 1,      /* every layer of layers.h */
    RUN_ISOLATION_UNPRIVILEGED = 2, /* those that need no namespace: LAYERS_UNPRIVILEGED */
    RUN_ISOLATION_COUNT
};

/* 0 in any member: not limited by it. */
struct run_limits {
    uint64_t wall_ms;
    uint64_t cpu_ms;
    uint64_t memory_bytes;
    uint64_t processes;
    uint64_t open_files;
    uint64_t file_bytes;
    uint64_t scratch_bytes;
    uint64_t scratch_inodes;
};

#define RUN_HASH_LENGTH 64 /* lower-case hexadecimal digits of a SHA-256 */

/* A file put into the working directory before the run. path is relative, without "." or ".."
 * parts. */
struct run_file {
    char *path;
    unsigned char *content; /* NULL of one by reference */
    size_t length;
    bool by_reference;                /* the content comes as a descriptor (RUN_FD_INPUTS) ... */
    char sha256[RUN_HASH_LENGTH + 1]; /* ... and has this hash; else "" */
};

#define RUN_FILE_PATH_LIMIT 4095 /* bytes */

/* When a missing image is fetched. */
enum run_pull {
    RUN_PULL_NEVER,
    RUN_PULL_MISSING, /* where the engine does not have it */
    RUN_PULL_ALWAYS,  /* asks the registry first */
    RUN_PULL_COUNT
};

/* The image that a run comes from, in modes that have images. NULL is written as "". */
struct run_image {
    char *name;              /* as its engine knows it */
    char *id;                /* the id that it must have, "": any */
    uint32_t require_digest; /* 1: one that its name does not pin by digest is refused */
    uint32_t pull;           /* enum run_pull */
};

/* Where a program in an image finds its set of packages. */
#define RUN_PACKAGES "/.code-execute-packages"

/* The set of packages that a run has, in modes that have images: it is put into the image. In other
 * modes it is one of read_only_paths. NULL is written as "". */
struct run_packages {
    char *path;      /* absolute, of the set's directory, whose "content" is meant; "": none */
    char *sha256;    /* of its inventory */
    uint64_t bytes;  /* that the content may have at most */
    uint64_t inodes; /* the same, files, directories and links */
};

/* The backend's task. */
enum run_purpose {
    RUN_PURPOSE_PROGRAM,
    RUN_PURPOSE_TRIAL,   /* apply every layer, look the runtime up, run nothing */
    RUN_PURPOSE_SWEEP,   /* remove what dead gateways left behind; nothing else of it counts */
    RUN_PURPOSE_PREPARE, /* keep some like it ready, and say what has become of that so far; it
                            runs nothing and needs no program */
    RUN_PURPOSE_COUNT
};

/* The interpreters that can run before their run is known. */
enum run_interpreter {
    RUN_INTERPRETER_NONE, /* the program is started when the run is */
    RUN_INTERPRETER_PYTHON,
    RUN_INTERPRETER_NODE,
    RUN_INTERPRETER_COUNT,
    /* Starts with its run, and has a program of ours in front of it: the shell of a session. */
    RUN_RUNNER_SHELL = RUN_INTERPRETER_COUNT,
    RUN_RUNNER_COUNT
};

/* How a run's interpreter is kept ready. It is started with the first of the run's arguments and of
 * its environment; the rest comes with the run. */
struct run_preparation {
    uint32_t
        runner; /* enum run_interpreter: something of ours begins its program, even where it
                   is started when the run is; of what follows only program_argument counts then */
    uint32_t interpreter; /* enum run_interpreter */
    uint32_t fork;        /* 1: copies of one that has never run a program; 0: each is started */
    uint32_t argument_count;
    uint32_t program_argument; /* which of them is the program's file, relative */
    uint32_t environment_count;
    char **modules;       /* imported beforehand, where they are to be had; NULL-terminated */
    char **named_modules; /* the same, as the program names them; nobody has asked for these, so
                             that outside of a sandbox only those of the distribution are imported
                             which a trial has shown to have no effects */
    uint64_t renew_runs;  /* the one that is copied is replaced after so many copies */
    uint64_t renew_ms;    /* and after so long */
};

/* The files that are to come out, once the tree is dead. */
struct run_outputs {
    uint64_t files;       /* that are named at most; 0: none is collected */
    uint64_t file_bytes;  /* of one file */
    uint64_t total_bytes; /* of all files whose content comes */
    char **patterns; /* see glob_matches(), NULL-terminated; none: whatever is new or changed */
};

/* Of a run that stays and executes cells (session.h). */
struct run_session {
    uint64_t idle_ms;           /* without a cell, until it ends; 0: the run is no session */
    uint64_t age_ms;            /* since its start; a cell under way is not ended by it */
    uint64_t checkpoints;       /* that are kept, each from ahead of a cell; 0: none is made */
    uint32_t lasting_variables; /* of a cell: the last so many of its environment stay when it ends,
                                   as the session's secrets do */
};

struct run_description {
    char run_id[RUN_ID_LENGTH + 1];
    uint32_t isolation;    /* enum run_isolation */
    uint32_t purpose;      /* enum run_purpose */
    uint32_t network;      /* 1: a network, which one is the mode's */
    uint32_t results;      /* 1: the program gets RUN_RESULTS_FD */
    uint32_t tools;        /* 1: and RUN_TOOLS_FD */
    uint32_t tool_command; /* 1: it, or cells of its session, call tools by a command, which is in
                              its PATH */
    uint32_t installer_commands; /* 1: pip, npm and others, ahead of its PATH, say that nothing can
                                    be installed; of runs without network and endpoints */
    uint32_t endpoints;          /* 1: it reaches its endpoints at RUN_ENDPOINTS_PORT */
    uint64_t tools_wait_ms;      /* for answers on it, beyond limits.wall_ms, in all */
    uint64_t required;           /* LAYER_BITs without which the run is refused */
    uint32_t outer_uid_base;     /* root only: runs get a uid from [base, base + count) */
    uint32_t outer_uid_count;
    struct run_limits limits;
    char **argv;        /* NULL-terminated; argv[0] is looked up in runtime_path */
    char **environment; /* NULL-terminated "NAME=value"; HOME and TMPDIR are the backend's to add */
    char **runtime_path;    /* NULL-terminated list of absolute directories */
    char **read_only_paths; /* NULL-terminated absolute paths shown in the view; absent ones are
                               skipped */
    struct run_file *files;
    size_t file_count;
    uint32_t
        private_file_count; /* the last so many of them are for their owner's eyes: mode 0400 */
    char *workspace; /* absolute path of a directory shown read-only at RUN_WORKSPACE, "": none */
    struct directory_id workspace_id; /* no other directory is shown */
    struct run_image image;
    struct run_packages packages;
    struct wire_bytes options; /* the operator's, in a form that only the mode's row and its
                                  backend know */
    uint32_t pool_size;        /* how many like this one are to be kept ready from now on ... */
    uint32_t pool_most;        /* ... and how many where more are asked for; not less than that */
    uint64_t pool_memory;      /* bytes that all that is kept ready may hold; 0: not limited */
    uint64_t pool_idle_ms;     /* for how long after the last one that asked for it */
    struct run_preparation preparation; /* of those that are kept ready */
    struct run_outputs outputs;
    struct run_session session;
};

/* Whether the file of that index is private. */
bool run_description_file_private(const struct run_description *description, size_t index);

/* Whether any of its files is by reference. */
bool run_description_has_inputs(const struct run_description *description);
/* The bytes of its files by reference, each rounded up to whole pages. */
uint64_t run_description_input_bytes(const struct run_description *description);

/* A new message of *ret_length bytes, NULL when out of memory. The caller wipes it (it holds the
 * secrets of environment) and frees it. */
unsigned char *run_description_encode(const struct run_description *description,
                                      size_t *ret_length);

/* Reads a message. On success *ret owns copies of everything (run_description_clear()); on failure
 * false and *ret is untouched: too short, too long, trailing bytes, another version, a count beyond
 * its limit, a NUL inside a string, a file path that is absolute or has "..", an empty argv. */
bool run_description_decode(const unsigned char *message, size_t length,
                            struct run_description *ret);

/* Wipes and releases the members that only the program may have: environment, arguments, files. */
void run_description_clear_program(struct run_description *description);
/* Wipes and releases all members of the description. */
void run_description_clear(struct run_description *description);
