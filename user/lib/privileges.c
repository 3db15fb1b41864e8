// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.h"
#include "privileges.h"

/* Older versions of linux/capability.h lack some of these. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

#define BIT(capability) (1ULL << (capability))

struct capabilities {
	uint64_t effective;
	uint64_t permitted;
	uint64_t inheritable;
};

static struct {
	bool started;
	mode_t umask;
	char *user;
} self;

static uint64_t capabilities_of(unsigned int needs)
{
	static const uint64_t of[] = {
		BIT(CAP_NET_ADMIN),
		BIT(CAP_DAC_READ_SEARCH),
		BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN),
		BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH),
		BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_SYS_ADMIN),
		/* Signals are passed on to the program, whichever user it has become. */
		BIT(CAP_KILL),
		BIT(CAP_SYSLOG),
	};
	uint64_t set = 0;

	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (needs & (1U << i))
			set |= of[i];
	return set;
}

static bool get_capabilities(struct capabilities *set)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return false;
	set->effective = data[0].effective | (uint64_t)data[1].effective << 32;
	set->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	set->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	return true;
}

static bool put_capabilities(const struct capabilities *set)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {
		{ .effective = (uint32_t)set->effective,
		  .permitted = (uint32_t)set->permitted,
		  .inheritable = (uint32_t)set->inheritable },
		{ .effective = (uint32_t)(set->effective >> 32),
		  .permitted = (uint32_t)(set->permitted >> 32),
		  .inheritable = (uint32_t)(set->inheritable >> 32) },
	};

	return !syscall(SYS_capset, &header, data);
}

void gpumon_privileges_start(void)
{
	self.started = true;
	self.umask = umask(077);
}

void gpumon_privileges_keep(unsigned int needs)
{
	uint64_t kept = capabilities_of(needs);
	struct capabilities set;

	if (!self.started || !get_capabilities(&set))
		return;
	set.effective &= kept;
	if (!(needs & GPUMON_PRIVILEGE_PROGRAM)) {
		set.permitted &= kept;
		set.inheritable = 0;
		(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	}
	/* The kernel always allows dropping capabilities. */
	(void)put_capabilities(&set);
}

void gpumon_privileges_raise(unsigned int needs)
{
	struct capabilities set;

	if (!self.started || !get_capabilities(&set))
		return;
	set.effective |= set.permitted & capabilities_of(needs);
	(void)put_capabilities(&set);
}

void gpumon_privileges_lower(unsigned int needs)
{
	struct capabilities set;

	/* Only a process that changed its user raised them. Any other one keeps them. */
	if (!self.user || !get_capabilities(&set))
		return;
	set.effective &= ~capabilities_of(needs);
	(void)put_capabilities(&set);
}

void gpumon_privileges_forget(unsigned int needs)
{
	struct capabilities set;

	if (!self.user || !get_capabilities(&set))
		return;
	set.permitted &= ~capabilities_of(needs);
	set.effective &= set.permitted;
	(void)put_capabilities(&set);
}

void gpumon_privileges_restore_umask(void)
{
	if (self.started)
		(void)umask(self.umask);
}

void gpumon_privileges_give_back(void)
{
	struct capabilities set;

	if (!self.started)
		return;
	gpumon_privileges_restore_umask();
	/* After a change of user the program gets none of root's capabilities. */
	if (!get_capabilities(&set))
		return;
	set.effective = self.user ? 0 : set.permitted;
	if (self.user)
		set.permitted = 0;
	(void)put_capabilities(&set);
}

const char *gpumon_privileges_user(void)
{
	return self.user;
}

/* SUDO_UID is also set in a root shell that sudo started, where the user wants to stay root. */
static bool parent_is_sudo(void)
{
	char path[64], name[32] = "";
	FILE *stream;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)getppid());
	stream = fopen(path, "re");
	if (!stream)
		return false;
	if (!fgets(name, sizeof(name), stream))
		name[0] = '\0';
	fclose(stream);
	return !strcmp(name, "sudo\n");
}

static bool read_id(const char *name, unsigned int *id)
{
	const char *text = getenv(name);
	unsigned long number;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoul(text, &end, 10);
	if (*end || errno || number >= UINT_MAX)
		return false;
	*id = (unsigned int)number;
	return true;
}

/**
 * struct user - the user to become
 * @entry: entry in the user database, or NULL if only the ids are known
 * @name: user name, or the uid as text
 */
struct user {
	uid_t uid;
	gid_t gid;
	const struct passwd *entry;
	char name[64];
};

/* 1: found; 0: no change of user is needed; -1 with @err. */
static int find_user(const char *name, struct user *user, struct gpumon_error *err)
{
	unsigned int uid, gid;

	if (name) {
		user->entry = getpwnam(name);
		if (!user->entry)
			return gpumon_error_set(err, GPUMON_EXIT_FAILED, -ENOENT,
						GPUMON_ERROR_USAGE,
						"--run-as: there is no user \"%.32s\"", name);
		if (user->entry->pw_uid == geteuid())
			return 0;
		if (geteuid())
			return gpumon_error_set(
				err, GPUMON_EXIT_IMPOSSIBLE, -EPERM, GPUMON_ERROR_PERMISSION,
				"--run-as: only root may run a program as another user");
	} else {
		if (geteuid() || !read_id("SUDO_UID", &uid) || !uid || !read_id("SUDO_GID", &gid) ||
		    !parent_is_sudo())
			return 0;
		user->entry = getpwuid(uid);
		user->uid = uid;
		user->gid = gid;
	}
	if (user->entry) {
		user->uid = user->entry->pw_uid;
		user->gid = user->entry->pw_gid;
		snprintf(user->name, sizeof(user->name), "%s", user->entry->pw_name);
	} else {
		snprintf(user->name, sizeof(user->name), "%u", user->uid);
	}
	return 1;
}

static bool change_user(const struct user *user)
{
	if (user->entry ? initgroups(user->entry->pw_name, user->gid) : setgroups(1, &user->gid))
		return false;
	return !setresgid(user->gid, user->gid, user->gid) && !prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) &&
	       !setresuid(user->uid, user->uid, user->uid) && !prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
}

int gpumon_privileges_become(const char *name, unsigned int needs, unsigned int later,
			     struct gpumon_error *err)
{
	struct user user = { 0 };
	struct capabilities set;
	int found;

	if (!self.started)
		return 0;
	found = find_user(name, &user, err);
	if (found <= 0)
		return found;
	self.user = gpumon_strdup(user.name);
	if (!get_capabilities(&set))
		goto failed;
	/*
	 * Changing the user needs capabilities. Those that were dropped for good are not in here.
	 */
	set.effective = set.permitted;
	if (!put_capabilities(&set) || !change_user(&user))
		goto failed;
	set.permitted &= capabilities_of(needs | later);
	set.effective = set.permitted & capabilities_of(needs);
	set.inheritable = 0;
	if (!put_capabilities(&set))
		goto failed;
	if (user.entry &&
	    (setenv("HOME", user.entry->pw_dir, 1) || setenv("USER", user.entry->pw_name, 1) ||
	     setenv("LOGNAME", user.entry->pw_name, 1)))
		goto failed;
	return 0;
failed:
	return gpumon_error_set(
		err, GPUMON_EXIT_FAILED, -errno, GPUMON_ERROR_PERMISSION,
		"cannot become user %s: %s (--run-as names the user that runs the program)",
		user.name, strerror(errno));
}
