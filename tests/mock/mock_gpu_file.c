// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/mock_gpu: each open file has one entity on every ring it submits to, like the contexts of a
 * DRM driver. Entities are flushed when a descriptor is closed and end with the file, as in amdgpu.
 * That kills the jobs that are still queued by a process that gets SIGKILL.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "mock_gpu_compat.h"
#include "mock_gpu_priv.h"

struct mock_file {
	struct mutex lock;		/* creation of entities */
	struct xarray entities;		/* struct mock_entity by index of the ring */
};

static void mock_entity_release(struct kref *ref)
{
	kfree(container_of(ref, struct mock_entity, ref));
}

/**
 * mock_entity_put() - drop a reference
 * @entity: the entity
 *
 * Jobs hold a reference until they are freed: 6.1 may access an entity's completion after its last
 * job was popped, and does not wait for that when the entity ends.
 */
void mock_entity_put(struct mock_entity *entity)
{
	kref_put(&entity->ref, mock_entity_release);
}

static void mock_entity_fini(struct work_struct *work)
{
	struct mock_entity *entity = container_of(work, struct mock_entity, fini);

	mock_ring_stop(entity->ring);
	drm_sched_entity_fini(&entity->base);
	mock_ring_go_on(entity->ring);
}

/* The index of a ring in mock_gpu.ring, or -EINVAL. */
static int mock_ring_index(u32 device, u32 ring)
{
	if (device >= mock_gpu.devices || ring >= mock_gpu.rings)
		return -EINVAL;
	return array_index_nospec(device, mock_gpu.devices) * mock_gpu.rings +
	       array_index_nospec(ring, mock_gpu.rings);
}

static struct mock_entity *mock_entity_get(struct mock_file *file, u32 device, u32 ring)
{
	int index = mock_ring_index(device, ring);
	struct mock_entity *entity;
	int ret;

	if (index < 0)
		return ERR_PTR(index);
	entity = xa_load(&file->entities, index);
	if (entity)
		return entity;

	mutex_lock(&file->lock);
	entity = xa_load(&file->entities, index);
	if (entity)
		goto out;

	entity = kzalloc(sizeof(*entity), GFP_KERNEL);
	if (!entity) {
		entity = ERR_PTR(-ENOMEM);
		goto out;
	}
	kref_init(&entity->ref);
	mutex_init(&entity->lock);
	entity->ring = &mock_gpu.ring[index];
	ret = drm_sched_entity_init(&entity->base, DRM_SCHED_PRIORITY_NORMAL,
				    entity->ring->sched_list, 1, NULL);
	if (!ret) {
		ret = xa_err(xa_store(&file->entities, index, entity, GFP_KERNEL));
		if (ret)
			drm_sched_entity_fini(&entity->base);
	}
	if (ret) {
		mock_entity_put(entity);
		entity = ERR_PTR(ret);
	}
out:
	mutex_unlock(&file->lock);
	return entity;
}

/* The last job's finished fence with a reference, or NULL. */
static struct dma_fence *mock_entity_last(struct mock_entity *entity)
{
	struct dma_fence *fence;

	mutex_lock(&entity->lock);
	fence = dma_fence_get(entity->last);
	mutex_unlock(&entity->lock);
	return fence;
}

static u64 mock_job_service_ns(struct mock_ring *ring, const struct mock_gpu_submit *args)
{
	bool at_once = mock_gpu.inline_completion;

	if (args->flags & MOCK_GPU_SUBMIT_INLINE)
		at_once = true;
	else if (args->flags & MOCK_GPU_SUBMIT_TIMER)
		at_once = false;
	if (at_once)
		return 0;
	return args->service_ns ?: mock_ring_service_ns(ring);
}

