// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "lib/memory.h"
#include "lib/array.h"
#include "module.h"
#include "translate.h"

/* The level of the module: its version and target, its functions and source files. */

struct scan {
	struct gpumon_ptx_lexer lexer;
	struct gpumon_edit_module *module;
	struct gpumon_edit_inner *inner;
	const char *linkage; /* first word of it since the last statement, or NULL */
	size_t closed;	     /* behind the sign that skip_brackets() found last */
	struct gpumon_error *err;
};

static int next(struct scan *scan)
{
	return gpumon_ptx_next(&scan->lexer, scan->err);
}

static size_t offset(const struct scan *scan)
{
	return (size_t)(scan->lexer.token.at - scan->inner->text.at);
}

/*
 * Moves from an opening bracket behind its closing one. Brackets in strings and comments do not
 * count.
 */
static int skip_brackets(struct scan *scan, char open, char close)
{
	uint32_t line = scan->lexer.token_line;
	size_t depth = 0;

	do {
		if (scan->lexer.kind == GPUMON_PTX_END)
			return GPUMON_PTX_REFUSE(scan->err, line, "this \"%c\" is never closed",
						 open);
		depth += gpumon_ptx_is_sign(&scan->lexer, open);
		depth -= gpumon_ptx_is_sign(&scan->lexer, close);
		scan->closed = offset(scan) + 1;
		if (next(scan))
			return -1;
	} while (depth);
	return 0;
}

/* .version 8.4 */
static int read_version(struct scan *scan)
{
	struct gpumon_ptx_slice text;
	const char *dot;
	uint32_t major, minor;

	if (next(scan))
		return -1;
	text = scan->lexer.token;
	dot = memchr(text.at, '.', text.size);
	if (scan->lexer.kind != GPUMON_PTX_NUMBER || !dot ||
	    !gpumon_ptx_number((struct gpumon_ptx_slice){ text.at, (size_t)(dot - text.at) },
			       &major) ||
	    !gpumon_ptx_number((struct gpumon_ptx_slice){ dot + 1,
							  text.size - 1 - (size_t)(dot - text.at) },
			       &minor) ||
	    major > 99 || minor > 9)
		return GPUMON_PTX_REFUSE(scan->err, scan->lexer.token_line,
					 ".version without a number like 8.0");
	scan->module->isa = major * 10 + minor;
	return next(scan);
}

/* .target sm_90a, texmode_independent, debug */
static int read_target(struct scan *scan)
{
	do {
		struct gpumon_ptx_slice word, number;
		char last;

		if (next(scan))
			return -1;
		word = scan->lexer.token;
		if (scan->lexer.kind != GPUMON_PTX_WORD)
			return GPUMON_PTX_REFUSE(scan->err, scan->lexer.token_line,
						 ".target without a name");
		if (gpumon_ptx_begins(word, "sm_")) {
			number = (struct gpumon_ptx_slice){ word.at + 3, word.size - 3 };
			last = number.size ? number.at[number.size - 1] : 0;
			if (last >= 'a' && last <= 'z')
				number.size--;
			else
				last = 0;
			if (!gpumon_ptx_number(number, &scan->module->sm))
				return GPUMON_PTX_REFUSE(scan->err, scan->lexer.token_line,
							 ".target %.*s is unknown",
							 (int)(word.size < 40 ? word.size : 40),
							 word.at);
			scan->module->specific = last;
		}
		if (next(scan))
			return -1;
	} while (gpumon_ptx_is_sign(&scan->lexer, ','));
	return 0;
}

static int read_address_size(struct scan *scan)
{
	if (next(scan))
		return -1;
	if (!gpumon_ptx_same(scan->lexer.token, "64"))
		return GPUMON_PTX_REFUSE(scan->err, scan->lexer.token_line,
					 "only addresses of 64 bits can be probed");
	return next(scan);
}

/* .file NUMBER "NAME"[, TIME, SIZE] */
static int read_file(struct scan *scan)
{
	struct gpumon_edit_inner *inner = scan->inner;
	struct gpumon_ptx_slice *name;
	uint32_t number;

	if (next(scan))
		return -1;
	if (scan->lexer.kind != GPUMON_PTX_NUMBER || !gpumon_ptx_number(scan->lexer.token, &number))
		return GPUMON_PTX_REFUSE(scan->err, scan->lexer.token_line,
					 ".file without a number");
	if (next(scan))
		return -1;
	if (scan->lexer.kind != GPUMON_PTX_STRING)
		return GPUMON_PTX_REFUSE(scan->err, scan->lexer.token_line, ".file without a name");
	name = GPUMON_GROW(inner->file_names, inner->file_names_n);
	gpumon_map_set(&inner->files, number, inner->file_names_n);
	name->at = scan->lexer.token.at + 1;
	name->size = scan->lexer.token.size - 2;
	return next(scan);
}

