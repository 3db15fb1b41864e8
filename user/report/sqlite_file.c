// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * SQLite opens files by name. The output has none until it is complete, so SQLite is given the open
 * descriptor by a VFS of its own. Only one process uses it, so that it needs no locks.
 */
#ifdef GPUMON_SQLITE
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/array.h"
#include "lib/memory.h"
#include "sqlite_file.h"

/* Rows that are added at once, in a cache of the processor. */
#define ROWS	   512
#define ROWS_BYTES (ROWS * GPUMON_SQL_WIDTH_MAX * sizeof(int64_t))

/* An open file of the VFS. */
struct file {
	sqlite3_file base;
	struct gpumon_sql *sql;
};

static struct gpumon_sql *sql_of(sqlite3_file *file)
{
	return ((struct file *)file)->sql;
}

static void keep(struct gpumon_sql *sql, int result)
{
	if (result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW && !sql->failed)
		sql->failed = result;
}

/* --- the file */

static int file_close(sqlite3_file *file)
{
	(void)file;
	return SQLITE_OK;
}

static int file_read(sqlite3_file *file, void *to, int size, sqlite3_int64 at)
{
	int done = 0;

	while (done < size) {
		ssize_t n = pread(sql_of(file)->fd, (char *)to + done, (size_t)(size - done),
				  (off_t)at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return SQLITE_IOERR_READ;
		if (!n)
			break;
		done += (int)n;
	}
	if (done == size)
		return SQLITE_OK;
	memset((char *)to + done, 0, (size_t)size - (size_t)done);
	return SQLITE_IOERR_SHORT_READ;
}

static int file_write(sqlite3_file *file, const void *from, int size, sqlite3_int64 at)
{
	struct gpumon_sql *sql = sql_of(file);
	int done = 0;

	while (done < size) {
		ssize_t n = pwrite(sql->fd, (const char *)from + done, (size_t)(size - done),
				   (off_t)at + done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (!sql->error)
				sql->error = n ? errno : ENOSPC;
			return SQLITE_IOERR_WRITE;
		}
		done += (int)n;
	}
	return SQLITE_OK;
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	return ftruncate(sql_of(file)->fd, size) ? SQLITE_IOERR_TRUNCATE : SQLITE_OK;
}

static int file_sync(sqlite3_file *file, int flags)
{
	(void)file;
	(void)flags;
	return SQLITE_OK;
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size)
{
	struct stat status;

	if (fstat(sql_of(file)->fd, &status))
		return SQLITE_IOERR_FSTAT;
	*size = status.st_size;
	return SQLITE_OK;
}

static int file_lock(sqlite3_file *file, int level)
{
	(void)file;
	(void)level;
	return SQLITE_OK;
}

static int file_is_reserved(sqlite3_file *file, int *result)
{
	(void)file;
	*result = 0;
	return SQLITE_OK;
}

static int file_control(sqlite3_file *file, int what, void *argument)
{
	(void)file;
	(void)what;
	(void)argument;
	return SQLITE_NOTFOUND;
}

static int file_sector(sqlite3_file *file)
{
	(void)file;
	return 4096;
}

static int file_traits(sqlite3_file *file)
{
	(void)file;
	return 0;
}

static int vfs_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file, int flags,
		    int *out_flags)
{
	static const sqlite3_io_methods methods = {
		.iVersion = 1,
		.xClose = file_close,
		.xRead = file_read,
		.xWrite = file_write,
		.xTruncate = file_truncate,
		.xSync = file_sync,
		.xFileSize = file_size,
		.xLock = file_lock,
		.xUnlock = file_lock,
		.xCheckReservedLock = file_is_reserved,
		.xFileControl = file_control,
		.xSectorSize = file_sector,
		.xDeviceCharacteristics = file_traits,
	};
	struct file *opened = (struct file *)file;

	(void)name;
	file->pMethods = NULL;
	/* There is no journal, and no index that is sorted in a file. */
	if (!(flags & SQLITE_OPEN_MAIN_DB))
		return SQLITE_CANTOPEN;
	opened->sql = vfs->pAppData;
	file->pMethods = &methods;
	if (out_flags)
		*out_flags = flags;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	(void)name;
	(void)sync;
	return SQLITE_OK;
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
	(void)vfs;
	(void)name;
	(void)flags;
	*result = 0;
	return SQLITE_OK;
}