/* Push one job; consumes @dep. */
static int mock_push(struct mock_file *file, struct mock_entity *entity,
		     const struct mock_gpu_submit *args, struct dma_fence *dep)
{
	struct mock_ring *ring = entity->ring;
	struct mock_job *job;
	int ret = -ENOMEM;

	job = kzalloc(sizeof(*job), GFP_KERNEL);
	if (!job)
		goto err_dep;
	/* The fence is allocated here, since run_job() may not wait for memory. */
	job->fence = kzalloc(sizeof(*job->fence), GFP_KERNEL);
	job->usage = mock_account_usage(ring);
	if (!job->fence || !job->usage)
		goto err_fence;
	job->fence->ring = ring;
	job->entity = entity;
	job->fail = args->fail;
	job->service_ns = mock_job_service_ns(ring, args);
	INIT_LIST_HEAD(&job->node);

	mutex_lock(&entity->lock);
	ret = mock_compat_job_init(&job->base, &entity->base, file);
	if (ret)
		goto err_unlock;
	if (dep) {
		job->dependencies = 1;
#ifdef MOCK_HAVE_JOB_DEPENDENCIES
		ret = drm_sched_job_add_dependency(&job->base, dep);
#else
		job->dependency = dep;
#endif
		dep = NULL;
		if (ret)
			goto err_cleanup;
	}

	mock_compat_job_arm(&job->base);
	kref_get(&entity->ref);
	dma_fence_put(entity->last);
	entity->last = dma_fence_get(&job->base.s_fence->finished);
	mock_account_pushed(ring, job);
	mock_compat_job_push(&job->base, &entity->base);
	mutex_unlock(&entity->lock);
	return 0;

err_cleanup:
	drm_sched_job_cleanup(&job->base);
err_unlock:
	mutex_unlock(&entity->lock);
err_fence:
	kfree(job->fence);
	kfree(job);
err_dep:
	dma_fence_put(dep);
	return ret;
}

static int mock_submit_valid(const struct mock_gpu_submit *args)
{
	const u32 both = MOCK_GPU_SUBMIT_INLINE | MOCK_GPU_SUBMIT_TIMER;

	if (args->flags & ~MOCK_GPU_SUBMIT_FLAGS || (args->flags & both) == both)
		return -EINVAL;
	if (args->count > MOCK_GPU_MAX_COUNT || args->service_ns > MOCK_GPU_MAX_SERVICE_NS)
		return -EINVAL;
	if (args->fail >= MOCK_GPU_FAIL_COUNT)
		return -EINVAL;
	/* Without a timeout, a job that hangs would never end, and the module would stay in use. */
	if (args->fail == MOCK_GPU_FAIL_HANG && !mock_gpu.timeout_ms)
		return -EINVAL;
	return 0;
}

static int mock_submit(struct mock_file *file, struct mock_gpu_submit *args)
{
	struct mock_entity *entity, *dep_entity = NULL;
	struct dma_fence *fence;
	int ret;

	args->submitted = 0;
	ret = mock_submit_valid(args);
	if (ret)
		return ret;
	entity = mock_entity_get(file, args->device, args->ring);
	if (IS_ERR(entity))
		return PTR_ERR(entity);
	if (args->flags & MOCK_GPU_SUBMIT_DEPEND) {
		dep_entity = mock_entity_get(file, args->dep_device, args->dep_ring);
		if (IS_ERR(dep_entity))
			return PTR_ERR(dep_entity);
	}
	/*
	 * The entry of the process is made first, so that no job is pushed that cannot be counted.
	 */
	ret = mock_account_process(0);
	if (ret)
		return ret;

	while (args->submitted < args->count) {
		fence = NULL;
		if (fatal_signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		if (dep_entity) {
			fence = mock_entity_last(dep_entity);
			if (!fence) {
				ret = -ENOENT;
				break;
			}
		}
		ret = mock_push(file, entity, args, fence);
		if (ret)
			break;
		args->submitted++;
		cond_resched();
	}
	mock_account_process(args->submitted);
	if (ret || !(args->flags & MOCK_GPU_SUBMIT_WAIT))
		return ret;

	fence = mock_entity_last(entity);
	if (!fence)
		return 0;
	ret = dma_fence_wait(fence, true);
	dma_fence_put(fence);
	/* A restart would push the jobs again. */
	return ret == -ERESTARTSYS ? -EINTR : ret;
}

static int mock_hold(struct mock_file *file, const struct mock_gpu_hold *args)
{
	struct mock_entity *entity;
	bool changed;

	if (args->hold > 1 || args->reserved)
		return -EINVAL;
	entity = mock_entity_get(file, args->device, args->ring);
	if (IS_ERR(entity))
		return PTR_ERR(entity);

	mutex_lock(&entity->lock);
	changed = entity->held != args->hold;
	entity->held = args->hold;
	mutex_unlock(&entity->lock);
	if (!changed)
		return -EALREADY;
	mock_ring_hold(entity->ring, args->hold);
	return 0;
}

static long mock_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	const struct mock_gpu_info info = {
		.devices = mock_gpu.devices,
		.rings = mock_gpu.rings,
		.hw_limit = mock_gpu.hw_limit,
		.timeout_ms = mock_gpu.timeout_ms,
	};
	struct mock_file *file = filp->private_data;
	void __user *user = (void __user *)arg;
	struct mock_gpu_submit submit;
	struct mock_gpu_hold hold;
	int ret;

	switch (cmd) {
	case MOCK_GPU_IOC_SUBMIT:
		if (copy_from_user(&submit, user, sizeof(submit)))
			return -EFAULT;
		ret = mock_submit(file, &submit);
		if (copy_to_user(user, &submit, sizeof(submit)))
			return -EFAULT;
		return ret;
	case MOCK_GPU_IOC_HOLD:
		if (copy_from_user(&hold, user, sizeof(hold)))
			return -EFAULT;
		return mock_hold(file, &hold);
	case MOCK_GPU_IOC_INFO:
		return copy_to_user(user, &info, sizeof(info)) ? -EFAULT : 0;
	default:
		return -ENOTTY;
	}
}

