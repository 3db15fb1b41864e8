// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Compares with addr2line of binutils, another implementation: functions, inlined calls, files and
 * lines at thousands of addresses, of a C++ library built here and of this machine's own libraries.
 */
#include "common.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/symbol.h"
#include "symbol_build.h"

#define AT	    0x7f0000000000u
#define FRAMES_MAX  64
#define ADDRESS_MAX 2500

struct frame {
	char *function;
	char *file; /* base name, "" for none */
	unsigned int line;
};

struct answer {
	uint64_t address;
	struct frame frames[FRAMES_MAX];
	unsigned int count;
};

static char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strdup(slash ? slash + 1 : path);
}

/* "file:12 (discriminator 3)", "??:0", "file:?". */
static void parse_place(char *text, struct frame *frame)
{
	char *colon;

	text[strcspn(text, "\n")] = '\0';
	text[strcspn(text, "(")] = '\0';
	colon = strrchr(text, ':');
	assert_non_null(colon);
	*colon = '\0';
	frame->line = (unsigned int)strtoul(colon + 1, NULL, 10);
	frame->file = base_of(strcmp(text, "??") ? text : "");
}

static size_t ask_addr2line(const char *folder, const char *file, const uint64_t *addresses,
			    size_t count, struct answer *answers)
{
	char *text = malloc(count * 24 + 1), *at = text, path[PATH_MAX], *line = NULL;
	size_t room = 0, n = 0;
	FILE *output;

	assert_non_null(text);
	for (size_t i = 0; i < count; i++)
		at += sprintf(at, "0x%llx\n", (unsigned long long)addresses[i]);
	symbol_write(folder, "addresses", text, (size_t)(at - text));
	free(text);
	symbol_run(folder, "LC_ALL=C addr2line -a -i -f -C -e '%s' <addresses >answers", file);
	snprintf(path, sizeof(path), "%s/answers", folder);
	output = fopen(path, "re");
	assert_non_null(output);
	while (getline(&line, &room, output) > 0) {
		struct answer *answer;

		if (!strncmp(line, "0x", 2)) {
			assert_true(n < count);
			answers[n++] = (struct answer){ .address = strtoull(line, NULL, 16) };
			continue;
		}
		assert_true(n > 0);
		answer = &answers[n - 1];
		assert_true(answer->count < FRAMES_MAX);
		line[strcspn(line, "\n")] = '\0';
		answer->frames[answer->count].function = strdup(line);
		assert_true(getline(&line, &room, output) > 0);
		parse_place(line, &answer->frames[answer->count++]);
	}
	free(line);
	fclose(output);
	return n;
}

static void free_answers(struct answer *answers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (unsigned int k = 0; k < answers[i].count; k++) {
			free(answers[i].frames[k].function);
			free(answers[i].frames[k].file);
		}
	}
	free(answers);
}

/*
 * Without parameters, clone suffixes, template arguments and namespaces: the part that both report.
 */
static size_t last_word(const char *name, const char **word)
{
	size_t length = strlen(name);
	const char *end, *begin;
	int depth = 0;

	for (end = name; end < name + length; end++) {
		if (*end == '<')
			depth++;
		else if (*end == '>' && depth)
			depth--;
		else if (!depth && (*end == '(' || *end == '[') &&
			 strncmp(end, "(anonymous namespace)", 21))
			break;
	}
	for (begin = end, depth = 0; begin > name; begin--) {
		if (begin[-1] == '>')
			depth++;
		else if (begin[-1] == '<' && depth)
			depth--;
		else if (!depth && (begin[-1] == ':' || begin[-1] == ' '))
			break;
	}
	/* The name itself without its template arguments. */
	*word = begin;
	for (size_t i = 0; begin + i < end; i++) {
		if (begin[i] == '<' || begin[i] == '.' || begin[i] == '@')
			return i;
	}
	return (size_t)(end - begin);
}

static bool same_function(const char *ours, const char *theirs)
{
	const char *a, *b;
	size_t n = last_word(ours, &a), m = last_word(theirs, &b);

	return !strcmp(ours, theirs) || (n == m && n && !memcmp(a, b, n));
}