static int vfs_full_name(sqlite3_vfs *vfs, const char *name, int room, char *full)
{
	(void)vfs;
	snprintf(full, (size_t)room, "%s", name);
	return SQLITE_OK;
}

/* --- the thread that adds rows: most of the time of an export is SQLite's */

/* Where the names of columns go on behind some of them. */
static const char *behind_columns(const char *columns, unsigned int count)
{
	for (; count && columns; count--)
		columns = strchr(columns, ',') ? strchr(columns, ',') + 1 : NULL;
	return columns ? columns : "";
}

/* Compiles the statement for the columns that the table has. SQLite counts keys that are left out. */
static void compile_insert(struct gpumon_sql_table *table)
{
	const char *first = behind_columns(table->columns, table->numbered);
	const char *end = behind_columns(table->columns, table->has);
	int length = (int)(*end ? (size_t)(end - first) - 1 : strlen(first));
	char *text = sqlite3_mprintf("INSERT INTO \"%w\"(%.*s) SELECT %.*s FROM rows_of_%s",
				     table->name, length, first, length, first, table->name);

	sqlite3_finalize(table->insert);
	table->insert = NULL;
	keep(table->sql,
	     text ? sqlite3_prepare_v3(table->sql->db, text, -1, SQLITE_PREPARE_PERSISTENT,
				       &table->insert, NULL) :
		    SQLITE_NOMEM);
	sqlite3_free(text);
}

/* Add columns until there are so many. */
static void widen_table(struct gpumon_sql_table *table, unsigned int width)
{
	sqlite3_stmt *add;

	for (; table->has < width && !table->sql->failed; table->has++) {
		keep(table->sql,
		     sqlite3_prepare_v2(table->sql->db, table->adding, -1, &add, &table->adding));
		keep(table->sql, sqlite3_step(add));
		sqlite3_finalize(add);
	}
}

/* How many columns the given rows need. */
static unsigned int width_of_rows(const struct gpumon_sql_table *table)
{
	const int64_t *row = table->given->rows;
	unsigned int width = table->has;

	for (unsigned int i = 0; i < table->given->used; i++, row += table->width) {
		for (unsigned int column = table->width; column > width; column--) {
			int64_t usual = table->zeros >> (column - 1) & 1 ? 0 : GPUMON_SQL_NULL;

			if (row[column - 1] != usual)
				width = column;
		}
	}
	return width;
}

/* Whether SQLite would give the given rows the same keys. */
static bool is_counted(const struct gpumon_sql_table *table)
{
	const int64_t *row = table->given->rows;

	for (unsigned int i = 0; i < table->given->used; i++, row += table->width)
		if (*row != table->last + 1 + (int64_t)i)
			return false;
	return true;
}

static void add_rows(const struct gpumon_sql_rows *given)
{
	struct gpumon_sql_table *table = given->table;
	unsigned int width;
	bool counted;

	if (table->sql->failed)
		return;
	table->given = given;
	width = width_of_rows(table);
	counted = !table->numbered || is_counted(table);
	if (width > table->has || !counted) {
		widen_table(table, width);
		table->numbered &= counted;
		compile_insert(table);
	}
	if (table->sql->failed)
		return;
	if (table->numbered)
		table->last += given->used;
	keep(table->sql, sqlite3_step(table->insert));
	sqlite3_reset(table->insert);
}

static void *run_writer(void *data)
{
	struct gpumon_sql *sql = data;

	pthread_mutex_lock(&sql->lock);
	while (sql->queued || !sql->ending) {
		if (!sql->queued || sql->taken) {
			pthread_cond_wait(&sql->to_add, &sql->lock);
			continue;
		}
		sql->adding = true;
		pthread_mutex_unlock(&sql->lock);
		add_rows(&sql->queue[sql->first]);
		pthread_mutex_lock(&sql->lock);
		sql->adding = false;
		sql->first = (sql->first + 1) % GPUMON_SQL_QUEUE;
		sql->queued--;
		pthread_cond_signal(&sql->added);
	}
	pthread_mutex_unlock(&sql->lock);
	return NULL;
}