ssize_t gpumon_ptx_find_function(const struct gpumon_edit_inner *inner,
				 struct gpumon_ptx_slice name)
{
	uint64_t found = gpumon_map_get(&inner->names, gpumon_hash_bytes(name.at, name.size));

	if (!found || inner->functions[found - 1].size != name.size ||
	    memcmp(inner->functions[found - 1].name, name.at, name.size))
		return -1;
	return (ssize_t)found - 1;
}

static void add_function(struct scan *scan, const struct gpumon_edit_function *function,
			 const struct gpumon_ptx_place *place)
{
	struct gpumon_edit_inner *inner = scan->inner;
	struct gpumon_edit_function *to = GPUMON_GROW(inner->functions, inner->functions_n);
	struct gpumon_ptx_place *to_place = GPUMON_GROW(inner->places, inner->places_n);

	gpumon_map_set(&inner->names, gpumon_hash_bytes(function->name, function->size),
		       inner->functions_n);
	*to = *function;
	*to_place = *place;
}

/* Reads from the name of a function to its body, or to the semicolon of a declaration. */
static int skip_header(struct scan *scan)
{
	for (;;) {
		bool pragma = gpumon_ptx_is_word(&scan->lexer, ".pragma");

		if (gpumon_ptx_is_sign(&scan->lexer, '{') || gpumon_ptx_is_sign(&scan->lexer, ';'))
			return 0;
		if (scan->lexer.kind == GPUMON_PTX_END || gpumon_ptx_is_sign(&scan->lexer, '}'))
			return GPUMON_PTX_REFUSE(scan->err, scan->lexer.token_line,
						 "a function with neither body nor semicolon");
		if (gpumon_ptx_is_sign(&scan->lexer, '(')) {
			if (skip_brackets(scan, '(', ')'))
				return -1;
			continue;
		}
		/* The semicolon of a pragma does not end the header. */
		if (next(scan) || (pragma && (next(scan) || next(scan))))
			return -1;
	}
}

/* .entry NAME (PARAMETERS) { or .func (RESULTS) NAME (PARAMETERS) { or with a semicolon */
static int read_function(struct scan *scan)
{
	struct gpumon_edit_function function = {
		.kernel = gpumon_ptx_is_word(&scan->lexer, ".entry"),
	};
	struct gpumon_ptx_place place = { .directive = offset(scan) };

	place.begin = scan->linkage ? (size_t)(scan->linkage - scan->inner->text.at) :
				      place.directive;
	scan->linkage = NULL;
	if (next(scan))
		return -1;
	/* .attribute(.unified(...)) and the results */
	while (scan->lexer.kind == GPUMON_PTX_WORD && *scan->lexer.token.at == '.') {
		if (next(scan))
			return -1;
		if (gpumon_ptx_is_sign(&scan->lexer, '(') && skip_brackets(scan, '(', ')'))
			return -1;
	}
	if (gpumon_ptx_is_sign(&scan->lexer, '(') && skip_brackets(scan, '(', ')'))
		return -1;
	if (scan->lexer.kind != GPUMON_PTX_WORD)
		return GPUMON_PTX_REFUSE(scan->err, scan->lexer.token_line,
					 "a function without a name");
	function.name = scan->lexer.token.at;
	function.size = scan->lexer.token.size;
	place.name = offset(scan);
	if (next(scan))
		return -1;
	if (gpumon_ptx_is_sign(&scan->lexer, '(')) {
		struct gpumon_ptx_lexer ahead = scan->lexer;

		if (gpumon_ptx_next(&ahead, scan->err) || skip_brackets(scan, '(', ')'))
			return -1;
		place.has_parameters = !gpumon_ptx_is_sign(&ahead, ')');
		place.parameters_end = scan->closed - 1;
	}
	if (skip_header(scan))
		return -1;
	if (gpumon_ptx_is_sign(&scan->lexer, ';'))
		return next(scan);
	place.body = offset(scan);
	place.body_line = scan->lexer.token_line;
	if (skip_brackets(scan, '{', '}'))
		return -1;
	place.end = scan->closed;
	add_function(scan, &function, &place);
	return 0;
}

