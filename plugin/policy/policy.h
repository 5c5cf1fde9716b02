/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy: the operator's permissions. Read from JSON, checked whole (an unknown member, a wrong
 * type or a value out of range refuses the file and names the place), immutable afterwards and
 * shared by reference count between the calls that run under it. A policy file is a JSON Merge
 * Patch (RFC 7386) on the built-in policies/default.json: members that it leaves out keep their
 * default, lists are replaced whole, null takes a member away. Loading reads one file; the rest is
 * pure. Any thread.
 */
#pragma once

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "policy/policy_content.h"
#include "policy/policy_rules.h"
#include "protocol/orders/egress_order.h"
#include "protocol/run_description.h"
#include "vocabulary/endpoint.h"
#include "vocabulary/sandbox_mode.h"

/* A run limit: the default, and the most that a request may ask for, where it has a member for it.
 */
struct policy_limit {
    uint64_t default_value;
    uint64_t maximum;
};

struct policy_limits {
    struct policy_limit wall_ms;
    struct policy_limit sandbox_exec_wall_ms; /* default for calls in the sandbox.exec shape */
    struct policy_limit cpu_ms;
    struct policy_limit memory_bytes;
    struct policy_limit processes;
    struct policy_limit open_files;
    struct policy_limit file_bytes;
    struct policy_limit scratch_bytes;
    struct policy_limit scratch_inodes;
    struct policy_limit stdout_bytes; /* returned; more is cut in the middle */
    struct policy_limit stderr_bytes;
    struct policy_limit output_total_bytes; /* produced; more ends the run */
};

/* The place of a limit, beside the policy's own. */
enum policy_limit_place {
    POLICY_LIMIT_OF_RUN,     /* struct run_limits has it: the backend enforces it */
    POLICY_LIMIT_OF_GATEWAY, /* enforced on the output that arrives */
    POLICY_LIMIT_OF_SHAPE,   /* another default for calls in one shape */
};

#define POLICY_LIMITS_MOST 16 /* rows of the table */

struct policy_limit_row {
    const char *name;
    size_t offset; /* in struct policy_limits */
    enum policy_limit_place place;
    size_t run_offset; /* in struct run_limits */
    int64_t minimum, maximum;
};

/* The languages and modes that may use a listed secret: "*" stands for secrets without a rule of
 * their own. */
struct policy_secret {
    char *name;
    char **languages; /* NULL: any */
    char **modes;     /* NULL: any */
    bool ask;         /* somebody is asked even where the approval rules allow */
};

/* The modules to import beforehand for code that has that word. */
struct policy_named_modules {
    char *word;
    char **modules;
};

/* The interpreter of a language that is kept running for runs to come: see run_preparation. */
struct policy_preparation {
    enum run_interpreter interpreter;
    bool fork;
    char **modules;
    struct policy_named_modules *named;
    size_t named_count;
    uint64_t renew_runs;
    uint64_t renew_ms;
};

struct policy_language {
    char *name;         /* of language.h */
    char **argv;        /* "{file}" stands for the program file */
    char *file;         /* name of the program file in the working directory */
    char *package;      /* Debian package that brings argv[0] */
    char **environment; /* NULL-terminated "NAME=value" */
    char **read_only;   /* further paths of the view */
    char **modules;     /* installed beyond the standard library; for hints about a missing one */
    struct policy_preparation preparation;
    struct policy_limits limits; /* the policy's, with the language's own in their place */
};

/* Sandboxes that are kept ready for calls to come; each is used once. */
struct policy_pool {
    uint32_t ready; /* of each kind that is asked for; 0: none */
    uint64_t idle_ms;
    uint32_t most;         /* process mode: where more than ready are asked for */
    uint64_t memory_bytes; /* process mode: of all that are ready, together */
};

struct policy_image {
    char *language;
    char *name;  /* as the engine knows it */
    char **argv; /* NULL: the language's */
};

/* The images that runs of a mode come from. */
struct policy_images {
    struct policy_image *by_language;
    size_t count;
    char **offered; /* images that a request may name besides those of the languages */
    bool require_digest;
    enum run_pull pull;
};

/* Files of a request that come by reference, of one run. */
struct policy_files_in {
    uint64_t max_files;
    uint64_t total_bytes;
};

/* What a run's results may take. */
struct policy_results {
    uint64_t max_items;
    uint64_t text_bytes;      /* of each form that is a text */
    uint64_t image_bytes;     /* of each image */
    uint64_t total_bytes;     /* of all of them */
    bool images_with_secrets; /* of runs that have secrets, which cannot be found in them */
};

/* The files that a run leaves. */
struct policy_files_out {
    uint64_t max_files; /* that its result names; 0: none is collected */
    uint64_t file_bytes;
    uint64_t total_bytes;
    uint64_t inline_bytes;    /* in the result itself, of all files together */
    bool binary_with_secrets; /* a run with secrets may hand over files that cannot be searched */
};