/* Rows that wait may still be added afterwards: which row is first makes no difference. */
static void take_database(struct gpumon_sql *sql)
{
	if (!sql->has_writer)
		return;
	pthread_mutex_lock(&sql->lock);
	sql->taken = true;
	while (sql->adding)
		pthread_cond_wait(&sql->added, &sql->lock);
	pthread_mutex_unlock(&sql->lock);
}

static void release_database(struct gpumon_sql *sql)
{
	if (!sql->has_writer)
		return;
	pthread_mutex_lock(&sql->lock);
	sql->taken = false;
	if (sql->queued)
		pthread_cond_signal(&sql->to_add);
	pthread_mutex_unlock(&sql->lock);
}

/* Waits until all rows are added. */
static void drain_queue(struct gpumon_sql *sql)
{
	if (!sql->has_writer)
		return;
	pthread_mutex_lock(&sql->lock);
	while (sql->queued)
		pthread_cond_wait(&sql->added, &sql->lock);
	pthread_mutex_unlock(&sql->lock);
}

/* The table gets another buffer for the rows that follow. */
static void write_rows(struct gpumon_sql_table *table)
{
	struct gpumon_sql *sql = table->sql;
	struct gpumon_sql_rows *to;
	int64_t *free_rows;

	if (!table->used)
		return;
	if (!sql->has_writer) {
		add_rows(&(struct gpumon_sql_rows){ table, table->rows, table->used });
		table->used = 0;
		return;
	}
	pthread_mutex_lock(&sql->lock);
	while (sql->queued == GPUMON_SQL_QUEUE)
		pthread_cond_wait(&sql->added, &sql->lock);
	to = &sql->queue[(sql->first + sql->queued++) % GPUMON_SQL_QUEUE];
	free_rows = to->rows;
	*to = (struct gpumon_sql_rows){ table, table->rows, table->used };
	pthread_cond_signal(&sql->to_add);
	pthread_mutex_unlock(&sql->lock);
	table->rows = free_rows;
	table->used = 0;
}

/* Without the thread, the caller adds the rows. */
static void begin_writer(struct gpumon_sql *sql)
{
	pthread_mutex_init(&sql->lock, NULL);
	pthread_cond_init(&sql->to_add, NULL);
	pthread_cond_init(&sql->added, NULL);
	sql->has_writer = !pthread_create(&sql->writer, NULL, run_writer, sql);
	for (unsigned int i = 0; sql->has_writer && i < GPUMON_SQL_QUEUE; i++)
		sql->queue[i].rows = gpumon_malloc(ROWS_BYTES);
}

static void end_writer(struct gpumon_sql *sql)
{
	if (sql->has_writer) {
		pthread_mutex_lock(&sql->lock);
		sql->ending = true;
		pthread_cond_signal(&sql->to_add);
		pthread_mutex_unlock(&sql->lock);
		pthread_join(sql->writer, NULL);
	}
	for (unsigned int i = 0; i < GPUMON_SQL_QUEUE; i++)
		free(sql->queue[i].rows);
	pthread_cond_destroy(&sql->added);
	pthread_cond_destroy(&sql->to_add);
	pthread_mutex_destroy(&sql->lock);
}

/* --- the database */