/* [4][8]: how many there are. None without a number, as in a declaration of what is elsewhere. */
static int read_dimensions(struct scan *scan, uint64_t *n)
{
	uint32_t number;

	while (gpumon_ptx_is_sign(&scan->lexer, '[')) {
		if (next(scan))
			return -1;
		*n *= gpumon_ptx_number(scan->lexer.token, &number) ? number : 0;
		while (!gpumon_ptx_is_sign(&scan->lexer, ']'))
			if (scan->lexer.kind == GPUMON_PTX_END || next(scan))
				return -1;
		if (next(scan))
			return -1;
	}
	return 0;
}

/* .const .align 8 .v2 .b32 NAME[4], NAME = ...: adds up its bytes. */
static int read_constants(struct scan *scan)
{
	struct gpumon_ptx_lexer *lexer = &scan->lexer;
	uint64_t *sum = &scan->module->constants;
	uint32_t align = 0, type = 0, vector = 1;

	if (next(scan))
		return -1;
	while (lexer->kind == GPUMON_PTX_WORD || gpumon_ptx_is_sign(lexer, ',')) {
		struct gpumon_ptx_slice word = lexer->token;
		uint64_t n = 1;
		uint32_t step;

		if (next(scan))
			return -1;
		if (*word.at == ',')
			continue;
		if (*word.at == '.') {
			struct gpumon_ptx_slice name = { word.at + 1, word.size - 1 };

			if (gpumon_ptx_same(word, ".align"))
				gpumon_ptx_number(lexer->token, &align);
			else if (name.size == 2 && *name.at == 'v')
				vector = (uint32_t)(name.at[1] - '0');
			else if (gpumon_ptx_type_size(name))
				type = gpumon_ptx_type_size(name);
			if (lexer->kind == GPUMON_PTX_NUMBER && next(scan))
				return -1;
			continue;
		}
		scan->module->probed |= gpumon_ptx_same(word, GPUMON_GPUPROG_TABLE);
		if (read_dimensions(scan, &n))
			return -1;
		step = align ? align : type * vector;
		if (step)
			*sum = (*sum + step - 1) / step * step;
		*sum += n * type * vector;
	}
	return 0;
}

static bool is_linkage(const struct gpumon_ptx_lexer *lexer)
{
	return gpumon_ptx_is_word(lexer, ".visible") || gpumon_ptx_is_word(lexer, ".weak") ||
	       gpumon_ptx_is_word(lexer, ".extern") || gpumon_ptx_is_word(lexer, ".common") ||
	       gpumon_ptx_is_word(lexer, ".internal");
}

static int read_directive(struct scan *scan)
{
	struct gpumon_ptx_lexer *lexer = &scan->lexer;

	if (is_linkage(lexer)) {
		if (!scan->linkage)
			scan->linkage = lexer->token.at;
		return next(scan);
	}
	if (gpumon_ptx_is_word(lexer, ".entry") || gpumon_ptx_is_word(lexer, ".func"))
		return read_function(scan);
	scan->linkage = NULL;
	if (gpumon_ptx_is_word(lexer, ".version"))
		return read_version(scan);
	if (gpumon_ptx_is_word(lexer, ".target"))
		return read_target(scan);
	if (gpumon_ptx_is_word(lexer, ".address_size"))
		return read_address_size(scan);
	if (gpumon_ptx_is_word(lexer, ".file"))
		return read_file(scan);
	if (gpumon_ptx_is_word(lexer, ".const"))
		return read_constants(scan);
	return next(scan);
}

static int read_module(struct scan *scan)
{
	if (next(scan))
		return -1;
	while (scan->lexer.kind != GPUMON_PTX_END) {
		if (gpumon_ptx_is_sign(&scan->lexer, '{')) {
			/* Values of a variable, or a section of debug information. */
			if (skip_brackets(scan, '{', '}'))
				return -1;
		} else if (gpumon_ptx_is_sign(&scan->lexer, '}')) {
			return GPUMON_PTX_REFUSE(scan->err, scan->lexer.token_line,
						 "a \"}\" without a \"{\"");
		} else if (scan->lexer.kind == GPUMON_PTX_WORD) {
			if (gpumon_ptx_same(scan->lexer.token, GPUMON_GPUPROG_TABLE))
				scan->module->probed = true;
			if (read_directive(scan))
				return -1;
		} else if (next(scan)) {
			return -1;
		}
	}
	if (!scan->module->isa || !scan->module->sm)
		return GPUMON_PTX_REFUSE(scan->err, 1,
					 "there is no .version or no .target: this is no PTX");
	return 0;
}

