/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context that the steps of one sandboxed run share, and the form of a step. The lists are in
 * blueprint.c, for the init of a sandbox and for its payload, the process that becomes the program;
 * each step is in the file of its subject. All of it runs after the clone, in single-threaded
 * processes of that run.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/process/messages/namespaces.h"
#include "backends/process/messages/report.h"
#include "backends/process/messages/sandbox_template.h"
#include "backends/process/messages/seccomp_program.h"
#include "backends/process/program/process_memory.h"
#include "backends/process/program/program.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"

#define SANDBOX_UID  1000 /* the user and group inside, whoever it is outside */
#define SANDBOX_HOME RUN_HOME

struct blueprint;

struct sandbox {
    const struct blueprint *blueprint;
    struct program_places places;
    pid_t guardian;                 /* unprivileged.c; 0: there is none */
    struct inheritance inheritance; /* likewise; zeros: it is no copy */
    const char *directory; /* the sandbox's own on the machine (own_directory.h); NULL: its places
                              are mounts */
    const struct sandbox_template *template;
    const struct run_description *description; /* NULL until it has its run */
    const struct seccomp_filters *filters;
    const struct namespaces *outside; /* the supervisor's */
    struct isolation_report isolation;
    struct sandbox_go go;
    int groups[SANDBOX_GROUPS]; /* the ways into them, until they are entered */
    int report;                 /* to the supervisor in init, to init in the payload */
    int supervisor;             /* of the payload: from it, and to it as well */
    int intake;                 /* of init: where the listener of its endpoints goes, until it has;
                                   -1: nowhere */
    int inputs;                 /* RUN_FD_INPUTS of the run, until its files are written */
    int view;                   /* root of the view while it is built */
    int listener;               /* of the payload's filter, until init has it */
    int proc;                   /* of init alone: its /proc, to write to; -1: it has none */
    const char *installers;     /* the directory of commands that would install; NULL: not known */
    const char *files;          /* where what begins its program is, for the payload */
    char detail[192];           /* the path that a failing step was working on */
    enum run_failure failure;   /* of a failing step, where it is not RUN_FAILURE_LAYER */
};

enum step_kind {
    STEP_PART,     /* needed, and not the last of its layer */
    STEP_COMPLETE, /* needed; the layer is applied once it has succeeded */
    STEP_WANTED,   /* completes its layer, but the run goes on without it: the layer is missing */
    STEP_TRIED,    /* completes nothing and may fail */
};

/* A layer that the run is not to have: neither applied nor missing. */
#define STEP_NOT_FOR_THIS_RUN 1

/* For steps that belong to no layer: their failure is one of ours. */
#define NO_LAYER LAYER_COUNT

struct step {
    enum isolation_layer layer;
    enum step_kind kind;
    const char *name;
    int (*apply)(struct sandbox *sandbox); /* 0, STEP_NOT_FOR_THIS_RUN, or -1 with errno */
};

struct step_list {
    const struct step *steps;
    size_t count;
};

/* A kind of sandbox: its layers, in the order in which they are put on. */
struct blueprint {
    struct step_list init;  /* by its first process */
    struct step_list ready; /* by the payload, which needs no run for them */
    struct step_list run;   /* and for its run */
    uint64_t mandatory_layers;
    uint64_t impossible_layers; /* that it never has: they are reported as missing */
    bool has_own_user;          /* what the kernel counts by user is this sandbox's alone */
    bool dies_with_init;        /* the kernel kills all of it with its first process */
};

/* blueprint.c */
extern const struct blueprint namespaces_blueprint;
extern const struct blueprint unprivileged_blueprint;
const struct blueprint *blueprint_of(uint32_t kind); /* enum run_isolation */

/* Applies the steps in order. 0, or -1 after the first needed one has failed and was reported. */
int sandbox_apply(struct sandbox *sandbox, const struct step_list *list);

/* Notes the path that a step is working on, for its error message. */
void sandbox_detail(struct sandbox *sandbox, const char *text);

/* Settles the directory, which lives as long as *sandbox, and the places in it; "": there is none,
 * and the places are mounts. */
void sandbox_use_directory(struct sandbox *sandbox, const char *directory);

/* Body of the first process of a sandbox. Descriptor 3 is the report socket; directory: as above.
 * Returns only in the payload of a copied interpreter (sandbox_template.h), which is
 * then ready: *ret. begin_payload: what that one does first, with the socket on which its run will
 * come; NULL: nothing. */
void sandbox_init(const struct sandbox_template *template, const struct seccomp_filters *filters,
                  const struct namespaces *outside, const char *directory,
                  void (*begin_payload)(int supervisor), struct sandbox *ret);