struct tally {
	unsigned int addresses, same, frames, lines, functions, files;
	/* By one of both, and by none: the PLT, and what the last page has after the code. */
	unsigned int unnamed, nameless;
};

/*
 * Cases where addr2line (2.40) is wrong, and llvm-symbolizer agrees with us:
 * - the innermost of inlined functions that have no linkage name gets the name
 *   of the outermost one;
 * - of some units with DWARF 5 it takes the first file for the second.
 */
static bool gave_the_outermost(const struct answer *answer, unsigned int i)
{
	return i == 0 && answer->count > 1 &&
	       same_function(answer->frames[0].function,
			     answer->frames[answer->count - 1].function);
}

/* Each kind of difference counts once per address. */
static void compare(struct gpumon_symbols *symbols, uint64_t bias, const struct answer *answer,
		    struct tally *tally)
{
	struct gpumon_symbol found[FRAMES_MAX];
	unsigned int count =
		gpumon_symbols_find(symbols, bias + answer->address, 1, found, FRAMES_MAX);
	bool lines = true, functions = true, files = true;

	tally->addresses++;
	if (count != answer->count) {
		tally->frames++;
		return;
	}
	for (unsigned int i = 0; i < count; i++) {
		const struct frame *theirs = &answer->frames[i];
		char *file = base_of(found[i].file);
		bool named = !strstr(found[i].function, "+0x");

		/* Code without a line was generated by the compiler, and its file says nothing. */
		lines = lines && found[i].line == theirs->line;
		files = files && (!found[i].line || !strcmp(file, theirs->file));
		if (named != (strcmp(theirs->function, "??") != 0))
			tally->unnamed++;
		else if (!named)
			tally->nameless++;
		else if (!gave_the_outermost(answer, i) &&
			 !same_function(found[i].function, theirs->function))
			functions = false;
		if ((!lines || !functions) && getenv("GPUMON_TEST_VERBOSE"))
			print_message("%llx %u: %s %s:%u | %s %s:%u\n",
				      (unsigned long long)answer->address, i, found[i].function,
				      found[i].file, found[i].line, theirs->function, theirs->file,
				      theirs->line);
		free(file);
	}
	tally->lines += !lines;
	tally->functions += !functions;
	tally->files += !files;
	tally->same += lines && functions;
}

static struct tally compare_file(const char *folder, const char *file, uint64_t seed)
{
	struct gpumon_symbols *symbols = gpumon_symbols_new("", NULL);
	struct answer *answers = calloc(ADDRESS_MAX, sizeof(*answers));
	static uint64_t addresses[ADDRESS_MAX];
	struct gpumon_record_mapping mapping;
	struct tally tally = { 0 };
	const char *name = strrchr(file, '/');
	char *top = strndup(file, (size_t)(name - file));
	uint64_t bias;
	size_t count;

	assert_true(symbols && answers);
	bias = symbol_mapping(&mapping, top, name + 1, AT, 1);
	assert_int_equal(gpumon_symbols_map(symbols, &mapping, file), 0);
	for (size_t i = 0; i < ADDRESS_MAX; i++)
		addresses[i] = AT - bias + test_random(&seed) % (mapping.end - mapping.start);
	count = ask_addr2line(folder, file, addresses, ADDRESS_MAX, answers);
	assert_int_equal(count, ADDRESS_MAX);
	for (size_t i = 0; i < count; i++)
		compare(symbols, bias, &answers[i], &tally);
	print_message(
		"%s: %u addresses, %u the same; differ: %u in frames, %u in lines, %u in functions, %u in files; %u named by one, %u by none\n",
		name + 1, tally.addresses, tally.same, tally.frames, tally.lines, tally.functions,
		tally.files, tally.unnamed, tally.nameless);
	gpumon_symbols_free(symbols);
	free_answers(answers, ADDRESS_MAX);
	free(top);
	assert_true(tally.same * 1000 > tally.addresses * 995);
	assert_true(tally.files * 100 < tally.addresses * 10);
	return tally;
}

