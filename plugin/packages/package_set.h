/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sets of packages that have been built, as they lie in the policy's "environments_directory":
 *
 *   NAME.KIND             link to the set that the last build of that environment has made; KIND is
 *                         of the modes that share an interpreter
 *   sha256-HEX/           a set, by the hash of its inventory
 *     content/            the packages
 *     inventory           every file of the content, with its hash (inventory.h)
 *     stamp               of the content as it was built (tree_stamp.h)
 *     environment.json    what it was built from
 *     packages.json       names, versions and hashes of the packages
 *     image.json          in which images they were built, in modes that have images
 *     layers              of images that have them (backends/docker/image/package_layer.h)
 *
 * A run gets one only if it is the one that was built: the lock file is the same, and the stamp, or
 * else every file. Runs in the gateway, on the thread that asks; any thread.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "policy/policy.h"
#include "protocol/orders/package_order.h"
#include "vocabulary/sandbox_mode.h"
#include "json/canonical.h"

struct package_set {
    char *name;                         /* of its environment */
    char *directory;                    /* absolute path of sha256-HEX */
    char *content;                      /* of its content */
    char sha256[SHA256_HEX_LENGTH + 1]; /* of its inventory */
    json_t *images; /* in modes whose packages go into an image: an object of the ids of those that
                       it was built in, with their names; else NULL */
};

void package_set_clear(struct package_set *set);
/* false: no memory. */
bool package_set_copy(const struct package_set *set, struct package_set *ret);

/* Finds and checks the set of an environment for runs of that mode. false with error
 * ENVIRONMENT_CHANGED: it was not built, is not there any more, is not what was built, or belongs
 * to another lock file. */
bool package_set_find(const struct policy *policy, const struct policy_environment *environment,
                      enum sandbox_mode mode, struct package_set *ret, struct error *error);

/* The hash of the lock file, whose bytes are *ret_text (to be freed; NULL: not wanted). */
bool package_set_read_lock(const struct policy_environment *environment,
                           char ret[SHA256_HEX_LENGTH + 1], char **ret_text, size_t *ret_length,
                           struct error *error);

/* The objects of "environment.json" and "packages.json" of a set; new. NULL with error. */
json_t *package_set_about(const char *directory, struct error *error);
json_t *package_set_packages(const char *directory, struct error *error);

/* The ids and names of the images that a set was built in; new. NULL with error. */
json_t *package_set_images(const char *directory, struct error *error);
/* Was it built in that image? Always, in modes without images. false with ENVIRONMENT_CHANGED. */
bool package_set_fits_image(const struct policy_environment *environment,
                            const struct package_set *set, const char *image_id,
                            struct error *error);

/* The name of an environment's link, in the directory of all. false: the path is too long. */
bool package_set_link_name(const struct policy_environment *environment, enum sandbox_mode mode,
                           char *ret, size_t size);

/* Is its content what was built? Its stamp, which no change of a file leaves as it is, says so in
 * milliseconds; where the stamp is another one (the set was copied, or restored from a backup), the
 * program compares every file with the inventory, once in this process. An answer counts until the
 * kernel tells of a change, for a minute at most; where it tells nothing, for a second. false with
 * ENVIRONMENT_CHANGED, whose message names the first file that is another one.
 */
bool package_check(const struct policy_environment *environment, const struct package_set *set,
                   struct error *error);
/* The same, of every file, whatever the stamp says. */
bool package_check_whole(const struct policy_environment *environment,
                         const struct package_set *set, struct error *error);

/* An order to code-execute-environment, the program that unpacks what a build has made and compares
 * sets with their inventories: neither happens in the gateway. It is started for one order, and
 * ends with its answer; new. archive: -1 where there is none. Both descriptors stay the caller's.
 * NULL with an error of the given code where the program says that something is wrong, with
 * BACKEND_UNAVAILABLE or BACKEND_FAILED where it could not be asked. */
json_t *package_program_ask(enum package_action action,
                            const struct policy_environment *environment, int directory,
                            int archive, enum error_code code, struct error *error);

/* Ends what watches sets, for tool_shutdown(). */
void package_set_forget(void);
/* In a child of fork(). Takes no lock. */
void package_set_after_fork(void);