/* Body of the process that becomes the program: makes itself ready, waits for its run, which comes
 * over sandbox->supervisor, and starts it. Where it is a copied interpreter, returns as soon as it
 * is ready. */
void payload_run(struct sandbox *sandbox);

/* For a payload that is an interpreter already: waits for its run, applies the steps that need it,
 * and reports the start. *ret is the run; *environment, the composed variables, points into both. A
 * failure is reported and ends the process. */
void payload_take_run(struct sandbox *sandbox, struct run_description *ret,
                      struct program *environment);

/* interpreter_start.c: executes the template's interpreter, which then waits for the run. */
_Noreturn void interpreter_start(struct sandbox *sandbox);

/* take_run.c: waits for the run, whose description becomes *ret. A failure is reported and ends the
 * process. */
void take_run(struct sandbox *sandbox, struct run_description *ret);

/* The part of its run that an interpreter has to put in place. NULL-terminated, as long as the
 * process. */
struct taken_run {
    char **arguments; /* behind those that it was started with */
    char **environment;
};
/* An interpreter that was started in its sandbox: *ret is what its payload left it. */
void interpreter_adopt(struct sandbox *ret);
/* In an interpreter, before any line of the program: payload_take_run(). Ends it after a trial. */
void interpreter_take_run(struct sandbox *sandbox, struct taken_run *ret);
/* payload.c */
int close_other_descriptors(struct sandbox *sandbox);
int start_session(struct sandbox *sandbox);
int enter_home(struct sandbox *sandbox);
/* unprivileged.c */
int check_supervision(struct sandbox *sandbox);
int note_inheritance(struct sandbox *sandbox);
int become_subreaper(struct sandbox *sandbox);
int become_prompt(struct sandbox *sandbox);
int enter_outer_domain(struct sandbox *sandbox);
int start_guardian(struct sandbox *sandbox);
int become_first_victim(struct sandbox *sandbox);
int adopt_for_shell(struct sandbox *sandbox);
int enter_inner_domain(struct sandbox *sandbox);
int clear_capabilities(struct sandbox *sandbox);
/* steps/check_namespaces.c */
int check_user_namespace(struct sandbox *sandbox);
int check_pid_namespace(struct sandbox *sandbox);
int check_mount_namespace(struct sandbox *sandbox);
int check_network_namespace(struct sandbox *sandbox);
int check_ipc_namespace(struct sandbox *sandbox);
int check_uts_namespace(struct sandbox *sandbox);
/* steps/control_groups.c */
int enter_control_groups(struct sandbox *sandbox);
/* steps/endpoint_listener.c */
int raise_loopback(struct sandbox *sandbox);
int limit_socket_memory(struct sandbox *sandbox);
int hand_over_endpoints(struct sandbox *sandbox);
/* steps/identity.c */
int enter_identity(struct sandbox *sandbox);
int disable_nested_namespaces(struct sandbox *sandbox);
int set_host_name(struct sandbox *sandbox);
int enter_cgroup_namespace(struct sandbox *sandbox);
int become_unreadable(struct sandbox *sandbox);
int become_readable_again(struct sandbox *sandbox);
/* steps/view.c */
int make_mounts_private(struct sandbox *sandbox);
int build_view(struct sandbox *sandbox);
int show_read_only_paths(struct sandbox *sandbox);
int show_interpreter_files(struct sandbox *sandbox);
int write_identity_files(struct sandbox *sandbox);
int mount_proc(struct sandbox *sandbox);
int make_view_read_only(struct sandbox *sandbox);
int pivot_into_view(struct sandbox *sandbox);
/* steps/workspace.c */
int show_workspace(struct sandbox *sandbox);
/* steps/devices.c */
int make_devices(struct sandbox *sandbox);
/* steps/scratch.c */
int mount_scratch(struct sandbox *sandbox);
int write_files(struct sandbox *sandbox);
/* In init, once the program has ended: nothing more could be written. */
bool scratch_is_full(void);
/* steps/capabilities.c */
int drop_capabilities(struct sandbox *sandbox);
int clear_capability_sets(struct sandbox *sandbox); /* and has looked */
int forbid_new_privileges(struct sandbox *sandbox);
/* steps/resource_limits.c */
int limit_resources(struct sandbox *sandbox);
/* shell_command.c: puts the main program of a shell's session, which is in that directory, in front
 * of the shell. 0, or -1 with
 * errno. */
int shell_command(struct program *program, struct run_description *description,
                  const char *directory);
/* steps/landlock.c */
int restrict_by_landlock(struct sandbox *sandbox);
/* steps/seccomp_load.c */
int restrict_system_calls(struct sandbox *sandbox);
int hand_over_listener(struct sandbox *sandbox);
