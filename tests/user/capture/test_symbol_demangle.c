// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Demangled names, and names made to do harm. */
#include "common.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/symbol.h"

static void check(const char *name, const char *expected)
{
	char *demangled = gpumon_demangle(name);

	assert_non_null(demangled);
	assert_string_equal(demangled, expected);
	free(demangled);
}

static void names(void **state)
{
	static const char *const cases[][2] = {
		{ "main", "main" },
		{ "", "" },
		{ "_Z", "_Z" },
		{ "_Z1fv", "f()" },
		{ "_Z1fSt6vectorIiSaIiEE", "f(std::vector<int, std::allocator<int> >)" },
		{ "_ZN5outer12_GLOBAL__N_15innerEv", "outer::(anonymous namespace)::inner()" },
		{ "_ZNKSt8functionIFvvEEclEv", "std::function<void ()>::operator()() const" },
		{ "_Z3fooIiEvT_.constprop.0", "void foo<int>(int) [clone .constprop.0]" },
		{ "_Z1fv.cold", "f() [clone .cold]" },
		/* Kernels of SYCL; and what is no such name. */
		{ "_ZTSZZ3addRN4sycl3_V15queueEENKUlRNS0_7handlerEE_clES4_E5saxpy",
		  "add(sycl::_V1::queue&)::{lambda(sycl::_V1::handler&)#1}::operator()(sycl::_V1::handler&) const::saxpy" },
		{ "_ZTS6matmulIfLi16EE", "matmul<float, 16>" },
		{ "_ZTI6matmulIfLi16EE", "typeinfo for matmul<float, 16>" },
		{ "_ZTSQ", "_ZTSQ" },
		/* Kernels, as named by nvcc. */
		{ "_Z9vectorAddPKfS0_Pfi", "vectorAdd(float const*, float const*, float*, int)" },
		{ "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_",
		  "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)" },
		/* Both mangling schemes of Rust. */
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		  "core::fmt::Write::write_fmt" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		{ "_RNvC0_123foo3bar", "_RNvC0_123foo3bar" },
		{ "_RINvNtC3std3mem8align_ofjdE", "std::mem::align_of::<usize, f64>" },
		/* Not mangled, though they begin similarly. */
		{ "_Zebra", "_Zebra" },
		{ "_Rust", "_Rust" },
		{ "_ZN", "_ZN" },
		{ "_Z999999999999999999999f", "_Z999999999999999999999f" },
		{ "py::train:/srv/job/train.py", "py::train:/srv/job/train.py" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check(cases[i][0], cases[i][1]);
}

/* libiberty gives up at 1024 bytes, but template libraries have names of ten thousand. */
static bool wait_before_clock;

int __real_pthread_getcpuclockid(pthread_t thread, clockid_t *clock);
int __wrap_pthread_getcpuclockid(pthread_t thread, clockid_t *clock);

/* As on a busy machine: the thread ends before its clock is requested. */
int __wrap_pthread_getcpuclockid(pthread_t thread, clockid_t *clock)
{
	if (wait_before_clock)
		usleep(100000);
	return __real_pthread_getcpuclockid(thread, clock);
}

static void long_names(void **state)
{
	static const size_t lengths[] = { 900, 1000, 1024, 2000, 8000, 15000 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		char *name, *expected, *word = malloc(lengths[i] + 1);

		assert_non_null(word);
		memset(word, 'a', lengths[i]);
		word[lengths[i]] = '\0';
		assert_true(asprintf(&name, "_ZN2ns%zu%sIiEEvT_", lengths[i], word) > 0);
		assert_true(asprintf(&expected, "void ns::%s<int>(int)", word) > 0);
		free(word);
		word = gpumon_demangle(name);
		assert_string_equal(word, expected);
		free(word);
		free(name);
		free(expected);
	}
}

static void ended_before_it_was_asked(void **state)
{
	wait_before_clock = true;
	long_names(state);
	wait_before_clock = false;
}

/* CPU time of all threads of this process, so that a busy machine does not matter. */
static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* The name comes back unchanged, and soon. */
static void assert_left_alone(const char *name)
{
	double begin = seconds();
	char *demangled = gpumon_demangle(name);

	assert_non_null(demangled);
	assert_string_equal(demangled, name);
	assert_true(seconds() - begin < 2);
	free(demangled);
}

/* "_", "0_" ... "9_", "A_" or "a_" ... and so on, like the numbers of references. */
static void number(char *text, const char *digits, int number)
{
	int base = (int)strlen(digits);

	if (!number)
		strcpy(text, "_");
	else if (number <= base)
		sprintf(text, "%c_", digits[number - 1]);
	else
		sprintf(text, "%c%c_", digits[(number - 1) / base], digits[(number - 1) % base]);
}

/* Each parameter is a pair of two of the previous one: 2^levels words. */
static void make_growing(char *name, int levels)
{
	char *at = name + sprintf(name, "_Z1f4pairIiiE"), last[8];

	/* S_ is pair, S0_ the first one, S1_ the second ... */
	for (int i = 1; i <= levels; i++) {
		number(last, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i);
		at += sprintf(at, "S_IS%sS%sE", last, last);
	}
}

/* Each argument is a tuple of two of the previous one. References are positions in the name. */
static void make_growing_rust(char *name, int levels)
{
	char *at = name + sprintf(name, "_RINvC1a1bTuuE"), last[8];
	int place = 8;

	for (int i = 1; i <= levels; i++) {
		int here = (int)(at - name) - 2;

		number(last, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
		       place);
		at += sprintf(at, "TB%sB%sE", last, last);
		place = here;
	}
	strcpy(at, "E");
}

static void grows(void **state)
{
	char name[4096];

	(void)state;
	make_growing(name, 2);
	check(name,
	      "f(pair<int, int>, pair<pair<int, int>, pair<int, int> >, pair<pair<pair<int, int>, pair<int, int> >, pair<pair<int, int>, pair<int, int> > >)");
	make_growing(name, 40);
	assert_left_alone(name);
}

static void grows_in_rust(void **state)
{
	char name[4096];

	(void)state;
	make_growing_rust(name, 2);
	check(name,
	      "a::b::<((), ()), (((), ()), ((), ())), ((((), ()), ((), ())), (((), ()), ((), ())))>");
	make_growing_rust(name, 40);
	assert_left_alone(name);
}

/* A search through 2^36 positions without any output. */
static void searches(void **state)
{
	char name[4096], *at = name + sprintf(name, "_Z1fIJiEEvDp4pairI"), last[8];

	(void)state;
	for (int i = 1; i < 36; i++)
		at += sprintf(at, "S0_I");
	at += sprintf(at, "iiE");
	for (int i = 2; i < 37; i++) {
		number(last, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", i);
		at += sprintf(at, "S%sE", last);
	}
	for (int i = 0; i < 3; i++)
		assert_left_alone(name);
	/* Valid names still work. */
	make_growing(name, 5);
	at = gpumon_demangle(name);
	assert_non_null(strstr(at, "f(pair<int, int>, pair<"));
	free(at);
}

static void deep(void **state)
{
	static const char *const parts[] = {
		"P", "K", "N", "I", "F", "M", "Dp", "cl", "T", "X", "J"
	};
	char *name = malloc(100001);

	(void)state;
	assert_non_null(name);
	for (size_t p = 0; p < sizeof(parts) / sizeof(*parts); p++) {
		for (size_t length = 100; length <= 100000; length *= 10) {
			char *demangled, *at;

			strcpy(name, "_Z1f");
			for (at = name + 4; at < name + length - 8; at += strlen(parts[p]))
				strcpy(at, parts[p]);
			strcpy(at, "i");
			demangled = gpumon_demangle(name);
			assert_non_null(demangled);
			free(demangled);
			memcpy(name, "_RI", 3);
			demangled = gpumon_demangle(name);
			assert_non_null(demangled);
			free(demangled);
		}
	}
	free(name);
}

/* Recombined parts of real names: no crash, no long wait. */
static void nonsense(void **state)
{
	static const char *const parts[] = {
		"_Z",  "_R",
		"N",   "E",
		"I",   "S_",
		"S0_", "T_",
		"T0_", "3foo",
		"St",  "Dp",
		"sZ",  "J",
		"Lj",  "cl",
		"v",   "i",
		"P",   "R",
		"17h", "0123456789abcdef",
		"B_",  "B3_",
		"C1",  "D0",
		"Ul",  "E_",
		"fp",  "X",
		"DT",  "4pair",
	};
	uint64_t seed = 3;
	char name[2048];

	(void)state;
	for (int round = 0; round < 30000; round++) {
		size_t length = (size_t)snprintf(name, sizeof(name), "%s",
						 round % 4 ? "_Z" :
						 round % 8 ? "_R" :
							     "_ZN");
		unsigned int count = 1 + test_random(&seed) % (round % 100 ? 30 : 300);
		char *demangled;

		while (count-- && length < sizeof(name) - 32) {
			const char *part =
				parts[test_random(&seed) % (sizeof(parts) / sizeof(*parts))];

			strcpy(name + length, part);
			length += strlen(part);
		}
		demangled = gpumon_demangle(name);
		assert_non_null(demangled);
		free(demangled);
	}
}

/* With a stack of 1 MiB, as in a server's thread. */
static void *on_a_small_stack(void *data)
{
	deep(data);
	return NULL;
}

static void small_stack(void **state)
{
	pthread_attr_t attributes;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, 1 << 20), 0);
	assert_int_equal(pthread_create(&thread, &attributes, on_a_small_stack, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	pthread_attr_destroy(&attributes);
}

/* One that is longer than any compiler's is not looked into. */
static void names_of_any_length(void **state)
{
	static const unsigned int lengths[] = { 1000, 16000, 17000 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		char *name, *text;

		assert_true(asprintf(&name, "_Z%u%0*dv", lengths[i], (int)lengths[i], 0) > 0);
		/* A name begins with a letter. */
		for (char *at = name + strlen(name) - 1 - lengths[i]; *at != 'v'; at++)
			*at = 'a';
		text = gpumon_demangle(name);
		if (lengths[i] > 16384)
			assert_string_equal(text, name);
		else
			assert_int_equal(strlen(text), lengths[i] + strlen("()"));
		free(text);
		free(name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_any_length),
		cmocka_unit_test(names),
		cmocka_unit_test(long_names),
		cmocka_unit_test(ended_before_it_was_asked),
		cmocka_unit_test(grows),
		cmocka_unit_test(grows_in_rust),
		cmocka_unit_test(searches),
		cmocka_unit_test(deep),
		cmocka_unit_test(nonsense),
		cmocka_unit_test(small_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
