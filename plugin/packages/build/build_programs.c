/* SPDX-License-Identifier: Apache-2.0 */
#include "packages/build/build_programs.h"

#include "vocabulary/language.h"

struct build_program build_program_of(unsigned language)
{
    if (language == ENVIRONMENT_PYTHON)
        return (struct build_program){build_python_text, build_python_length};
    return (struct build_program){build_javascript_text, build_javascript_length};
}
