/* SPDX-License-Identifier: Apache-2.0 */
/* Conformance: loading, symbols, manifest, status. Main thread of a case's process. */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/deadline.h"
#include "base/json.h"
#include "conformance/conformance_case.h"

#define MANIFEST_FIRST_MS 250
#define MANIFEST_AGAIN_MS 50

static const char *const required_symbols[] = {
    "tool_abi_version",    "tool_manifest", "tool_invoke", "tool_free",     "tool_cancel",
    "tool_reply_approval", "tool_prepare",  "tool_status", "tool_shutdown",
};

/* A host would call a variable of that name as a function. */
static bool is_function(void *address)
{
    Dl_info info;
    void *found = NULL;
    if (!dladdr1(address, &info, &found, RTLD_DL_SYMENT) || !found)
        return false;
    const ElfW(Sym) *symbol = found;
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return type == STT_FUNC || type == STT_GNU_IFUNC;
}

static enum case_result case_symbols(struct conformance *conformance)
{
    void *library = dlopen(conformance->path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return case_fail(conformance, "cannot be loaded: %s", dlerror());
    for (size_t i = 0; i < COUNT_OF(required_symbols); i++) {
        void *address = dlsym(library, required_symbols[i]);
        if (!address)
            return case_fail(conformance, "%s is not exported", required_symbols[i]);
        if (!is_function(address))
            return case_fail(conformance, "%s is not a function", required_symbols[i]);
    }
    return CASE_PASSED;
}

struct mapped_file {
    const unsigned char *bytes;
    size_t size;
};

static void mapped_file_unmap(struct mapped_file *file)
{
    if (file->bytes)
        (void)munmap((void *)(uintptr_t)file->bytes, file->size);
}

static bool map_file(const char *path, struct mapped_file *ret)
{
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0 || status.st_size <= 0)
        return false;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        return false;
    *ret = (struct mapped_file){bytes, (size_t)status.st_size};
    return true;
}

/* length bytes at offset, or NULL where the file has not that many. */
static const void *file_part(const struct mapped_file *file, uint64_t offset, uint64_t length)
{
    if (offset > file->size || length > file->size - offset)
        return NULL;
    return file->bytes + offset;
}

static const ElfW(Shdr) * file_section(const struct mapped_file *file, size_t index)
{
    const ElfW(Ehdr) *header = file_part(file, 0, sizeof(*header));
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || index >= header->e_shnum ||
        header->e_shentsize != sizeof(ElfW(Shdr)))
        return NULL;
    return file_part(file, header->e_shoff + index * sizeof(ElfW(Shdr)), sizeof(ElfW(Shdr)));
}

static const ElfW(Shdr) * dynamic_symbols(const struct mapped_file *file)
{
    for (size_t i = 0;; i++) {
        const ElfW(Shdr) *found = file_section(file, i);
        if (!found || found->sh_type == SHT_DYNSYM)
            return found;
    }
}

/* The first symbol that the file defines for others beside the ABI's; NULL where there is none. */
static const char *foreign_export(const struct mapped_file *file)
{
    const ElfW(Shdr) *table = dynamic_symbols(file);
    const ElfW(Shdr) *names = table ? file_section(file, table->sh_link) : NULL;
    const ElfW(Sym) *symbols = table ? file_part(file, table->sh_offset, table->sh_size) : NULL;
    const char *text = names ? file_part(file, names->sh_offset, names->sh_size) : NULL;
    for (size_t i = 0; symbols && text && i < table->sh_size / sizeof(*symbols); i++) {
        unsigned binding = ELF64_ST_BIND(symbols[i].st_info);
        if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_shndx == SHN_ABS ||
            binding == STB_LOCAL || symbols[i].st_name >= names->sh_size)
            continue;
        const char *name = text + symbols[i].st_name;
        if (strncmp(name, "tool_", strlen("tool_")) != 0)
            return name;
    }
    return NULL;
}

/* No fault: some languages cannot hide theirs. But two providers that export the same name may
 * disturb each other. */
static enum case_result case_exports(struct conformance *conformance)
{
    CLEANUP(mapped_file_unmap) struct mapped_file file = {0};
    if (!map_file(conformance->path, &file))
        return case_fail(conformance, "cannot be read");
    if (!dynamic_symbols(&file))
        return case_fail(conformance, "is not a shared object with symbols");
    const char *name = foreign_export(&file);
    return name ? case_pass_with(conformance, "also exports %s", name) : CASE_PASSED;
}

static enum case_result case_abi_version(struct conformance *conformance)
{
    provider_close(&conformance->provider);
    return CASE_PASSED;
}

static const char *missing_member(const json_t *object, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!json_object_get(object, names[i]))
            return names[i];
    }
    return NULL;
}

