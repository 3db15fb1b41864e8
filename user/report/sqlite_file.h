/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/*
 * An SQLite database in an open file, and rows of it: the file has no name until it is complete.
 */
#ifndef GPUMON_REPORT_SQLITE_FILE_H
#define GPUMON_REPORT_SQLITE_FILE_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* A column that is not known. */
#define GPUMON_SQL_NULL INT64_MIN

/* Columns of the widest table of numbers. */
#define GPUMON_SQL_WIDTH_MAX 16
/* Buffers of rows that wait for the writer, so that neither thread waits for the other at each of them. */
#define GPUMON_SQL_QUEUE 8

struct gpumon_sql_single {
	const char *table;
	sqlite3_stmt *insert;
};

/**
 * struct gpumon_sql_rows - rows of a table that wait
 * @table: the table
 * @rows: the rows, with room for those of any table
 * @used: number of @rows
 */
struct gpumon_sql_rows {
	struct gpumon_sql_table *table;
	int64_t *rows;
	unsigned int used;
};

/**
 * struct gpumon_sql - a database that is written
 * @fd: its file, which can be read
 * @error: errno of the first write that failed; 0: none did
 * @failed: result code of SQLite of the first failure
 * @writer: thread that adds rows while the caller makes the next ones, if @has_writer
 * @lock: of what follows
 * @to_add: the writer has something to do
 * @added: it has done something
 * @queue: rows that wait, the oldest at @first, and behind these free buffers
 * @queued: number of buffers that wait, with the one that the writer has
 * @adding: the writer has one: the database is its own
 * @taken: the database is the caller's
 * @single: statements of gpumon_sql_put(), one for each table
 */
struct gpumon_sql {
	sqlite3 *db;
	sqlite3_vfs vfs;
	int fd;
	int error;
	int failed;
	bool has_writer;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t to_add;
	pthread_cond_t added;
	struct gpumon_sql_rows queue[GPUMON_SQL_QUEUE];
	unsigned int first;
	unsigned int queued;
	bool adding;
	bool taken;
	bool ending;
	struct gpumon_sql_single *single;
	uint32_t single_used;
	uint32_t single_room;
};

/**
 * gpumon_sql_open - make a database in an empty file
 * @sql: out
 * @fd: file, which the caller closes afterwards
 *
 * Failures of this and of later functions are kept: gpumon_sql_close() tells.
 */
void gpumon_sql_open(struct gpumon_sql *sql, int fd);

/* Run statements without results. */
void gpumon_sql_run(struct gpumon_sql *sql, const char *text);

/**
 * gpumon_sql_put - add a row
 * @sql: database
 * @table: its name, which stays valid
 * @types: of each column 's' (a text or NULL, const char *) or 'i' (int64_t)
 */
void gpumon_sql_put(struct gpumon_sql *sql, const char *table, const char *types, ...);

/**
 * gpumon_sql_close - write what is left
 * @sql: database
 *
 * Return: 0, or -1 with errno.
 */
int gpumon_sql_close(struct gpumon_sql *sql);

/**
 * struct gpumon_sql_table - a table that gets many rows of numbers
 * @name: its name
 * @columns: names of columns; if @numbered, the first one is the key
 * @width: number of @columns
 * @has: number of those that it has, the first ones; 0: all
 * @zeros: bits of the others that are 0 in rows without them, not NULL
 * @adding: statements that add the others, one after the other; rows that do not need them are smaller
 * @reals: bits of columns that hold a double, as its bits
 * @numbered: keys are mostly 1, 2, 3 and so on, which SQLite counts in half the time
 * @last: last key that was written, of one that is @numbered
 * @rows: rows that are being made
 * @used: number of @rows
 * @given: those that are being added
 * @next: id of the next row, of a table whose ids SQLite counts
 */
struct gpumon_sql_table {
	const char *name;
	const char *columns;
	unsigned int width;
	unsigned int has;
	unsigned int zeros;
	const char *adding;
	unsigned int reals;
	bool numbered;
	int64_t last;
	struct gpumon_sql *sql;
	sqlite3_stmt *insert;
	int64_t *rows;
	unsigned int used;
	const struct gpumon_sql_rows *given;
	uint64_t next;
};

/* @table has its first members. */
void gpumon_sql_table_begin(struct gpumon_sql *sql, struct gpumon_sql_table *table);
/* A row to be filled in, all of it, before the next call of this header. */
int64_t *gpumon_sql_row(struct gpumon_sql_table *table);
void gpumon_sql_table_end(struct gpumon_sql_table *table);

#endif /* GPUMON_REPORT_SQLITE_FILE_H */
