/* SPDX-License-Identifier: Apache-2.0 */
/* A build from its lock file to the set in its place: see environment_build.h. Runs on the thread
 * inside tool_prepare(). */
#include "packages/build/environment_build.h"

#include "base/cleanup.h"
#include "vocabulary/language.h"

static bool can_be_built(const struct configuration *configuration,
                         const struct policy_environment *environment, struct error *error)
{
    const struct sandbox_mode_row *row = sandbox_mode_row(configuration->mode);
    if (!row->packages_for) {
        error_set(error, ERROR_NOT_SUPPORTED, "mode %s has no packages: %s", row->name,
                  row->no_packages);
        return false;
    }
    if (environment->endpoints[0] && row->no_endpoints) {
        error_set(error, ERROR_NOT_SUPPORTED, "mode %s reaches no endpoints: %s", row->name,
                  row->no_endpoints);
        error_set_hint(error, "build it in another mode, or from a \"wheelhouse\"");
        return false;
    }
    if (environment->wheelhouse && row->packages_in_image) {
        error_set(error, ERROR_NOT_SUPPORTED, "mode %s cannot show a \"wheelhouse\"", row->name);
        error_set_hint(error, "build it from \"endpoints\", such as an index of your own on this "
                              "machine, or in another mode");
        return false;
    }
    if (environment->endpoints[0] || environment->wheelhouse)
        return true;
    error_set(error, ERROR_ENVIRONMENT_NOT_BUILT,
              "there is nothing that the packages could come from");
    error_set_hint(error, "name \"endpoints\" of an index and its file host, or a \"wheelhouse\"");
    return false;
}

static bool build(const struct configuration *configuration,
                  const struct policy_environment *environment, struct error *error)
{
    char lock_sha256[SHA256_HEX_LENGTH + 1];
    size_t lock_length;
    CLEANUP_FREE char *lock = NULL;
    CLEANUP(configuration_clear) struct configuration of_build = {0};
    CLEANUP(build_output_clear) struct build_output output = {.archive = -1};
    return can_be_built(configuration, environment, error) &&
           package_set_read_lock(environment, lock_sha256, &lock, &lock_length, error) &&
           build_configure(configuration, environment, false, &of_build, error) &&
           build_run(&of_build, environment, lock, lock_length, &output, error) &&
           build_install(configuration, environment, lock_sha256, &output, error) &&
           build_try(configuration, environment, error);
}

bool environment_build(const struct configuration *configuration,
                       const struct policy_environment *environment, struct error *error)
{
    if (build(configuration, environment, error))
        return true;
    error_add_context(error, "the environment \"%s\"", environment->name);
    return false;
}