void gpumon_sql_open(struct gpumon_sql *sql, int fd)
{
	const sqlite3_vfs *usual;

	*sql = (struct gpumon_sql){ .fd = fd };
	begin_writer(sql);
	keep(sql, sqlite3_initialize());
	usual = sqlite3_vfs_find(NULL);
	if (!usual) {
		keep(sql, SQLITE_ERROR);
		return;
	}
	/* Of the usual one it keeps random numbers and the clock. */
	sql->vfs = *usual;
	sql->vfs.iVersion = 1;
	sql->vfs.szOsFile = sizeof(struct file);
	sql->vfs.pNext = NULL;
	sql->vfs.zName = "gpumon";
	sql->vfs.pAppData = sql;
	sql->vfs.xOpen = vfs_open;
	sql->vfs.xDelete = vfs_delete;
	sql->vfs.xAccess = vfs_access;
	sql->vfs.xFullPathname = vfs_full_name;
	keep(sql, sqlite3_vfs_register(&sql->vfs, 0));
	keep(sql, sqlite3_open_v2("output", &sql->db,
				  SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
				  sql->vfs.zName));
	gpumon_sql_run(
		sql,
		"PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
		"PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8000;"
		"BEGIN");
}

void gpumon_sql_run(struct gpumon_sql *sql, const char *text)
{
	take_database(sql);
	if (!sql->failed)
		keep(sql, sqlite3_exec(sql->db, text, NULL, NULL, NULL));
	release_database(sql);
}

/* Stacks have millions of rows: to compile a statement takes longer than to run it. */
static sqlite3_stmt *single_insert(struct gpumon_sql *sql, const char *table, int width)
{
	struct gpumon_sql_single *single;
	char *text, marks[64] = "?";

	for (uint32_t i = 0; i < sql->single_used; i++) {
		if (!strcmp(sql->single[i].table, table))
			return sql->single[i].insert;
	}
	for (int i = 1; i < width; i++)
		strcat(marks, ",?");
	single = GPUMON_ARRAY_ADD(sql->single, sql->single_used, sql->single_room);
	single->table = table;
	single->insert = NULL;
	text = sqlite3_mprintf("INSERT INTO \"%w\" VALUES (%s)", table, marks);
	keep(sql, text ? sqlite3_prepare_v3(sql->db, text, -1, SQLITE_PREPARE_PERSISTENT,
					    &single->insert, NULL) :
			 SQLITE_NOMEM);
	sqlite3_free(text);
	return single->insert;
}

static void put_row(struct gpumon_sql *sql, const char *table, const char *types, va_list values)
{
	sqlite3_stmt *insert = single_insert(sql, table, (int)strlen(types));

	if (!insert)
		return;
	for (int i = 0; types[i]; i++) {
		if (types[i] == 's') {
			const char *value = va_arg(values, const char *);

			keep(sql, sqlite3_bind_text(insert, i + 1, value, -1, SQLITE_TRANSIENT));
		} else {
			int64_t value = va_arg(values, int64_t);

			keep(sql, value == GPUMON_SQL_NULL ?
					  sqlite3_bind_null(insert, i + 1) :
					  sqlite3_bind_int64(insert, i + 1, value));
		}
	}
	keep(sql, sqlite3_step(insert));
	sqlite3_reset(insert);
}

void gpumon_sql_put(struct gpumon_sql *sql, const char *table, const char *types, ...)
{
	va_list values;

	va_start(values, types);
	take_database(sql);
	if (!sql->failed)
		put_row(sql, table, types, values);
	release_database(sql);
	va_end(values);
}

int gpumon_sql_close(struct gpumon_sql *sql)
{
	gpumon_sql_run(sql, "COMMIT");
	end_writer(sql);
	for (uint32_t i = 0; i < sql->single_used; i++)
		sqlite3_finalize(sql->single[i].insert);
	free(sql->single);
	keep(sql, sqlite3_close(sql->db));
	sqlite3_vfs_unregister(&sql->vfs);
	if (!sql->failed && !sql->error)
		return 0;
	errno = sql->error ? sql->error : sql->failed == SQLITE_NOMEM ? ENOMEM : EIO;
	return -1;
}

/* --- tables of many rows: SQLite reads them from a virtual table, which is twice as fast as binding */

struct rows_cursor {
	sqlite3_vtab_cursor base;
	const struct gpumon_sql_table *table;
	const int64_t *at;
	const int64_t *end;
};

struct rows_table {
	sqlite3_vtab base;
	struct gpumon_sql_table *table;
};