static const char source[] =
	"#include <algorithm>\n#include <functional>\n#include <map>\n#include <memory>\n"
	"#include <string>\n#include <unordered_map>\n#include <vector>\n"
	"namespace gpu {\n"
	"namespace {\n"
	"struct shape { std::string name; std::vector<double> sizes; };\n"
	"double volume(const shape &s)\n"
	"{\n"
	"	double v = 1;\n"
	"	for (double d : s.sizes)\n"
	"		v *= d;\n"
	"	return v;\n"
	"}\n"
	"template <typename K, typename V> struct cache {\n"
	"	std::unordered_map<K, std::shared_ptr<V>> all;\n"
	"	std::shared_ptr<V> get(const K &key, const std::function<V(const K &)> &make)\n"
	"	{\n"
	"		auto it = all.find(key);\n"
	"		if (it == all.end())\n"
	"			it = all.emplace(key, std::make_shared<V>(make(key))).first;\n"
	"		return it->second;\n"
	"	}\n"
	"};\n"
	"}\n"
	"class planner {\n"
	"	cache<std::string, shape> shapes;\n"
	"	std::map<std::string, double> costs;\n"
	"public:\n"
	"	double plan(const std::vector<std::string> &names);\n"
	"	virtual ~planner() {}\n"
	"};\n"
	"double planner::plan(const std::vector<std::string> &names)\n"
	"{\n"
	"	double sum = 0;\n"
	"	std::vector<std::string> sorted(names);\n"
	"	std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) { return a.size() < b.size(); });\n"
	"	for (const auto &n : sorted) {\n"
	"		auto s = shapes.get(n, [](const std::string &key) { return shape{ key, { 1.0, 2.0, double(key.size()) } }; });\n"
	"		costs[n] += volume(*s);\n"
	"		sum += costs[n];\n"
	"	}\n"
	"	if (sum < 0)\n"
	"		throw std::string(\"negative\");\n"
	"	return sum;\n"
	"}\n"
	"}\n"
	"double entry(gpu::planner &p) { return p.plan({ \"a\", \"bb\", \"ccc\" }); }\n";

static void cxx_library(void **state)
{
	char path[512];

	if (!symbol_has("g++") || !symbol_has("addr2line")) {
		print_message("no g++ or no addr2line here\n");
		skip();
	}
	symbol_write(*state, "code.cc", source, strlen(source));
	for (const char *const *flags = (const char *const[]){ "-O2 -g", "-O0 -g -gdwarf-4", NULL };
	     *flags; flags++) {
		struct tally tally;

		symbol_run(*state, "g++ -std=gnu++14 %s -shared -fPIC -o code.so code.cc", *flags);
		snprintf(path, sizeof(path), "%s/code.so", (char *)*state);
		tally = compare_file(*state, path, 1);
		assert_true(tally.unnamed * 100 < tally.addresses * 5);
		assert_true(tally.nameless * 100 < tally.addresses * 30);
	}
}

/* Without debug information only functions are compared, otherwise everything. */
static void real_libraries(void **state)
{
	static const char *const names[] = { "libc.so.6", "libstdc++.so.6" };

	if (!symbol_has("addr2line")) {
		print_message("no addr2line here\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		void *library = dlopen(names[i], RTLD_NOW);
		char path[PATH_MAX];
		Dl_info info;
		void *symbol;

		symbol = library ? dlsym(library, i ? "_ZSt9terminatev" : "qsort") : NULL;
		if (!symbol || !dladdr(symbol, &info) || !realpath(info.dli_fname, path)) {
			print_message("no %s here\n", names[i]);
			continue;
		}
		compare_file(*state, path, 2);
		dlclose(library);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cxx_library, symbol_setup, symbol_teardown),
		cmocka_unit_test_setup_teardown(real_libraries, symbol_setup, symbol_teardown),
	};

	unsetenv("DEBUGINFOD_URLS");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
