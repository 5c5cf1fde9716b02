/* SPDX-License-Identifier: Apache-2.0 */
/* The store's file, its statements and transactions. On the thread that opened it. */
#include "approval/approval_store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/state_file.h"

#define BUSY_MS    20000
#define VERSION    "1"
#define KEPT_S     "86400"  /* how long ended requests stay visible */
#define MOST_PAGES "131072" /* of 4 KiB: 512 MiB */

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS grants (id TEXT PRIMARY KEY, request_sha256 TEXT NOT NULL,"
    " principal TEXT, approver TEXT NOT NULL, summary TEXT NOT NULL, created INTEGER NOT NULL,"
    " expires INTEGER NOT NULL, uses INTEGER NOT NULL DEFAULT 0) STRICT;"
    "CREATE TABLE IF NOT EXISTS requests (id TEXT PRIMARY KEY, request_sha256 TEXT NOT NULL,"
    " principal TEXT, request TEXT NOT NULL, any_call INTEGER NOT NULL, state TEXT NOT NULL,"
    " word TEXT, approver TEXT, reason TEXT, created INTEGER NOT NULL, expires INTEGER NOT NULL)"
    " STRICT;"
    "CREATE INDEX IF NOT EXISTS grants_of ON grants (request_sha256);"
    "CREATE INDEX IF NOT EXISTS requests_of ON requests (request_sha256);"
    "PRAGMA user_version = " VERSION ";"
    "COMMIT;";

int64_t approval_store_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec;
}

static const struct state_file default_file = {"approvals.sqlite", "the approvals", "--approvals",
                                               STORE_CODE};

/* Fills the failure with what SQLite says; false. */
static bool refuse_store(struct approval_store *store, const char *what, struct failure *failure)
{
    return failure_set(failure, STORE_CODE, "approvals: %s: %s", what,
                       sqlite3_errmsg(store->database));
}

