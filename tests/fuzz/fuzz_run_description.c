/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a backend is told of a run, without the version before it, so that seeds outlive one. What
 * is taken is safe and is written again as the same bytes; cut anywhere, or with a byte more, it is
 * refused. The same bytes taken for the parts of a description make one that survives the way.
 */
#include "base/cleanup.h"
#include "fuzz.h"
#include "protocol/run_description.h"
#include "protocol/run_event.h"

#define VERSION_LENGTH 4
#define CUTS_LIMIT     512 /* of a longer one only some places */
#define LIST_LIMIT     6
#define TEXT_LIMIT     40

static bool is_taken(const unsigned char *message, size_t length)
{
    struct run_description description;
    unsigned char *exact = fuzz_exact(message, length);
    bool taken = run_description_decode(exact, length, &description);
    free(exact);
    if (taken)
        run_description_clear(&description);
    return taken;
}

static void must_be_whole(const unsigned char *message, size_t length)
{
    size_t step = length <= CUTS_LIMIT ? 1 : length / CUTS_LIMIT + 1;
    for (size_t cut = 0; cut < length; cut += step)
        MUST(!is_taken(message, cut));
    MUST(!is_taken(message, length - 1));
    CLEANUP_FREE unsigned char *longer = malloc(length + 1);
    MUST(longer != NULL);
    memcpy(longer, message, length);
    longer[length] = 0;
    MUST(!is_taken(longer, length + 1));
}

static void must_be_absolute(char *const *paths)
{
    for (; *paths; paths++)
        MUST((*paths)[0] == '/' && strlen(*paths) < 4096);
}

static void check(const struct run_description *description)
{
    MUST(strspn(description->run_id, "0123456789abcdef") == RUN_ID_LENGTH);
    MUST(description->isolation < RUN_ISOLATION_COUNT && description->network <= 1 &&
         description->results <= 1 && description->tools <= 1 && description->endpoints <= 1);
    MUST(description->purpose < RUN_PURPOSE_COUNT);
    MUST(description->argv[0] && description->argv[0][0]);
    must_be_absolute(description->runtime_path);
    must_be_absolute(description->read_only_paths);
    for (size_t i = 0; i < description->file_count; i++) {
        char around[4100];
        (void)snprintf(around, sizeof(around), "/%s/", description->files[i].path);
        MUST(description->files[i].by_reference != (description->files[i].sha256[0] == '\0'));
        MUST(description->files[i].by_reference == !description->files[i].content);
        MUST(!strstr(around, "//") && !strstr(around, "/./") && !strstr(around, "/../"));
    }
    MUST(description->private_file_count <= description->file_count);
    MUST(description->workspace[0] == '\0' || description->workspace[0] == '/');
    const char *packages = description->packages.path;
    MUST(packages[0] == '\0' || packages[0] == '/');
    MUST(strspn(description->packages.sha256, "0123456789abcdef") ==
         (packages[0] == '\0' ? 0 : RUN_HASH_LENGTH));
    MUST(strlen(description->packages.sha256) == (packages[0] == '\0' ? 0 : RUN_HASH_LENGTH));
    MUST(description->image.pull < RUN_PULL_COUNT &&
         description->options.length <= RUN_OPTIONS_LIMIT);
}

static unsigned char *encode(const struct run_description *description, size_t *ret_length)
{
    unsigned char *message = run_description_encode(description, ret_length);
    MUST(message != NULL);
    return message;
}

static void try_bytes(const uint8_t *data, size_t size)
{
    struct run_description description;
    size_t length = VERSION_LENGTH + size;
    CLEANUP_FREE unsigned char *message = calloc(1, length);
    MUST(message != NULL);
    message[0] = PROTOCOL_VERSION;
    if (size)
        memcpy(message + VERSION_LENGTH, data, size);
    if (!run_description_decode(message, length, &description))
        return;
    check(&description);
    size_t again_length = 0;
    CLEANUP_FREE unsigned char *again = encode(&description, &again_length);
    MUST(again_length == length && memcmp(again, message, length) == 0);
    run_description_clear(&description);
    must_be_whole(message, length);
    message[0]++;
    MUST(!is_taken(message, length));
}

/* --- A description of the bytes --- */

struct source {
    const uint8_t *bytes;
    size_t left;
};

static uint8_t take_byte(struct source *source)
{
    if (source->left == 0)
        return 0;
    source->left--;
    return *source->bytes++;
}

static uint64_t take_number(struct source *source)
{
    uint64_t number = 0;
    for (size_t i = take_byte(source) % 9; i > 0; i--)
        number = number << 8 | take_byte(source);
    return number;
}

static char *take_text(struct source *source, const char *beginning)
{
    char text[TEXT_LIMIT + 1] = "";
    size_t length = take_byte(source) % (TEXT_LIMIT - 1);
    (void)snprintf(text, sizeof(text), "%s", beginning);
    for (size_t used = strlen(text); length > 0 && used < TEXT_LIMIT; length--) {
        uint8_t byte = take_byte(source);
        text[used++] = byte ? (char)byte : 'x';
    }
    char *copy = strdup(text);
    MUST(copy != NULL);
    return copy;
}

static char **take_list(struct source *source, const char *beginning, size_t minimum)
{
    size_t count = minimum + take_byte(source) % LIST_LIMIT;
    char **list = calloc(count + 1, sizeof(*list));
    MUST(list != NULL);
    for (size_t i = 0; i < count; i++)
        list[i] = take_text(source, beginning);
    return list;
}

