#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Usage: mock_gpu_conftest.sh COMPILER FLAGS...
# Prints a header with one MOCK_HAVE_* for each snippet that the kernel's
# headers accept. Called from Kbuild with the flags of a real object.
set -euo pipefail

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The headers are preprocessed once. Each snippet then compiles in a fraction of the time.
cat > "$dir/headers.c" <<'HEADERS'
#include <linux/hrtimer.h>
#include <linux/tracepoint.h>
#include <drm/drm_drv.h>
#include <drm/gpu_scheduler.h>
HEADERS
"$@" -E -P -o "$dir/headers.i" "$dir/headers.c"

accepts() {
	local file="$dir/$1.i"

	{
		cat "$dir/headers.i"
		echo "$2"
	} > "$file"
	"${compiler[@]}" -x cpp-output -fsyntax-only "$file" > "$dir/$1.log" 2>&1
}

# Some compilers warn about preprocessor flags, which are not needed any more.
compiler=()
for flag; do
	case $flag in
	-include | -I* | -D* | -Wp,*) ;;
	*.h) ;;
	*) compiler+=("$flag") ;;
	esac
done

# This must compile on every supported kernel, or the answers below would all be "no" for some other
# reason.
if ! accepts base 'void t(struct drm_gpu_scheduler *s) { drm_sched_fini(s); }'; then
	cat "$dir/base.log" >&2
	echo "mock_gpu_conftest.sh: cannot compile against the kernel's headers" >&2
	exit 1
fi

echo '/* Written by mock_gpu_conftest.sh. */'
while IFS='|' read -r name snippet; do
	if accepts "$name" "$snippet"; then
		echo "#define MOCK_HAVE_$name 1"
	else
		echo "/* MOCK_HAVE_$name: no */"
	fi
done <<'SNIPPETS'
SCHED_INIT_ARGS|int t(struct drm_gpu_scheduler *s, struct drm_sched_init_args *a) { return drm_sched_init(s, a); }
SCHED_INIT_NUM_RQS|void t(struct drm_sched_init_args *a) { a->num_rqs = 1; }
SCHED_INIT_POSITIONAL_RQS|int t(struct drm_gpu_scheduler *s) { return drm_sched_init(s, (void *)0, (void *)0, 1, 1, 0, 1L, (void *)0, (void *)0, "", (void *)0); }
SCHED_INIT_SHORT|int t(struct drm_gpu_scheduler *s) { return drm_sched_init(s, (void *)0, 1, 0, 1L, ""); }
SCHED_DEV|void t(struct drm_gpu_scheduler *s) { s->dev = (void *)0; }
SCHED_STAT|enum drm_gpu_sched_stat t(struct drm_sched_backend_ops *o) { return o->timedout_job((void *)0); }
JOB_ARM|void t(struct drm_sched_job *j) { drm_sched_job_arm(j); }
JOB_DEPENDENCIES|int t(struct drm_sched_job *j, struct dma_fence *f) { return drm_sched_job_add_dependency(j, f); }
PUSH_JOB_ENTITY|void t(struct drm_sched_job *j, struct drm_sched_entity *e) { drm_sched_entity_push_job(j, e); }
WQUEUE_STOP|void t(struct drm_gpu_scheduler *s) { drm_sched_wqueue_stop(s); drm_sched_wqueue_start(s); }
PREPARE_JOB|struct drm_sched_backend_ops o; struct drm_sched_backend_ops o = { .prepare_job = (void *)0 };
JOB_INIT_CREDITS|int t(struct drm_sched_job *j, struct drm_sched_entity *e) { return drm_sched_job_init(j, e, 1, (void *)0); }
JOB_INIT_CLIENT_ID|int t(struct drm_sched_job *j, struct drm_sched_entity *e) { return drm_sched_job_init(j, e, 1, (void *)0, 0); }
STAT_RESET|int t(void); int t(void) { return DRM_GPU_SCHED_STAT_RESET; }
SCHED_START_BOOL|_Static_assert(__builtin_types_compatible_p(typeof(drm_sched_start), void(struct drm_gpu_scheduler *, _Bool)), "");
SCHED_START_ERRNO|_Static_assert(__builtin_types_compatible_p(typeof(drm_sched_start), void(struct drm_gpu_scheduler *, int)), "");
FAULTABLE_TRACEPOINTS|_Bool t(struct tracepoint *tp); _Bool t(struct tracepoint *tp) { return tracepoint_is_faultable(tp); }
DRM_DRIVER_DATE|void t(struct drm_driver *d); void t(struct drm_driver *d) { d->date = ""; }
DRM_IRQ_ENABLED|void t(struct drm_device *d); void t(struct drm_device *d) { d->irq_enabled = 1; }
HRTIMER_SETUP|void t(struct hrtimer *h); void t(struct hrtimer *h) { hrtimer_setup(h, (void *)0, 0, 0); }
SNIPPETS
