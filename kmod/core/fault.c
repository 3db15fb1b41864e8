// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes registrations fail; only in a module made with GPUMON_DEBUG=1, see Kbuild.
 *
 * The parameters can be given at load, and written while gpumon is loaded: what is
 * counted then begins with the next registration, which is how those are reached that
 * come late, with a driver or a group that is switched on.
 */
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "fault.h"

static DEFINE_MUTEX(fault_lock);

/* The lock protects all of these; a reader of the parameters may see a value that is changing. */
static unsigned int fail_registration;
static unsigned int fail_registrations = 1;
static int fail_error = 12;
static unsigned int registrations;
static char failed_registration[96];
static char last_registration[96];

static int fail_registration_set(const char *text, const struct kernel_param *parameter)
{
	int ret;

	mutex_lock(&fault_lock);
	ret = param_set_uint(text, parameter);
	if (!ret) {
		registrations = 0;
		failed_registration[0] = '\0';
	}
	mutex_unlock(&fault_lock);
	return ret;
}

static const struct kernel_param_ops fail_registration_ops = {
	.set = fail_registration_set,
	.get = param_get_uint,
};

module_param_cb(fail_registration, &fail_registration_ops, &fail_registration, 0600);
MODULE_PARM_DESC(fail_registration,
		 "debug: this registration from now on fails, 1 is the next, 0 none (default 0)");
module_param(fail_registrations, uint, 0600);
MODULE_PARM_DESC(fail_registrations, "debug: so many in a row fail (default 1)");
module_param(fail_error, int, 0600);
MODULE_PARM_DESC(fail_error, "debug: the error, a positive errno (default 12, ENOMEM)");
module_param(registrations, uint, 0400);
MODULE_PARM_DESC(registrations, "debug: registrations since fail_registration was written");
module_param_string(failed_registration, failed_registration, sizeof(failed_registration), 0400);
MODULE_PARM_DESC(failed_registration, "debug: the last one that was made to fail");
module_param_string(last_registration, last_registration, sizeof(last_registration), 0400);
MODULE_PARM_DESC(last_registration, "debug: the last one of all");

/**
 * gpumon_fault - should this registration fail
 * @what: the function that registers
 * @name: what is registered, NULL if there is only one
 *
 * Context: may sleep.
 * Return: 0, or the negative error that the registration has to fail with.
 */
int gpumon_fault(const char *what, const char *name)
{
	int ret = 0;

	mutex_lock(&fault_lock);
	registrations++;
	snprintf(last_registration, sizeof(last_registration), "%s%s%s", what, name ? " " : "",
		 name ?: "");
	if (fail_registration && registrations >= fail_registration &&
	    registrations - fail_registration < fail_registrations) {
		ret = fail_error > 0 ? -fail_error : -ENOMEM;
		strscpy(failed_registration, last_registration, sizeof(failed_registration));
		pr_info("debug: registration %u, %s, is made to fail with error %d\n",
			registrations, failed_registration, ret);
	}
	mutex_unlock(&fault_lock);
	return ret;
}