/* What goes into a run and comes out of it beside text. */
struct policy_transfers {
    struct policy_files_in files_in;
    struct policy_results results;
    struct policy_files_out files_out;
};

/* Interpreters that are kept between calls. */
struct policy_sessions {
    uint64_t max_total; /* at the same time; 0: there are none */
    uint64_t max_per_principal;
    uint64_t max_cells;   /* of one */
    uint64_t idle_ms;     /* without a cell, until it ends */
    uint64_t age_ms;      /* since its first one */
    uint64_t checkpoints; /* that one keeps, each from ahead of a cell; 0: none is made */
};

/* What is decided on a call of some tools behind one of others: patterns of both. */
struct policy_tool_flow {
    char **after;
    char **then;
    enum approval_decision decision; /* ASK or DENY */
};

/* The gateway's tools that programs may call, and how often. Patterns are names, or the beginning
 * of names with "*" behind it. */
struct policy_tools {
    char **allowed;
    char **denied;      /* which wins */
    uint64_t max_calls; /* of one run */
    uint64_t max_in_flight;
    uint64_t arguments_bytes;       /* of one call */
    uint64_t result_bytes;          /* of one answer */
    uint64_t call_timeout_ms;       /* for one answer, with the wait for an approval */
    uint64_t wait_total_ms;         /* of one run, that its wall time does not count */
    uint64_t rate_per_s;            /* calls beyond it wait */
    struct policy_tool_flow *flows; /* the strictest that applies counts */
    size_t flow_count;
};

/* What programs may reach where a request names it. */
struct policy_endpoint {
    struct egress_endpoint order; /* for the broker, but for its credential; no member is NULL, and
                                     the certificates may be none */
    char *secret;                 /* the credential's name; NULL: none */
    char *description;            /* for models; "" */
    char **variables;             /* "NAME=suffix" of the endpoint's URL, with the preset's own */
    const struct endpoint_preset *preset; /* NULL: none */
    bool ask;           /* somebody is asked even where the approval rules allow */
    char sha256[65];    /* of the definition, with the bytes of its certificates */
    bool is_plain;      /* http */
    bool is_local_only; /* its host is an address, or a name without a dot */
};

/* A set of packages that is built ahead of runs (environments/environment.h). */
struct policy_environment {
    char *name;
    unsigned language;  /* enum environment_language */
    char *lock;         /* path of the file with the versions and hashes of all packages */
    char *description;  /* for models; "" */
    char **prepare;     /* modules that an interpreter which waits has imported; never NULL */
    char **endpoints;   /* names of those that a build reaches; never NULL */
    char *wheelhouse;   /* path of a directory that a build takes packages from; NULL: none */
    bool build_scripts; /* a build may execute code of packages */
    char sha256[65];    /* the only content that is accepted; "": that of the last build */
    uint64_t bytes;     /* the most that it may have ... */
    uint64_t inodes;    /* ... and of files, directories and links */
};

struct secret_provider;

struct policy {
    atomic_uint references;
    char *source;         /* path, or "built-in"; UTF-8, for people */
    char sha256[65];      /* of the effective policy in canonical JSON, lower-case hexadecimal */
    char base_sha256[65]; /* the same without the rules that name a request by its hash */
    json_t *patch;        /* the file as it is written; NULL: the built-in policy */
    enum sandbox_mode default_mode;
    bool mode_allowed[SANDBOX_MODE_COUNT];
    enum sandbox_mode process_means; /* what an operator calls process: that mode or its variant */
    char *scratch_directory;         /* of runs without namespaces; "": the backend finds one */
    uint64_t required_layers; /* LAYER_BITs of "require"; each mode adds its mandatory ones */
    char **capabilities;      /* entries of capability.h: the rights that a call may have */
    enum approval_decision approval_default;
    uint64_t approval_timeout_ms;
    uint64_t approval_max_waiting; /* calls that wait for an answer at the same time */
    bool approval_in_band;         /* the person at the caller's own client may answer */
    unsigned approver_decisions;   /* enum approver_decision bits that an approver may give */
    struct policy_rule *rules;
    size_t rule_count;
    bool network_allowed;
    struct policy_endpoint *endpoints;
    size_t endpoint_count;
    char *environments_directory; /* where environments are built, and found */
    struct policy_environment *environments;
    size_t environment_count;
    char **secrets; /* names a request may ask for; "*" is any */
    struct policy_secret *secret_rules;
    size_t secret_rule_count;
    struct secret_provider *secret_providers; /* asked in this order for secrets that the host lacks
                                               */
    size_t secret_provider_count;
    bool secrets_are_files;   /* "*" of the delivery */
    char **secrets_otherwise; /* names whose delivery is the other one */
    char **workspaces;        /* directories below which a gateway's workspace may be */
    struct policy_limits limits;
    struct policy_transfers transfers;
    uint64_t max_runs;   /* at the same time */
    uint64_t max_queued; /* calls that wait for their turn */
    struct policy_sessions sessions;
    struct policy_tools tools;
    uint64_t memory_total_bytes; /* the memory limits of the runs under way, together */
    struct policy_pool pools[SANDBOX_MODE_COUNT]; /* zeros in modes that have none */
    uint32_t outer_uid_base;
    uint32_t outer_uid_count;
    char **runtime_path;
    char **read_only; /* paths of the view */
    char **environment;
    char **environment_without_network; /* further ones, of sandboxes without network */
    struct policy_language *languages;
    size_t language_count;
    struct policy_images images[SANDBOX_MODE_COUNT]; /* empty where a mode has none */
    struct wire_bytes options[SANDBOX_MODE_COUNT];   /* each for the backend of its mode */
    /* What the section of a mode has put in the place of its row; NULL: the row stands. */
    const struct sandbox_mode_row *rows[SANDBOX_MODE_COUNT];
    struct policy_content content;
};

