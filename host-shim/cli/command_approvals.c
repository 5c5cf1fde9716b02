/* SPDX-License-Identifier: Apache-2.0 */
/* toolhost approvals: what waits for an answer and what stands granted. Main thread. */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "approval/approval.h"
#include "approval/approval_grants.h"
#include "approval/approval_store.h"
#include "base/cleanup.h"
#include "base/console.h"
#include "base/text_escape.h"
#include "cli/commands.h"

#define COLUMNS      100u
#define DAY_S        86400
#define SHORT_SHA256 12

/* Where rows go; for people or as JSON. */
struct listing {
    FILE *out;
    json_t *rows; /* NULL: for people */
    bool whole;   /* all of a request, not only its line */
    bool open;    /* requests that wait for an answer, and nothing else */
    size_t count;
};

static void write_time(FILE *out, int64_t seconds)
{
    time_t when = seconds;
    struct tm utc;
    char text[32] = "?";
    if (gmtime_r(&when, &utc))
        (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
    (void)fputs(text, out);
}

static const char *state_of(const struct approval_row *row)
{
    bool over = row->expires <= approval_store_now();
    bool waits = strcmp(row->state, "open") == 0 || strcmp(row->state, "standing") == 0;
    return over && waits ? "expired" : row->state;
}

static void add_json(struct listing *listing, const struct approval_row *row)
{
    json_t *request =
        row->request_json ? json_loads(row->request_json, JSON_REJECT_DUPLICATES, NULL) : NULL;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:s?, s:s, s:s?, s:s*, s:I, s:I, s:I}", "kind",
        row->grant ? "grant" : "request", "id", row->id, "request_sha256", row->request_sha256,
        "principal", row->principal, "state", state_of(row), "approver", row->approver, "summary",
        row->grant ? row->summary : NULL, "created", (json_int_t)row->created, "expires",
        (json_int_t)row->expires, "uses", (json_int_t)row->uses);
    if (request && listing->whole)
        (void)json_object_set(object, "request", request);
    json_decref(request);
    (void)json_array_append_new(listing->rows, object);
}

static void write_escaped(FILE *out, const char *text)
{
    text_escape_write(out, text, strlen(text));
}

static void write_line(FILE *out, const struct approval_row *row, const char *summary)
{
    (void)fprintf(out, "%s  %-8s  until ", row->id, state_of(row));
    write_time(out, row->expires);
    (void)fprintf(out, "  %.*s  ", SHORT_SHA256, row->request_sha256);
    write_escaped(out, row->principal ? row->principal : "-");
    (void)fputs("  ", out);
    write_escaped(out, summary);
    if (row->approver) {
        (void)fputs("  by ", out);
        write_escaped(out, row->approver);
    }
    if (row->grant)
        (void)fprintf(out, "  used %" PRId64, row->uses);
    (void)fputc('\n', out);
}

static void take_row(void *user, const struct approval_row *row)
{
    struct listing *listing = user;
    if (listing->open && strcmp(state_of(row), "open") != 0)
        return;
    listing->count++;
    if (listing->rows) {
        add_json(listing, row);
        return;
    }
    json_auto_t *request =
        row->request_json ? json_loads(row->request_json, JSON_REJECT_DUPLICATES, NULL) : NULL;
    char summary[APPROVAL_SUMMARY];
    approval_store_summary(request, summary);
    write_line(listing->out, row, request ? summary : row->summary);
    if (request && listing->whole)
        (void)approval_show(listing->out, request, COLUMNS, APPROVAL_SHOW_ALL);
}

static bool print_listing(struct approval_store *store, const struct options *options,
                          const char *id, int out, struct failure *failure)
{
    CLEANUP_FREE char *text = NULL;
    size_t length = 0;
    json_auto_t *rows = options->json ? json_array() : NULL;
    struct listing listing = {.rows = rows, .whole = id != NULL, .open = options->open};
    listing.out = open_memstream(&text, &length);
    if (!listing.out)
        return failure_out_of_memory(failure);
    bool listed = !store || approval_store_list(store, id, take_row, &listing, failure);
    if (listed && rows)
        listed =
            json_dumpf(rows, listing.out, JSON_INDENT(2)) == 0 && fputc('\n', listing.out) != EOF;
    else if (listed && !id && listing.count == 0)
        (void)fputs(options->open ? "no request waits for an answer\n"
                                  : "no requests wait, and there are no grants\n",
                    listing.out);
    if (fclose(listing.out) != 0)
        return failure_out_of_memory(failure);
    if (!listed)
        return false;
    if (id && listing.count == 0)
        return failure_set(failure, "approval_unknown", "no grant and no request %s", id);
    (void)dprintf(out, "%s", text);
    return true;
}

static bool answer_request(struct approval_store *store, const struct options *options,
                           const char *id, enum approval_word word, struct failure *failure)
{
    char approver[128];
    approval_name_user("queue", approver, sizeof(approver));
    uint64_t days = options->days > 0 ? options->days : APPROVAL_GRANT_DAYS;
    bool allows = word == APPROVAL_WORD_ALLOW_ONCE;
    bool always = options->always && allows;
    if (options->cells + options->whole_run + options->always > (allows ? 1 : 0))
        return failure_usage(failure,
                             "--cells, --whole-run and --always are for approve, one at a time");
    if (options->cells)
        word = APPROVAL_WORD_ALLOW_CELLS;
    if (options->whole_run)
        word = APPROVAL_WORD_ALLOW_RUN;
    return approval_store_answer(store, id, always ? APPROVAL_WORD_ALLOW_ALWAYS : word, approver,
                                 options->reason ? options->reason : "",
                                 always ? (int64_t)days * DAY_S : 0, failure);
}

static bool perform_action(struct approval_store *store, const struct options *options, int out,
                           struct failure *failure)
{
    const char *verb = options->words[0];
    const char *id = options->word_count > 1 ? options->words[1] : NULL;
    bool list = strcmp(verb, "list") == 0;
    if (list == (id != NULL))
        return failure_usage(failure, list ? "approvals list takes no ID"
                                           : "approvals needs list, or show, approve, deny, "
                                             "cancel or revoke with an ID");
    if (options->open && !list)
        return failure_usage(failure, "--open is for approvals list");
    if (list || strcmp(verb, "show") == 0)
        return print_listing(store, options, id, out, failure);
    if (!store)
        return failure_set(failure, "approval_unknown", "no grant and no waiting request %s", id);
    if (strcmp(verb, "approve") == 0)
        return answer_request(store, options, id, APPROVAL_WORD_ALLOW_ONCE, failure);
    if (strcmp(verb, "deny") == 0)
        return answer_request(store, options, id, APPROVAL_WORD_DENY, failure);
    if (strcmp(verb, "cancel") == 0)
        return answer_request(store, options, id, APPROVAL_WORD_CANCEL, failure);
    if (strcmp(verb, "revoke") == 0)
        return approval_store_revoke(store, id, failure);
    return failure_usage(failure, "approvals has no action %s", verb);
}

int command_approvals(const struct options *options, int out)
{
    struct failure failure;
    CLEANUP(approval_store_close) struct approval_store *store = NULL;
    if (approval_store_open(options->approver.store, false, &store, &failure) &&
        perform_action(store, options, out, &failure))
        return EXIT_SUCCESS;
    console_print_failure(&failure);
    return failure_is_usage(&failure) ? EXIT_USAGE : EXIT_FAILURE;
}