static int mock_open(struct inode *inode, struct file *filp)
{
	struct mock_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	mutex_init(&file->lock);
	xa_init(&file->entities);
	filp->private_data = file;
	return 0;
}

static long mock_entity_flush(struct mock_entity *entity, long timeout)
{
	struct mock_ring *ring = entity->ring;

	if (!(current->flags & PF_EXITING) || current->exit_code != SIGKILL)
		return drm_sched_entity_flush(&entity->base, timeout);
	/*
	 * A flush would wait for the ring and then kill the rest, so the ring is only stopped for
	 * that.
	 */
	if (timeout)
		timeout = wait_event_timeout(ring->sched.job_scheduled,
					     !spsc_queue_count(&entity->base.job_queue), timeout);
	mock_ring_stop(ring);
	drm_sched_entity_flush(&entity->base, 0);
	mock_ring_go_on(ring);
	return timeout;
}

/* Called for each close of a descriptor, also at the exit of a process. */
static int mock_flush(struct file *filp, fl_owner_t id)
{
	struct mock_file *file = filp->private_data;
	long timeout = msecs_to_jiffies(mock_gpu.flush_ms);
	struct mock_entity *entity;
	unsigned long index;

	xa_for_each(&file->entities, index, entity)
		timeout = mock_entity_flush(entity, timeout);
	return 0;
}

static int mock_release(struct inode *inode, struct file *filp)
{
	struct mock_file *file = filp->private_data;
	struct mock_entity *entity;
	unsigned long index;

	xa_for_each(&file->entities, index, entity) {
		if (entity->held)
			mock_ring_hold(entity->ring, false);
	}
	/*
	 * All entities are flushed at once. On 6.1 an entity whose jobs are killed waits for their
	 * dependencies, which may be jobs killed with another entity of this file. Flushed one
	 * after the other, they would wait for ever.
	 */
	xa_for_each(&file->entities, index, entity) {
		INIT_WORK(&entity->fini, mock_entity_fini);
		queue_work(system_unbound_wq, &entity->fini);
	}
	xa_for_each(&file->entities, index, entity) {
		flush_work(&entity->fini);
		dma_fence_put(entity->last);
		mock_entity_put(entity);
	}
	xa_destroy(&file->entities);
	mutex_destroy(&file->lock);
	kfree(file);
	return 0;
}

static const struct file_operations mock_fops = {
	.owner = THIS_MODULE,
	.open = mock_open,
	.flush = mock_flush,
	.release = mock_release,
	.unlocked_ioctl = mock_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice mock_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "mock_gpu",
	.fops = &mock_fops,
	.mode = 0666,
};

/**
 * mock_file_init() - create the device file
 *
 * Return: 0 or a negative error.
 */
int mock_file_init(void)
{
	return misc_register(&mock_misc);
}

/**
 * mock_file_exit() - remove the device file, which nobody has open at unload
 */
void mock_file_exit(void)
{
	misc_deregister(&mock_misc);
}
