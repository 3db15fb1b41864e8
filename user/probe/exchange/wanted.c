// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <stdlib.h>
#include <string.h>

#include "symbol/symbol.h"
#include "wanted.h"

/* The name without what is in the parentheses at its end. */
static char *without_parameters(const char *name)
{
	size_t length = strlen(name);
	int depth = 0;

	if (length && name[length - 1] == ')')
		for (size_t at = length; at--;) {
			depth += (name[at] == ')') - (name[at] == '(');
			if (!depth)
				return strndup(name, at);
		}
	return strdup(name);
}

int gpumon_probe_name_init(struct gpumon_probe_name *name, const char *mangled)
{
	name->mangled = mangled;
	name->plain = NULL;
	name->demangled = gpumon_demangle(mangled);
	if (!name->demangled)
		name->demangled = strdup(mangled);
	if (name->demangled)
		name->plain = without_parameters(name->demangled);
	return name->plain ? 0 : -1;
}

void gpumon_probe_name_clear(struct gpumon_probe_name *name)
{
	free(name->demangled);
	free(name->plain);
	name->demangled = name->plain = NULL;
}

/* Not fnmatch(): brackets are parts of names. */
static bool matches(const char *pattern, size_t length, const char *name)
{
	const char *end = pattern + length, *star = NULL, *again = NULL;

	while (*name) {
		if (pattern < end && *pattern == '*') {
			star = pattern++;
			again = name;
		} else if (pattern < end && (*pattern == '?' || *pattern == *name)) {
			pattern++;
			name++;
		} else if (star) {
			pattern = star + 1;
			name = ++again;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

static bool is_one(const struct gpumon_probe_name *name, const char *pattern, size_t length)
{
	return matches(pattern, length, name->mangled) ||
	       matches(pattern, length, name->demangled) || matches(pattern, length, name->plain);
}

bool gpumon_probe_name_is(const struct gpumon_probe_name *name, const char *pattern)
{
	return is_one(name, pattern, strlen(pattern));
}

bool gpumon_probe_name_is_listed(const struct gpumon_probe_name *name, const char *list)
{
	const char *begin = list;
	int depth = 0;

	if (!*list)
		return true;
	for (;; list++) {
		depth += (*list == '(' || *list == '<') - (*list == ')' || *list == '>');
		if (*list && (*list != ',' || depth > 0))
			continue;
		if (is_one(name, begin, (size_t)(list - begin)))
			return true;
		if (!*list)
			return false;
		begin = list + 1;
	}
}