int gpumon_edit_open(const char *text, size_t size, struct gpumon_edit_module *module,
		     struct gpumon_error *err)
{
	struct scan scan = { .module = module, .err = err };

	memset(module, 0, sizeof(*module));
	module->inner = gpumon_calloc(1, sizeof(*module->inner));
	scan.inner = module->inner;
	scan.inner->text = (struct gpumon_ptx_slice){ text, strnlen(text, size) };
	scan.lexer.at = text;
	scan.lexer.end = text + scan.inner->text.size;
	scan.lexer.line = 1;
	if (read_module(&scan)) {
		gpumon_edit_close(module);
		return -1;
	}
	module->functions = scan.inner->functions;
	module->functions_n = scan.inner->functions_n;
	return 0;
}

void gpumon_edit_close(struct gpumon_edit_module *module)
{
	if (module->inner) {
		free(module->inner->functions);
		free(module->inner->places);
		free(module->inner->file_names);
		gpumon_map_clear(&module->inner->names);
		gpumon_map_clear(&module->inner->files);
		free(module->inner);
	}
	memset(module, 0, sizeof(*module));
}

struct gpumon_ptx_slice gpumon_ptx_called(const struct gpumon_ptx_statement *statement)
{
	/* call (results), name, (arguments), prototype */
	for (uint32_t i = 0; i < statement->operands_n && i < 2; i++)
		if (*statement->operands[i].at != '(')
			return statement->operands[i];
	return (struct gpumon_ptx_slice){ NULL, 0 };
}

uint32_t gpumon_ptx_points_of(const struct gpumon_ptx_access *access)
{
	uint32_t both = GPUMON_GPUPROG_READ | GPUMON_GPUPROG_WRITE;

	switch (access->effect) {
	case GPUMON_PTX_ACCESS:
		return 1u << GPUMON_GPUPROG_MEMORY |
		       ((access->flags & both) == both ? 1u << GPUMON_GPUPROG_ATOMIC : 0);
	case GPUMON_PTX_LEFT:
		return 1u << GPUMON_GPUPROG_MEMORY;
	case GPUMON_PTX_BARRIER:
		return 1u << GPUMON_GPUPROG_BARRIER;
	case GPUMON_PTX_EXIT:
		return 1u << GPUMON_GPUPROG_EXIT;
	default:
		return 0;
	}
}

int gpumon_ptx_enter(const struct gpumon_edit_inner *inner, size_t function,
		     struct gpumon_ptx_lexer *lexer, struct gpumon_error *err)
{
	const struct gpumon_ptx_place *place = &inner->places[function];

	lexer->at = inner->text.at + place->body;
	lexer->end = inner->text.at + place->end;
	lexer->line = place->body_line;
	return gpumon_ptx_next(lexer, err);
}

/* cooperative_groups: grid.sync() reads %envreg1 and %envreg2, or calls CUDA's device runtime. */
static bool waits_for_blocks(const struct gpumon_ptx_statement *statement)
{
	if (gpumon_ptx_same(statement->name, "call"))
		return gpumon_ptx_begins(gpumon_ptx_called(statement), "cudaCG");
	for (uint32_t i = 0; i < statement->operands_n; i++)
		if (gpumon_ptx_begins(statement->operands[i], "%envreg"))
			return true;
	return false;
}

static int look_through(const struct gpumon_edit_inner *inner, size_t function,
			struct gpumon_ptx_calls *calls, struct gpumon_error *err)
{
	struct gpumon_ptx_statement statement;
	struct gpumon_ptx_access access;
	struct gpumon_ptx_lexer lexer;

	if (gpumon_ptx_enter(inner, function, &lexer, err))
		return -1;
	while (lexer.kind != GPUMON_PTX_END) {
		struct gpumon_ptx_call *call;
		uint32_t points;
		ssize_t to;

		if (gpumon_ptx_read_statement(&lexer, &statement, err))
			return -1;
		if (statement.kind != GPUMON_PTX_INSTRUCTION)
			continue;
		gpumon_ptx_access_of(&statement, &access);
		points = gpumon_ptx_points_of(&access);
		calls->points[function] |= points;
		if (waits_for_blocks(&statement))
			calls->points[function] |= GPUMON_PTX_WAITS;
		if (gpumon_ptx_same(statement.name, "setmaxnreg"))
			calls->points[function] |= GPUMON_PTX_NO_CALLS;
		for (int i = 0; i < GPUMON_GPUPROG_POINTS; i++)
			calls->own[function][i] += points >> i & 1;
		if (access.effect != GPUMON_PTX_CALL)
			continue;
		to = gpumon_ptx_find_function(inner, gpumon_ptx_called(&statement));
		if (to < 0 || inner->functions[to].kernel)
			continue;
		call = GPUMON_GROW(calls->calls, calls->calls_n);
		*call = (struct gpumon_ptx_call){ (uint32_t)function, (uint32_t)to };
	}
	return 0;
}

