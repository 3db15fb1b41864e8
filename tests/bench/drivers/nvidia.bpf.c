// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* libbpf kprobe programs that count what gpumon counts for nvidia.ko, like nvidia.bt. */
#include <linux/ptrace.h>

#include "books.bpf.h"

#include <bpf/bpf_tracing.h>

enum {
	IOCTL,
	POLL,
	ISR,
	ISR_BH
};

SEC("kprobe/nvidia_unlocked_ioctl")
int ioctl(struct pt_regs *ctx)
{
	/* Time and command share a word, which saves a look-up. */
	begin(bpf_get_current_pid_tgid(), IOCTL,
	      bpf_ktime_get_ns() << 8 | (PT_REGS_PARM2(ctx) & 0xff));
	return 0;
}

SEC("kretprobe/nvidia_unlocked_ioctl")
int ioctl_returned(struct pt_regs *ctx)
{
	__u64 begun_with, command, pid_tgid = bpf_get_current_pid_tgid();

	if (!end(pid_tgid, IOCTL, &begun_with))
		return 0;
	command = begun_with & 0xff;
	count(IOCTL, 0);
	count_row(pid_tgid >> 32 << 32 | IOCTL, command, 0);
	latency(IOCTL, command, bpf_ktime_get_ns() - (begun_with >> 8));
	return 0;
}

SEC("kprobe/nvidia_poll")
int poll(struct pt_regs *ctx)
{
	count(POLL, 0);
	count_process(POLL, 0);
	return 0;
}

SEC("kprobe/nvidia_isr")
int isr(struct pt_regs *ctx)
{
	count(ISR, 0);
	count_row(ISR, PT_REGS_PARM1(ctx), 0);
	begin(ISR, PT_REGS_PARM1(ctx), bpf_ktime_get_ns());
	return 0;
}

SEC("kprobe/nvidia_isr_kthread_bh")
int isr_bh(struct pt_regs *ctx)
{
	__u64 since;

	if (!end(ISR, PT_REGS_PARM1(ctx), &since))
		return 0;
	count(ISR_BH, 0);
	latency(ISR_BH, PT_REGS_PARM1(ctx), bpf_ktime_get_ns() - since);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