static int rows_connect(sqlite3 *db, void *data, int count, const char *const *arguments,
			sqlite3_vtab **result, char **error)
{
	struct gpumon_sql_table *table = data;
	struct rows_table *rows;
	char *text = sqlite3_mprintf("CREATE TABLE x(%s)", table->columns);
	int ret = text ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;

	(void)count;
	(void)arguments;
	(void)error;
	sqlite3_free(text);
	if (ret != SQLITE_OK)
		return ret;
	rows = gpumon_calloc(1, sizeof(*rows));
	rows->table = table;
	*result = &rows->base;
	return SQLITE_OK;
}

static int rows_disconnect(sqlite3_vtab *table)
{
	free(table);
	return SQLITE_OK;
}

static int rows_best(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = ROWS;
	return SQLITE_OK;
}

static int rows_open(sqlite3_vtab *table, sqlite3_vtab_cursor **result)
{
	struct rows_cursor *cursor = gpumon_calloc(1, sizeof(*cursor));

	cursor->table = ((struct rows_table *)table)->table;
	*result = &cursor->base;
	return SQLITE_OK;
}

static int rows_close(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static int rows_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int count,
		       sqlite3_value **values)
{
	struct rows_cursor *rows = (struct rows_cursor *)cursor;

	(void)number;
	(void)text;
	(void)count;
	(void)values;
	rows->at = rows->table->given->rows;
	rows->end = rows->at + (size_t)rows->table->given->used * rows->table->width;
	return SQLITE_OK;
}

static int rows_next(sqlite3_vtab_cursor *cursor)
{
	struct rows_cursor *rows = (struct rows_cursor *)cursor;

	rows->at += rows->table->width;
	return SQLITE_OK;
}

static int rows_eof(sqlite3_vtab_cursor *cursor)
{
	const struct rows_cursor *rows = (struct rows_cursor *)cursor;

	return rows->at == rows->end;
}

static int rows_column(sqlite3_vtab_cursor *cursor, sqlite3_context *context, int column)
{
	const struct rows_cursor *rows = (struct rows_cursor *)cursor;
	int64_t value = rows->at[column];

	if (value == GPUMON_SQL_NULL)
		return SQLITE_OK;
	if (rows->table->reals >> column & 1) {
		double real;

		memcpy(&real, &value, sizeof(real));
		sqlite3_result_double(context, real);
	} else {
		sqlite3_result_int64(context, value);
	}
	return SQLITE_OK;
}

static int rows_id(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
	const struct rows_cursor *rows = (struct rows_cursor *)cursor;

	*id = rows->at - rows->table->given->rows;
	return SQLITE_OK;
}

void gpumon_sql_table_begin(struct gpumon_sql *sql, struct gpumon_sql_table *table)
{
	static const sqlite3_module module = {
		.xConnect = rows_connect,
		.xBestIndex = rows_best,
		.xDisconnect = rows_disconnect,
		.xOpen = rows_open,
		.xClose = rows_close,
		.xFilter = rows_filter,
		.xNext = rows_next,
		.xEof = rows_eof,
		.xColumn = rows_column,
		.xRowid = rows_id,
	};
	char *source = sqlite3_mprintf("rows_of_%s", table->name);

	table->sql = sql;
	table->rows = gpumon_malloc(ROWS_BYTES);
	table->next = 1;
	if (!table->has)
		table->has = table->width;
	if (!source)
		keep(sql, SQLITE_NOMEM);
	if (!sql->failed)
		keep(sql, sqlite3_create_module(sql->db, source, &module, table));
	sqlite3_free(source);
	if (!sql->failed)
		compile_insert(table);
}

int64_t *gpumon_sql_row(struct gpumon_sql_table *table)
{
	if (table->used == ROWS)
		write_rows(table);
	table->next++;
	return table->rows + (size_t)table->used++ * table->width;
}

void gpumon_sql_table_end(struct gpumon_sql_table *table)
{
	write_rows(table);
	drain_queue(table->sql);
	widen_table(table, table->width);
	sqlite3_finalize(table->insert);
	free(table->rows);
	table->insert = NULL;
	table->rows = NULL;
}
#endif /* GPUMON_SQLITE */