/* The calls, sorted by @to, as in gpumon_ptx_calls.first and .calls. */
static void turn_round(const struct gpumon_ptx_calls *calls, size_t functions_n, size_t *first,
		       uint32_t *from)
{
	for (size_t i = 0; i < calls->calls_n; i++)
		first[calls->calls[i].to + 1]++;
	for (size_t i = 0; i < functions_n; i++)
		first[i + 1] += first[i];
	for (size_t i = calls->calls_n; i > 0; i--)
		from[first[calls->calls[i - 1].to]++] = calls->calls[i - 1].from;
	/* Each step has moved on to the beginning of the next statement. */
	memmove(first + 1, first, functions_n * sizeof(*first));
	first[0] = 0;
}

/* The callers of a function have its points, too. A function is visited again once for each new point. */
static void pass_on(struct gpumon_ptx_calls *calls, size_t functions_n)
{
	size_t *first = gpumon_calloc(functions_n + 2, sizeof(*first)), n = 0;
	uint32_t *from = gpumon_calloc(calls->calls_n + 1, sizeof(*from));
	bool *queued = gpumon_calloc(functions_n + 1, sizeof(*queued));

	turn_round(calls, functions_n, first, from);
	for (size_t i = 0; i < functions_n; i++) {
		queued[i] = true;
		calls->stack[n++] = (uint32_t)i;
	}
	while (n) {
		uint32_t to = calls->stack[--n];

		queued[to] = false;
		for (size_t i = first[to]; i < first[to + 1]; i++) {
			if (!(calls->points[to] & ~calls->points[from[i]]))
				continue;
			calls->points[from[i]] |= calls->points[to];
			if (!queued[from[i]])
				calls->stack[n++] = from[i];
			queued[from[i]] = true;
		}
	}
	free(first);
	free(from);
	free(queued);
}

int gpumon_ptx_calls_open(const struct gpumon_edit_inner *inner,
			  const struct gpumon_edit_plan *const *plans,
			  struct gpumon_ptx_calls *calls, struct gpumon_error *err)
{
	size_t n = inner->functions_n;

	memset(calls, 0, sizeof(*calls));
	calls->first = gpumon_calloc(n + 1, sizeof(*calls->first));
	calls->points = gpumon_calloc(n + 1, sizeof(*calls->points));
	calls->own = gpumon_calloc(n + 1, sizeof(*calls->own));
	calls->reached = gpumon_calloc(n + 1, sizeof(*calls->reached));
	calls->stack = gpumon_calloc(n + 1, sizeof(*calls->stack));
	for (size_t i = 0; i < n; i++) {
		calls->first[i] = calls->calls_n;
		if ((plans[i] || !inner->functions[i].kernel) && look_through(inner, i, calls, err))
			return -1;
	}
	calls->first[n] = calls->calls_n;
	pass_on(calls, n);
	return 0;
}

void gpumon_ptx_calls_close(struct gpumon_ptx_calls *calls)
{
	free(calls->calls);
	free(calls->first);
	free(calls->points);
	free(calls->own);
	free(calls->reached);
	free(calls->stack);
	memset(calls, 0, sizeof(*calls));
}

size_t gpumon_ptx_calls_reach(struct gpumon_ptx_calls *calls, uint32_t kernel, uint32_t points,
			      size_t n)
{
	size_t next = n;

	if (!n)
		calls->look++;
	/* The functions that were found are also the list of those still to be looked at. */
	for (size_t at = kernel;; at = calls->stack[next++]) {
		for (size_t i = calls->first[at]; i < calls->first[at + 1]; i++) {
			uint32_t to = calls->calls[i].to;

			if (!(calls->points[to] & points) || calls->reached[to] == calls->look)
				continue;
			calls->reached[to] = calls->look;
			calls->stack[n++] = to;
		}
		if (next == n)
			return n;
	}
}