/* The built-in policy; a new reference, NULL with error only when out of memory (a test holds the
 * text right). */
struct policy *policy_load_builtin(struct error *error);
/* The policy of a file; a new reference, or NULL with error INVALID_POLICY naming file and JSON
 * pointer. */
struct policy *policy_load_file(const char *path, struct error *error);
/* The same from text; source is its name in messages. NULL text: the built-in one. */
struct policy *policy_load_text(const char *source, const char *text, size_t length,
                                struct error *error);

#define POLICY_FILE_LIMIT (1u << 20) /* bytes */

/* The built-in policy as JSON, new; NULL with error only when out of memory. */
json_t *policy_builtin_json(struct error *error);

struct policy *policy_ref(struct policy *policy);
void policy_unref(struct policy *policy); /* NULL is fine */

/* The mode that is meant where an operator names this one. */
enum sandbox_mode policy_mode_named(const struct policy *policy, enum sandbox_mode mode);
/* What runs of that mode are like under the policy: whoever asks of layers, isolation, rights or
 * abilities asks here, and not the table of modes. */
const struct sandbox_mode_row *policy_mode_row(const struct policy *policy, enum sandbox_mode mode);

/* The table of limits; *ret_count rows in the order in which results show them. */
const struct policy_limit_row *policy_limit_rows(size_t *ret_count);
/* NULL where there is none of that name. */
const struct policy_limit_row *policy_limit_find(const char *name);
const struct policy_limit *policy_limit_at(const struct policy_limits *of,
                                           const struct policy_limit_row *row);

/* NULL where the policy does not offer the language. */
const struct policy_language *policy_find_language(const struct policy *policy, const char *name);

/* The rules of content checks; NULL where the policy has none for the language. */
const struct content_rules *policy_content_find(const struct policy_content *content,
                                                const char *language);

/* The image of the language in that mode, NULL where the policy has none. */
const struct policy_image *policy_find_image(const struct policy *policy, enum sandbox_mode mode,
                                             const char *language);
/* Whether the name can be an image that the policy lets run: with a digest where the policy wants
 * one, and with none that merely holds the place of one, such as zeros. */
bool policy_image_is_settled(const struct policy *policy, enum sandbox_mode mode,
                             const char *image);
/* Whether a request in that mode may name that image. */
bool policy_offers_image(const struct policy *policy, enum sandbox_mode mode, const char *image);

struct policy_verdict {
    enum approval_decision decision;
    int rule;             /* index of the deciding rule, -1: the default */
    const char *secret;   /* whose own rule asks where the approval rules allow; NULL: none's */
    const char *endpoint; /* the same of an endpoint's definition */
    bool narrowed;        /* the context is stricter than all of them */
};

/* The decision of the rules: deny before ask before allow, the default where none applies. */
struct policy_verdict policy_decide(const struct policy *policy, struct rule_facts *facts);

/* NULL where the policy does not offer it. */
const struct policy_endpoint *policy_find_endpoint(const struct policy *policy, const char *name);
/* The environments in words, a line each, "NAME (LANGUAGE): DESCRIPTION"; new. NULL: no memory. */
char **policy_name_environments(const struct policy *policy);
const struct policy_environment *policy_find_environment(const struct policy *policy,
                                                         const char *name);
bool policy_allows_tool(const struct policy *policy, const char *name);
bool policy_allows_secret(const struct policy *policy, const char *name);
/* Does the secret reach the program as a file, and not as a variable? */
bool policy_secret_is_file(const struct policy *policy, const char *name);
/* The rule of a secret, NULL where there is none: any language and mode may have it. */
const struct policy_secret *policy_find_secret(const struct policy *policy, const char *name);
