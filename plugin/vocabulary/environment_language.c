/* SPDX-License-Identifier: Apache-2.0 */
#include "vocabulary/language.h"

#include <assert.h>

static const struct environment_language_row rows[] = {
    [ENVIRONMENT_PYTHON] = {.language = "python",
                            .variable = "PYTHONPATH",
                            .directory = "",
                            .lock_name = "requirements.txt",
                            .has_preparation = true,
                            .has_wheelhouse = true},
    [ENVIRONMENT_JAVASCRIPT] = {.language = "javascript",
                                .variable = "NODE_PATH",
                                .directory = "/node_modules",
                                .lock_name = "package-lock.json"},
};

const struct environment_language_row *environment_language_find(unsigned language)
{
    assert(language < ENVIRONMENT_LANGUAGE_COUNT);
    return &rows[language];
}
