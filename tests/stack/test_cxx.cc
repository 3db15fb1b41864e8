// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* Frames as C++ makes them, against libunwind: exceptions, destructors, templates, thunks. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "compare.h"

static const char *volatile what;
static volatile int sink;

static NOINLINE void look()
{
	static thread_local struct walk ours;
	static thread_local struct walk theirs;

	for (int i = 0; i < 3; i++)
		WALK(&ours);
	reference_walk(&theirs);
	test_same(what, &ours, &theirs);
}

template <int depth> struct nested {
	static NOINLINE int call(const std::string &text)
	{
		std::string longer = text + std::to_string(depth);

		return nested<depth - 1>::call(longer) + (int)longer.size();
	}
};

template <> struct nested<0> {
	static NOINLINE int call(const std::string &text)
	{
		look();
		return (int)text.size();
	}
};

struct looks_when_gone {
	~looks_when_gone()
	{
		look();
		sink = 1;
	}
};

static NOINLINE void throw_from(int depth)
{
	looks_when_gone *none = nullptr;

	if (depth)
		throw_from(depth - 1);
	else
		throw std::runtime_error("as a test");
	sink = none != nullptr;
}

static NOINLINE void unwinds_through()
{
	looks_when_gone guard;

	throw_from(3);
	sink = 2;
}

static NOINLINE void catches()
{
	try {
		what = "a destructor while an exception passes";
		unwinds_through();
	} catch (const std::exception &) {
		what = "a catch block";
		look();
		try {
			throw 1;
		} catch (int) {
			what = "a catch block in a catch block";
			look();
		}
	}
	what = "behind a catch block";
	look();
}

struct base_a {
	virtual ~base_a() = default;
	virtual void a() = 0;
	long field_a = 1;
};

struct base_b {
	virtual ~base_b() = default;
	virtual void b() = 0;
	long field_b = 2;
};

struct both : virtual base_a, virtual base_b {
	void a() override
	{
		look();
		sink = (int)field_a;
	}
	void b() override
	{
		look();
		sink = (int)field_b;
	}
};

static NOINLINE void thunks(base_a *first, base_b *second)
{
	what = "a virtual function of the first base";
	first->a();
	what = "a virtual function through a thunk";
	second->b();
	sink = 3;
}

static NOINLINE void library()
{
	std::vector<int> numbers{ 5, 3, 9, 1 };
	std::map<int, std::string> words{ { 1, "one" }, { 2, "two" } };
	int calls = 0;

	what = "std::sort";
	std::sort(numbers.begin(), numbers.end(), [&](int left, int right) {
		if (++calls == 2)
			look();
		return left < right;
	});
	what = "std::function";
	std::function<void(int)> function = [&](int) { look(); };
	std::for_each(words.begin(), words.end(),
		      [&](const auto &entry) { function(entry.first); });
	what = "std::thread";
	std::thread([] { nested<3>::call("thread"); }).join();
	what = "std::async";
	std::async(std::launch::async, [] { return nested<2>::call("async"); }).get();
	what = "std::call_once";
	std::once_flag flag;
	std::call_once(flag, [] { look(); });
}

static void on_terminate()
{
	what = "the function that std::terminate calls";
	look();
	fflush(stdout);
	_exit(test_end());
}

static void terminate()
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		inject_stack_forked();
		std::set_terminate(on_terminate);
		[]() noexcept { throw_from(2); }();
	}
	waitpid(child, &status, 0);
	SAY(WIFEXITED(status) && !WEXITSTATUS(status), "a child that nobody caught for",
	    "ended with %#x", status);
}

static struct at_start {
	at_start()
	{
		inject_stack_init();
		what = "a static object's constructor";
		look();
	}
} started;

int main()
{
	both object;

	what = "templates";
	sink = nested<12>::call("begin");
	catches();
	thunks(&object, &object);
	library();
	terminate();
	return test_end();
}
