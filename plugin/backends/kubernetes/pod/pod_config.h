/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of a run's pod: pod.json, and what varies: the image, the limits, the labels,
 * and what the operator has chosen. Neither code nor a secret can get into it, because it is made
 * of nothing of the program's. And whether a pod is as it was asked for. Pure code. Runs in the
 * kubernetes backend.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/guest_runs/container/owner.h"
#include "protocol/run_description.h"

#define POD_USER      65534 /* nobody, in every distribution's passwd */
#define POD_CONTAINER "run" /* the name of its only container */
/* Of pods that wait for a run; a claim replaces it (pod_claim.h). */
#define POD_LABEL_STATE "code-execute.state"
#define POD_IDLE        "idle"
#define POD_TAKEN       "taken"
#define POD_LABEL_OWNER "code-execute.owner" /* by which the watch finds the gateway's own */
#define POD_LABEL_RUN   "code-execute.run"
#define POD_WAITING     "waiting"                      /* in place of a run's id */
#define POD_LABEL_MAKER "app.kubernetes.io/managed-by" /* by which the sweep finds all */
#define POD_MAKER       "code-execute"

/* The operator's choices; all borrowed. */
struct pod_choices {
    const char *runtime_class;   /* "": the cluster's default */
    const char *service_account; /* "": the namespace's default; its token is never mounted */
    bool user_namespace;         /* "hostUsers": false, which needs a runtime that has them */
    const char *pull_secret;     /* the name of a secret with credentials of a registry; "": none */
};

struct pod_terms {
    const char *image; /* with its digest */
    const char *name;
    const char *owner; /* a label's value: which gateway has made it */
    json_t *marks;     /* annotations: owner_labels(), as labels have no room for them; borrowed */
    uint64_t deadline_s; /* from the start of the pod: then the kubelet ends it; 0: never */
    bool waits;          /* it is for no run yet */
    json_t *command;     /* of the guest; borrowed */
};

#define POD_OWNER_SIZE 33
/* The value of POD_LABEL_OWNER for that gateway: a hash, because a label takes neither blanks nor
 * brackets. */
void pod_owner_name(const struct owner *owner, char ret[POD_OWNER_SIZE]);

#define QUANTITY_SIZE 24 /* with the NUL */
/* quantity.c: a number in the one form that an API server gives back: the largest decimal suffix
 * that leaves a whole number (apimachinery, "Before serializing, Quantity will be put in canonical
 * form"). So what was asked for and what was made can be compared as texts. */
void quantity_write(uint64_t value, char ret[QUANTITY_SIZE]);
/* A whole number as somebody may have written it: digits, and a decimal or a binary suffix
 * ("512Mi"). false: it is none, or too large. */
bool quantity_read(const char *text, uint64_t *ret);

/* The body of POST .../pods for one run; new, NULL when out of memory or where a text in it is not
 * UTF-8. */
json_t *pod_config_for_run(const struct run_description *description,
                           const struct pod_choices *choices, const struct pod_terms *terms);

/* The same without its metadata: runs with the same template can use each other's pod. terms: name,
 * owner and marks count for nothing. */
json_t *pod_config_template(const struct run_description *description,
                            const struct pod_choices *choices, const struct pod_terms *terms);
/* A configuration of that template, for a pod that waits for a run and names none. terms: image and
 * command are the template's; its deadline is longer than the template's by the longest wait, as a
 * claim can only shorten it. */
json_t *pod_config_waiting(json_t *template, const struct pod_terms *terms);

/* Is the pod that the API server made the one that was asked for? made: its own answer. Admission
 * controllers add containers, volumes and variables. An addition is refused unless it cannot weaken
 * the isolation. false with the place of the first member that differs in *field. */
bool pod_attest(const json_t *asked, const json_t *made, char *field, size_t size);

/* pod_claim.c: the body of the claiming PATCH (JSON patch): it has an effect only where the pod is
 * that one and waits still. *ret_config: the configuration that the pod is to have then. Both new;
 * false when out of memory. */
bool pod_claim_write(const json_t *config, const char *uid, const char *run_id, int64_t latest,
                     uint64_t deadline_s, json_t **ret_patch, json_t **ret_config);