static void take_files(struct source *source, struct run_description *description)
{
    size_t count = take_byte(source) % LIST_LIMIT;
    description->files = calloc(count + 1, sizeof(*description->files));
    MUST(description->files != NULL);
    for (size_t i = 0; i < count; i++) {
        struct run_file *file = &description->files[description->file_count++];
        file->path = take_text(source, "a");
        for (char *c = file->path; *c; c++)
            *c = *c == '/' ? '.' : *c;
        file->length = take_byte(source);
        file->by_reference = file->length % 4 == 3;
        if (file->by_reference) {
            memset(file->sha256, 'a' + file->length % 6, sizeof(file->sha256) - 1);
            continue;
        }
        file->content = calloc(1, file->length + 1);
        MUST(file->content != NULL);
        for (size_t j = 0; j < file->length; j++)
            file->content[j] = take_byte(source);
    }
}

static void take_limits(struct source *source, struct run_limits *limits)
{
    limits->wall_ms = take_number(source);
    limits->cpu_ms = take_number(source);
    limits->memory_bytes = take_number(source);
    limits->processes = take_number(source);
    limits->open_files = take_number(source);
    limits->file_bytes = take_number(source);
    limits->scratch_bytes = take_number(source);
    limits->scratch_inodes = take_number(source);
}

static void take_options(struct source *source, struct wire_bytes *options)
{
    options->length = take_byte(source);
    options->bytes = calloc(1, options->length + 1);
    MUST(options->bytes != NULL);
    for (size_t i = 0; i < options->length; i++)
        options->bytes[i] = take_byte(source);
}

static void take_image(struct source *source, struct run_image *image)
{
    image->name = take_text(source, "");
    image->id = take_text(source, "");
    image->require_digest = take_byte(source) & 1;
    image->pull = take_byte(source) % RUN_PULL_COUNT;
}

static void take_packages(struct source *source, struct run_packages *packages)
{
    if (take_byte(source) & 1)
        return;
    packages->path = take_text(source, "/");
    packages->sha256 = calloc(1, RUN_HASH_LENGTH + 1);
    MUST(packages->sha256 != NULL);
    memset(packages->sha256, 'a' + take_byte(source) % 6, RUN_HASH_LENGTH);
    packages->bytes = take_number(source);
    packages->inodes = take_number(source);
}

static struct run_description take_description(struct source *source)
{
    struct run_description description = {
        .run_id = "0123456789abcdef0123456789abcdef",
        .isolation = take_byte(source) % RUN_ISOLATION_COUNT,
        .purpose = take_byte(source) % RUN_PURPOSE_COUNT,
        .network = take_byte(source) & 1,
        .endpoints = take_byte(source) & 1,
        .required = take_number(source),
        .outer_uid_base = (uint32_t)take_number(source),
        .outer_uid_count = (uint32_t)take_number(source),
    };
    take_limits(source, &description.limits);
    description.argv = take_list(source, "p", 1);
    description.environment = take_list(source, "A=", 0);
    description.runtime_path = take_list(source, "/", 0);
    description.read_only_paths = take_list(source, "/", 0);
    take_files(source, &description);
    description.workspace = take_text(source, "/");
    take_options(source, &description.options);
    take_image(source, &description.image);
    take_packages(source, &description.packages);
    description.workspace_id.device = take_number(source);
    description.workspace_id.inode = take_number(source);
    return description;
}

static void must_be_same_list(char *const *left, char *const *right)
{
    for (; *left && *right; left++, right++)
        MUST(strcmp(*left, *right) == 0);
    MUST(!*left && !*right);
}

/* One by reference has no content. */
static void must_be_same_file(const struct run_file *one, const struct run_file *other)
{
    MUST(one->length == other->length && one->by_reference == other->by_reference);
    MUST(strcmp(one->sha256, other->sha256) == 0);
    MUST(one->by_reference || one->length == 0 ||
         memcmp(one->content, other->content, one->length) == 0);
}

static void try_made(const uint8_t *data, size_t size)
{
    struct source source = {data, size};
    struct run_description made = take_description(&source);
    struct run_description decoded;
    size_t length = 0;
    CLEANUP_FREE unsigned char *message = encode(&made, &length);
    MUST(run_description_decode(message, length, &decoded));
    check(&decoded);
    MUST(memcmp(&decoded.limits, &made.limits, sizeof(made.limits)) == 0);
    MUST(decoded.required == made.required && decoded.outer_uid_base == made.outer_uid_base);
    must_be_same_list(decoded.argv, made.argv);
    must_be_same_list(decoded.environment, made.environment);
    MUST(decoded.file_count == made.file_count);
    for (size_t i = 0; i < made.file_count; i++)
        must_be_same_file(&decoded.files[i], &made.files[i]);
    MUST(decoded.options.length == made.options.length &&
         memcmp(decoded.options.bytes, made.options.bytes, made.options.length) == 0);
    MUST(strcmp(decoded.image.id, made.image.id) == 0);
    MUST(strcmp(decoded.packages.path, made.packages.path ? made.packages.path : "") == 0);
    MUST(decoded.packages.bytes == made.packages.bytes);
    MUST(directory_id_equal(&decoded.workspace_id, &made.workspace_id));
    must_be_whole(message, length);
    run_description_clear(&decoded);
    run_description_clear(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    try_bytes(data, size);
    try_made(data, size);
    return 0;
}
