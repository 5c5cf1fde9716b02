/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the store share: the opened database, statements with their values, and
 * transactions. For approval_store*.c only.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

#include "approval/approval_store.h"

#define STORE_CODE "approval_store_failed"

struct approval_store {
    sqlite3 *database;
};

/* A statement with its values bound, in the order of format: 's' const char * (NULL: null),
 * 'i' int64_t. NULL with failure. store_statement_end() releases it. */
sqlite3_stmt *store_statement(struct approval_store *store, struct failure *failure,
                              const char *sql, const char *format, ...);
void store_statement_end(sqlite3_stmt **statement);

#define CLEANUP_STATEMENT __attribute__((cleanup(store_statement_end)))

/* Runs a statement that gives no rows. *ret_changed (may be NULL): rows that it changed. */
bool store_run(struct approval_store *store, int *ret_changed, struct failure *failure,
               const char *sql, const char *format, ...);
/* One more row? false in *ret_row at the end. A NULL statement has failed before. */
bool store_next(struct approval_store *store, sqlite3_stmt *statement, bool *ret_row,
                struct failure *failure);
/* A text column; NULL where it is null. Lives until the next row. */
const char *store_text(sqlite3_stmt *statement, int column);

/* For several statements: no other process writes meanwhile. Without commit all is undone. */
struct store_transaction {
    struct approval_store *store; /* NULL: none is under way */
};
bool store_begin(struct approval_store *store, struct store_transaction *ret,
                 struct failure *failure);
bool store_commit(struct store_transaction *transaction, struct failure *failure);
void store_rollback(struct store_transaction *transaction);

#define CLEANUP_TRANSACTION __attribute__((cleanup(store_rollback)))

/* A new random name; false with failure. */
bool store_new_id(char ret[APPROVAL_STORE_ID + 1], struct failure *failure);
/* Deletes entries that expired long ago. */
bool store_tidy(struct approval_store *store, struct failure *failure);