/* Anyone with write permission for the directory can replace the file. */
static bool check_directory(const char *path, struct failure *failure)
{
    CLEANUP_FREE char *directory = strdup(path);
    if (!directory)
        return failure_out_of_memory(failure);
    char *slash = strrchr(directory, '/');
    const char *name = slash == directory ? "/" : slash ? directory : ".";
    if (slash && slash != directory)
        *slash = '\0';
    CLEANUP_CLOSE int fd = open(name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return failure_set_errno(failure, STORE_CODE, errno, "directory %s", name);
    bool ours = status.st_uid == geteuid() || status.st_uid == 0;
    bool closed = (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
    if (ours && closed)
        return true;
    (void)failure_set(failure, STORE_CODE, "directory %s: other users can write to it", name);
    return failure_set_hint(
        failure, "anyone who can write there can grant approvals: chmod 700 it, or name another "
                 "file with --approvals");
}

/* The file is judged by its descriptor; the directory keeps others from exchanging it afterwards.
 * Closed again before SQLite opens it: closing a descriptor drops a process's locks. */
static bool check_file(const char *path, bool make, bool *ret_there, struct failure *failure)
{
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | (make ? O_CREAT : 0);
    CLEANUP_CLOSE int fd = open(path, flags, 0600);
    struct stat status;
    *ret_there = fd >= 0;
    if (fd < 0 && errno == ENOENT && !make)
        return true;
    if (fd < 0 || fstat(fd, &status) < 0)
        return failure_set_errno(failure, STORE_CODE, errno, "approvals %s", path);
    return check_directory(path, failure) && trusted_file_check(&status, path, STORE_CODE, failure);
}

static bool run_sql(struct approval_store *store, const char *sql, struct failure *failure)
{
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK ||
           refuse_store(store, "cannot be prepared", failure);
}

static bool check_version(struct approval_store *store, const char *path, struct failure *failure)
{
    CLEANUP_STATEMENT sqlite3_stmt *statement =
        store_statement(store, failure, "PRAGMA user_version", "");
    bool row = false;
    if (!store_next(store, statement, &row, failure))
        return false;
    int64_t version = sqlite3_column_int64(statement, 0);
    if (version <= strtol(VERSION, NULL, 10))
        return true;
    return failure_set(failure, STORE_CODE,
                       "approvals %s: written by a newer toolhost (version %lld)", path,
                       (long long)version);
}

static bool prepare_database(struct approval_store *store, const char *path,
                             struct failure *failure)
{
    (void)sqlite3_busy_timeout(store->database, BUSY_MS);
    (void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(store->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_limit(store->database, SQLITE_LIMIT_LENGTH, (int)APPROVAL_STORE_JSON);
    return check_version(store, path, failure) &&
           run_sql(store,
                   "PRAGMA synchronous = FULL; PRAGMA secure_delete = ON;"
                   "PRAGMA max_page_count = " MOST_PAGES ";",
                   failure) &&
           run_sql(store, schema, failure);
}

bool approval_store_open(const char *path, bool make, struct approval_store **ret,
                         struct failure *failure)
{
    CLEANUP_FREE char *default_path = NULL;
    bool there = false;
    *ret = NULL;
    if (!path && !state_file_path(&default_file, &default_path, failure))
        return false;
    const char *name = path ? path : default_path;
    if (make && !path && !state_file_make_directories(&default_file, name, failure))
        return false;
    if (!check_file(name, make, &there, failure))
        return false;
    if (!there)
        return true;
    CLEANUP(approval_store_close)
    struct approval_store *store = calloc(1, sizeof(*store));
    if (!store)
        return failure_out_of_memory(failure);
    if (sqlite3_open_v2(name, &store->database,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_FULLMUTEX,
                        NULL) != SQLITE_OK)
        return refuse_store(store, name, failure);
    if (!prepare_database(store, name, failure))
        return false;
    *ret = TAKE_POINTER(store);
    return true;
}

void approval_store_close(struct approval_store **store)
{
    if (!*store)
        return;
    (void)sqlite3_close_v2((*store)->database);
    free(TAKE_POINTER(*store));
}

static sqlite3_stmt *bind_statement(struct approval_store *store, struct failure *failure,
                                    const char *sql, const char *format, va_list values)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(store->database, sql, -1, &statement, NULL);
    for (int i = 0; result == SQLITE_OK && format[i]; i++) {
        if (format[i] == 's')
            result = sqlite3_bind_text(statement, i + 1, va_arg(values, const char *), -1,
                                       SQLITE_TRANSIENT);
        else
            result = sqlite3_bind_int64(statement, i + 1, va_arg(values, int64_t));
    }
    if (result == SQLITE_OK)
        return statement;
    (void)refuse_store(store, "a statement", failure);
    (void)sqlite3_finalize(statement);
    return NULL;
}

sqlite3_stmt *store_statement(struct approval_store *store, struct failure *failure,
                              const char *sql, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    sqlite3_stmt *statement = bind_statement(store, failure, sql, format, values);
    va_end(values);
    return statement;
}

void store_statement_end(sqlite3_stmt **statement)
{
    (void)sqlite3_finalize(*statement);
}

bool store_next(struct approval_store *store, sqlite3_stmt *statement, bool *ret_row,
                struct failure *failure)
{
    if (!statement)
        return false;
    int result = sqlite3_step(statement);
    *ret_row = result == SQLITE_ROW;
    return result == SQLITE_ROW || result == SQLITE_DONE ||
           refuse_store(store, "cannot be used", failure);
}

bool store_run(struct approval_store *store, int *ret_changed, struct failure *failure,
               const char *sql, const char *format, ...)
{
    bool row = false;
    va_list values;
    va_start(values, format);
    CLEANUP_STATEMENT sqlite3_stmt *statement = bind_statement(store, failure, sql, format, values);
    va_end(values);
    if (!store_next(store, statement, &row, failure))
        return false;
    if (ret_changed)
        *ret_changed = sqlite3_changes(store->database);
    return true;
}

const char *store_text(sqlite3_stmt *statement, int column)
{
    return (const char *)sqlite3_column_text(statement, column);
}

bool store_begin(struct approval_store *store, struct store_transaction *ret,
                 struct failure *failure)
{
    if (!run_sql(store, "BEGIN IMMEDIATE", failure))
        return false;
    ret->store = store;
    return true;
}

bool store_commit(struct store_transaction *transaction, struct failure *failure)
{
    if (!run_sql(transaction->store, "COMMIT", failure))
        return false;
    transaction->store = NULL;
    return true;
}

void store_rollback(struct store_transaction *transaction)
{
    if (transaction->store)
        (void)sqlite3_exec(transaction->store->database, "ROLLBACK", NULL, NULL, NULL);
}

bool store_new_id(char ret[APPROVAL_STORE_ID + 1], struct failure *failure)
{
    return hex_random(ret, APPROVAL_STORE_ID) ||
           failure_set_errno(failure, STORE_CODE, errno, "no random name");
}

bool store_tidy(struct approval_store *store, struct failure *failure)
{
    int64_t now = approval_store_now();
    return store_run(store, NULL, failure, "DELETE FROM grants WHERE expires <= ?", "i", now) &&
           store_run(store, NULL, failure,
                     "DELETE FROM requests WHERE expires <= ? - " KEPT_S " OR (state <> 'open'"
                     " AND created <= ? - " KEPT_S ")",
                     "ii", now, now);
}