static enum case_result case_manifest_form(struct conformance *conformance)
{
    static const char *const members[] = {"manifest_version", "provider", "version", "tools",
                                          "errors"};
    static const char *const tool_members[] = {"name", "description", "input_schema",
                                               "output_schema", "capabilities"};
    const char *text = conformance->provider.manifest();
    json_error_t where;
    json_auto_t *manifest = text ? json_loads(text, JSON_REJECT_DUPLICATES, &where) : NULL;
    char why[JSON_PROBLEM_LIMIT] = "";
    if (!text)
        return case_fail(conformance, "tool_manifest() returned NULL");
    if (!manifest)
        json_problem(&where, why);
    if (!json_is_object(manifest))
        return case_fail(conformance, "not a JSON object: %s", manifest ? "another type" : why);
    const char *missing = missing_member(manifest, members, COUNT_OF(members));
    const json_t *tools = json_object_get(manifest, "tools");
    if (missing)
        return case_fail(conformance, "no member \"%s\"", missing);
    if (!json_is_array(tools) || json_array_size(tools) == 0)
        return case_fail(conformance, "\"tools\" is not an array with members");
    size_t index = 0;
    const json_t *tool = NULL;
    json_array_foreach(tools, index, tool)
    {
        missing = missing_member(tool, tool_members, COUNT_OF(tool_members));
        if (missing)
            return case_fail(conformance, "tool %zu has no member \"%s\"", index, missing);
    }
    return CASE_PASSED;
}

/* The manifest as the provider gave it, and how long that took. */
struct asked_manifest {
    const char *pointer;
    char *copy; /* NULL where there was none */
    uint64_t took_ms;
};

static void asked_manifest_clear(struct asked_manifest *asked)
{
    free(asked->copy);
}

static void ask_manifest(const struct provider *provider, struct asked_manifest *ret)
{
    uint64_t begin = monotonic_ms();
    ret->pointer = provider->manifest();
    ret->took_ms = monotonic_ms() - begin;
    ret->copy = ret->pointer ? strdup(ret->pointer) : NULL;
}

static enum case_result case_manifest_constant(struct conformance *conformance)
{
    CLEANUP(asked_manifest_clear) struct asked_manifest first = {0};
    CLEANUP(asked_manifest_clear) struct asked_manifest again = {0};
    ask_manifest(&conformance->provider, &first);
    ask_manifest(&conformance->provider, &again);
    if (!first.copy || !again.copy)
        /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): asked_manifest_clear() frees them */
        return case_fail(conformance, "tool_manifest() returned NULL");
    if (again.pointer != first.pointer || strcmp(first.copy, again.copy) != 0)
        return case_fail(conformance, "the second call returned a different text or pointer");
    if (first.took_ms > MANIFEST_FIRST_MS || again.took_ms > MANIFEST_AGAIN_MS)
        return case_fail(conformance, "slow: %lld ms, then %lld ms", (long long)first.took_ms,
                         (long long)again.took_ms);
    return CASE_PASSED;
}

static enum case_result check_schema(struct conformance *conformance, const char *name)
{
    static const char *const combiners[] = {"oneOf", "anyOf", "allOf", "not", "enum", "if", "$ref"};
    const json_t *schema = json_object_get(conformance->tool, name);
    if (!json_is_object(schema) || strcmp(json_member_string(schema, "type", ""), "object") != 0)
        return case_fail(conformance, "%s is not of type object", name);
    for (size_t i = 0; i < COUNT_OF(combiners); i++) {
        if (json_object_get(schema, combiners[i]))
            return case_fail(conformance,
                             "%s has \"%s\" at the top level: model providers reject it", name,
                             combiners[i]);
    }
    return CASE_PASSED;
}

static enum case_result case_manifest_schemas(struct conformance *conformance)
{
    enum case_result result = check_schema(conformance, "input_schema");
    return result == CASE_PASSED ? check_schema(conformance, "output_schema") : result;
}

/* Configuring without wanting the status, as every call with --policy or --sandbox does. */
static enum case_result case_prepare_without_status(struct conformance *conformance)
{
    int32_t code = conformance->provider.prepare(NULL, NULL);
    if (code != TOOL_OK && code != TOOL_NOT_RUN)
        return case_fail(conformance, "tool_prepare(NULL, NULL) returned %d", (int)code);
    return CASE_PASSED;
}

static enum case_result case_status_form(struct conformance *conformance)
{
    char *text = NULL;
    int32_t code = conformance->provider.status(&text);
    CLEANUP_FREE char *copy = provider_take_text(&conformance->provider, text);
    json_auto_t *status = provider_json_read(copy);
    if (code != TOOL_OK)
        return case_fail(conformance, "tool_status() returned %d", (int)code);
    if (!json_is_object(status))
        return case_fail(conformance, "*status_json is not a JSON object");
    if (!json_is_array(json_object_get(status, "backends")))
        return case_fail(conformance, "*status_json has no array \"backends\"");
    return CASE_PASSED;
}

const struct conformance_row conformance_load_rows[] = {
    {"symbols", case_symbols, CASE_LOADS_ITSELF, 0},
    {"exports", case_exports, CASE_LOADS_ITSELF, 0},
    {"abi-version", case_abi_version, CASE_WITHOUT_TOOL, 0},
    {"manifest-form", case_manifest_form, CASE_WITHOUT_TOOL, 0},
    {"manifest-constant", case_manifest_constant, CASE_WITHOUT_TOOL, 0},
    {"manifest-schemas", case_manifest_schemas, 0, 0},
    {"prepare-without-status", case_prepare_without_status, 0, 0},
    {"status-form", case_status_form, 0, 0},
    {0},
};
