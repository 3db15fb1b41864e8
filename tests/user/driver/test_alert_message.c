// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/*
 * Records of the kernel's log as drivers have written them, from public reports of users: which are
 * alerts, of what device and process. Events of drm_ras.
 */
#include "common.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <stdlib.h>
#include <string.h>

#include "driver/alert_message.h"
#include "driver/model_fields.h"
#include "driver/parse.h"

/* The record in a heap block of its exact size, with the byte behind it that the parser may write. */
static char *copy_of(const char *text, size_t size)
{
	char *copy = malloc(size + 1);

	assert_non_null(copy);
	memcpy(copy, text, size);
	return copy;
}

static const struct {
	const char *record, *group, *kind, *device, *process;
	uint64_t pid;
	int code;
	const char *message;
} alerts[] = {
	/* 470 to 515: with and without process. */
	{ "4,1,2,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1253, name=Xorg, GPU has fallen off the bus.",
	  "nvidia", "xid", "0000:01:00.0", "Xorg", 1253, 79,
	  "pid=1253, name=Xorg, GPU has fallen off the bus." },
	{ "3,1,2,-;NVRM: Xid (PCI:0000:cb:00): 13, pid='<unknown>', name=<unknown>, Graphics SM Warp Exception on (GPC 7, TPC 7, SM 0): Illegal Instruction Parameter",
	  "nvidia", "xid", "0000:cb:00.0", NULL, 0, 13,
	  "pid='<unknown>', name=<unknown>, Graphics" },
	{ "4,1,2,-;NVRM: Xid (PCI:0000:cb:00): 109, pid=1797828, name=pt_main_thread, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005",
	  "nvidia", "xid", "0000:cb:00.0", "pt_main_thread", 1797828, 109, "pid=1797828" },
	{ "4,1,2,-;NVRM: Xid (PCI:0000:01:00): 31, Ch 00000003, engmask 00000101, intr 10000000",
	  "nvidia", "xid", "0000:01:00.0", NULL, 0, 31, "Ch 00000003, engmask" },
	/* 580.159 on an H200: the kernel marks all of its lines as the rest of one. */
	{ "4,361,36184053,c;NVRM: Xid (PCI:0000:00:06): 31, pid=638, name=fault, channel 0x0000000a, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ 0x0_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE",
	  "nvidia", "xid", "0000:00:06.0", "fault", 638, 31, "pid=638, name=fault, channel" },
	/* 550 and 570 on Hopper, with another domain; 590, with the cause. */
	{ "4,1,2,-;NVRM: Xid (PCI:0019:01:00): 149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
	  "nvidia", "xid", "0019:01:00.0", NULL, 0, 149, "NETIR Fatal XC0" },
	{ "4,1,2,-;NVRM: Xid (PCI:0000:9b:00): 94, pid=1234, name=python3, Contained ECC error",
	  "nvidia", "xid", "0000:9b:00.0", "python3", 1234, 94, "pid=1234, name=python3" },
	{ "4,1,2,-;NVRM: Xid (PCI:0000:dc:00): 45, pid=1818990, name=python3, Ch 00000001 caused by previous Xid 149",
	  "nvidia", "xid", "0000:dc:00.0", "python3", 1818990, 45, "pid=1818990" },
	/* The open modules' form of a part of a GPU. */
	{ "4,1,2,-;NVRM: Xid (PCI:0000:07:00 GPU-I:01 GPU-CI:00): 43, pid=77, name=a.out, Ch 00000010",
	  "nvidia", "xid", "0000:07:00.0", "a.out", 77, 43,
	  "(GPU-I:01 GPU-CI:00) pid=77, name=a.out" },
	{ "4,1,2,-;NVRM: Xid (0000:03:00): 8, Channel 00000001", "nvidia", "xid", "0000:03:00.0",
	  NULL, 0, 8, "Channel 00000001" },
	{ "4,1,2,-;nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Non-fatal, Link 44 Minion Link DLREQ interrupt",
	  "nvidia", "sxid", "0000:04:00.0", NULL, 0, 22013, "Non-fatal, Link 44" },
	{ "3,1,2,-;nvidia-nvswitch0: SXid (PCI:0000:84:00.0): 12028, Fatal, Link 46 egress nonposted PRIV error",
	  "nvidia", "sxid", "0000:84:00.0", NULL, 0, 12028, "Fatal, Link 46" },
	/* amdgpu before 6.8, when its errors had no device, and after. */
	{ "3,1,2,-;[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=5000163, emitted seq=5000165",
	  "amdgpu", "timeout", NULL, NULL, 0, -1, "ring gfx_0.0.0 timeout, signaled" },
	{ "3,1,2,-;amdgpu 0000:08:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=13441142, emitted seq=13441144\n SUBSYSTEM=pci\n DEVICE=+pci:0000:08:00.0",
	  "amdgpu", "timeout", "0000:08:00.0", NULL, 0, -1, "ring gfx_0.0.0 timeout" },
	{ "3,1,2,-;amdgpu 0000:28:00.0: ring sdma0 timeout, but soft recovered", "amdgpu",
	  "timeout", "0000:28:00.0", NULL, 0, -1, "ring sdma0 timeout, but soft recovered" },
	{ "6,1,2,-;amdgpu 0000:08:00.0: amdgpu: GPU reset(2) succeeded!", "amdgpu", "reset",
	  "0000:08:00.0", NULL, 0, -1, "GPU reset(2) succeeded!" },
	{ "6,1,2,-;amdgpu 0000:08:00.0: amdgpu: GPU reset(3) failed", "amdgpu", "reset",
	  "0000:08:00.0", NULL, 0, -1, "GPU reset(3) failed" },
	{ "3,1,2,-;amdgpu 0000:28:00.0: Ring gfx_0.0.0 reset failed", "amdgpu", "engine_reset",
	  "0000:28:00.0", NULL, 0, -1, "Ring gfx_0.0.0 reset failed" },
	{ "3,1,2,-;amdgpu 0000:0d:00.0: amdgpu: [mmhub0] no-retry page fault (src_id:0 ring:157 vmid:1 pasid:32786, for process rocm-bandwidth- pid 4905 thread rocm-bandwidth- pid 4905)",
	  "amdgpu", "fault", "0000:0d:00.0", "rocm-bandwidth-", 4905, -1,
	  "[mmhub0] no-retry page fault" },
	{ "3,1,2,-;amdgpu 0000:c5:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32771)",
	  "amdgpu", "fault", "0000:c5:00.0", NULL, 0, -1, "[gfxhub] page fault (" },
	/* i915 and xe. */
	{ "6,1,2,-;i915 0000:00:02.0: [drm] GPU HANG: ecode 12:1:0020fffe, in xdg-desktop-por [1676]",
	  "i915", "hang", "0000:00:02.0", "xdg-desktop-por", 1676, -1,
	  "GPU HANG: ecode 12:1:0020fffe" },
	{ "6,1,2,-;i915 0000:00:02.0: [drm] GPU HANG: ecode 9:1:00000000, in my own [1] app [77]",
	  "i915", "hang", "0000:00:02.0", "my own [1] app", 77, -1, "GPU HANG: ecode 9" },
	{ "5,1,2,-;i915 0000:00:02.0: [drm] Resetting rcs0 for preemption time out", "i915",
	  "engine_reset", "0000:00:02.0", NULL, 0, -1, "Resetting rcs0 for" },
	{ "5,1,2,-;i915 0000:00:02.0: [drm] GT0: Resetting chip for GuC failed to reset engine mask=0x1",
	  "i915", "reset", "0000:00:02.0", NULL, 0, -1, "Resetting chip for GuC" },
	{ "3,1,2,-;i915 0000:00:02.0: [drm] *ERROR* GT0: GUC: Engine reset failed on 0:0 (rcs0) because 0x00000000",
	  "i915", "engine_reset", "0000:00:02.0", NULL, 0, -1, "GUC: Engine reset failed on" },
	{ "3,1,2,-;i915 0000:00:02.0: GPU recovery timed out, cancelling all in-flight rendering.",
	  "i915", "wedged", "0000:00:02.0", NULL, 0, -1, "GPU recovery timed out" },
	{ "5,1,2,-;xe 0000:3d:00.0: [drm] Tile0: GT0: Timedout job: seqno=1523, lrc_seqno=1523, guc_id=9, flags=0x20 in python [2693]",
	  "xe", "timeout", "0000:3d:00.0", "python", 2693, -1, "Timedout job: seqno=1523" },
	{ "5,1,2,-;xe 0000:3d:00.0: [drm] Timedout job: seqno=7, guc_id=2, flags=0x8", "xe",
	  "timeout", "0000:3d:00.0", NULL, 0, -1, "Timedout job: seqno=7" },
	{ "6,1,2,-;xe 0000:3d:00.0: [drm] Tile0: GT0: Engine reset: engine_class=ccs, logical_mask: 0x1, guc_id=9, state=0x29",
	  "xe", "engine_reset", "0000:3d:00.0", NULL, 0, -1, "Engine reset: engine_class=ccs" },
	{ "3,1,2,-;xe 0000:43:00.0: [drm] *ERROR* Tile0: GT0: Engine memory CAT error [18]: class=bcs, logical_mask: 0x2, guc_id=0",
	  "xe", "fault", "0000:43:00.0", NULL, 0, -1, "Engine memory CAT error [18]" },
	{ "3,1,2,-;xe 0000:03:00.0: [drm] *ERROR* CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\\x0aIOCTLs and executions are blocked.",
	  "xe", "wedged", "0000:03:00.0", NULL, 0, -1,
	  "CRITICAL: Xe has declared device 0000:03:00.0 as wedged.\nIOCTLs" },
	/* nouveau, and any driver. */
	{ "3,1,2,-;nouveau 0000:01:00.0: fifo: fault 00 [READ] at 0000000000022000 engine 00 [GR] client 00 [GPC0/L1_0] reason 02 [PTE] on channel 3 [00ff7d6000 Xorg[1234]]",
	  "nouveau", "fault", "0000:01:00.0", "Xorg", 1234, -1, "fifo: fault 00 [READ] at" },
	{ "3,1,2,-;nouveau 0000:01:00.0: fifo: SCHED_ERROR 0a [CTXSW_TIMEOUT]", "nouveau",
	  "timeout", "0000:01:00.0", NULL, 0, -1, "fifo: SCHED_ERROR 0a" },
	{ "3,1,2,-;nouveau 0000:01:00.0: gsp: Xid:13 Graphics Exception: ESR 0x505648=0x2",
	  "nouveau", "xid", "0000:01:00.0", NULL, 0, 13, "Graphics Exception: ESR" },
	{ "6,1,2,-;radeon 0000:01:00.0: [drm] device wedged, needs recovery", "radeon", "wedged",
	  "0000:01:00.0", NULL, 0, -1, "device wedged, needs recovery" },
	/* Fields that this program does not know, and a device that only a property names. */
	{ "3,99,1234567,-,caller=T123,new=1;[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, x\n SUBSYSTEM=pci\n DEVICE=+pci:0000:0c:00.0",
	  "amdgpu", "timeout", "0000:0c:00.0", NULL, 0, -1, "ring gfx timeout, x" },
	/* Bytes that are escaped: an escape sequence, a zero, a backslash. */
	{ "4,1,2,-;NVRM: Xid (PCI:0000:01:00): 43, pid=5, name=\\x1b[2J\\x00\\x5cx41, \\xc3\\xa4",
	  "nvidia", "xid", "0000:01:00.0", "\x1b[2J?\\x41", 5, 43,
	  "pid=5, name=\x1b[2J?\\x41, \xc3\xa4" },
};

static void are_alerts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(alerts) / sizeof(*alerts); i++) {
		size_t size = strlen(alerts[i].record);
		char *text = copy_of(alerts[i].record, size);
		struct gpumon_log_record record;
		struct gpumon_alert alert = { 0 };

		assert_int_equal(gpumon_log_record_parse(text, size, &record), 0);
		if (!gpumon_log_alert(&record, &alert))
			fail_msg("no alert: %s", alerts[i].record);
		assert_string_equal(alert.group, alerts[i].group);
		assert_string_equal(alert.kind, alerts[i].kind);
		assert_string_equal(alert.device ? alert.device : "-",
				    alerts[i].device ? alerts[i].device : "-");
		assert_string_equal(alert.process ? alert.process : "-",
				    alerts[i].process ? alerts[i].process : "-");
		assert_int_equal(alert.pid.known, alerts[i].pid != 0);
		assert_int_equal(alert.pid.v, alerts[i].pid);
		assert_int_equal(alert.code.known, alerts[i].code >= 0);
		assert_true(!alert.code.known || alert.code.v == (uint64_t)alerts[i].code);
		if (strncmp(alert.message, alerts[i].message, strlen(alerts[i].message)) != 0)
			fail_msg("message %s", alert.message);
		gpumon_fields_free(&gpumon_alert_fields, &alert);
		free(text);
	}
}

static const char *const others[] = {
	/* Of processes, whatever they write: facility 1 (user), 3 (daemon). */
	"12,1,2,-;NVRM: Xid (PCI:0000:01:00): 79, pid=1, name=x, GPU has fallen off the bus.",
	"28,1,2,-;amdgpu 0000:08:00.0: amdgpu: GPU reset(2) succeeded!",
	/* Within another line. */
	"4,1,2,-;comm NVRM: Xid (PCI:0000:01:00): 79, x",
	"4,1,2,-;NVRM: Xid (PCI:0000:01:00: 79, x",
	"4,1,2,-;NVRM: Xid (PCI:0000:01:00): x",
	"4,1,2,-;NVRM: Xid (PCI:0000:01:00): 7x",
	"4,1,2,-;NVRM: Xid (PCI:\\x1b[2J): 79, x",
	"4,1,2,-;NVRM: Xid (PCI:0000:01:00): 99999999999999999999999, x",
	"4,1,2,-;NVRM: GPU at PCI:0000:01:00: GPU-0898a861-78ae-cdaf-4f1a-68992223505a",
	"3,1,2,-;nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Severity 0 Engine instance 44 Sub-engine instance 00",
	"3,1,2,-;nvidia-nvswitch3: SXid (PCI:0000:04:00.0): 22013, Data {0x0000002b, 0x0000002b}",
	/* Lines of an event that another line tells. */
	"6,1,2,-;amdgpu 0000:08:00.0: amdgpu: GPU reset begin!",
	"6,1,2,-;amdgpu 0000:08:00.0: amdgpu: GPU reset succeeded, trying to resume",
	"6,1,2,-;amdgpu 0000:08:00.0: [drm] device wedged, but recovered through reset",
	"3,1,2,-;xe 0000:03:00.0: [drm] device wedged, needs recovery",
	"5,1,2,-;i915 0000:00:02.0: [drm] Xorg[1714] context reset due to GPU hang",
	/* Other ones. */
	"3,1,2,-;amdgpu 0000:0c:00.0: [drm:amdgpu_ring_test_helper [amdgpu]] *ERROR* ring kiq_2.1.0 test failed (-110)",
	"6,1,2,-;amdgpu 0000:c1:00.0: amdgpu: ring jpeg_dec_0 uses VM inv eng 4 on hub 8",
	"3,1,2,-;pcieport 0000:00:01.0: Resetting rcs0 for fun",
	"6,1,2,-;xe 0000:00:02.6: [drm] GT0: vcs1 fused off",
	"6,1,2,-;[drm] device wedged, needs recovery",
	"6,1,2,-;",
	"6,1,2,-;: : : [drm:",
	"6,1,2,-;[drm:x [",
};

static void are_none(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		size_t size = strlen(others[i]);
		char *text = copy_of(others[i], size);
		struct gpumon_log_record record;
		struct gpumon_alert alert = { 0 };

		assert_int_equal(gpumon_log_record_parse(text, size, &record), 0);
		if (gpumon_log_alert(&record, &alert))
			fail_msg("an alert: %s", others[i]);
		assert_null(alert.message);
		free(text);
	}
}

static void of_no_form(void **state)
{
	static const char *const records[] = {
		"",
		"6",
		"6,1,2",
		"6,1,2,",
		"6,1,2,-",
		"6,1;2,-;x",
		"x,1,2,-;x",
		"6,,2,-;x",
		"6,1,2,-\n;x",
		"6,99999999999999999999,2,-;x",
		"99999999999,1,2,-;x",
		"-6,1,2,-;x",
		" SUBSYSTEM=pci",
	};
	struct gpumon_log_record record;

	(void)state;
	for (size_t i = 0; i < sizeof(records) / sizeof(*records); i++) {
		size_t size = strlen(records[i]);
		char *text = copy_of(records[i], size);

		if (gpumon_log_record_parse(text, size, &record) != -EBADMSG)
			fail_msg("accepted: %s", records[i]);
		free(text);
	}
}

static void fields_of_a_record(void **state)
{
	static const char form[] = "30,18446744073709551615,1234567,-,caller=C1;a\\x0ab\\x5c\\x4\n"
				   " SUBSYSTEM=pci\n DEVICE=+pci:0000:01:00.0\n DRIVER=x";
	char *text = copy_of(form, strlen(form));
	struct gpumon_log_record record;

	(void)state;
	assert_int_equal(gpumon_log_record_parse(text, strlen(form), &record), 0);
	assert_int_equal(record.facility, 3);
	assert_int_equal(record.level, 6);
	assert_true(record.sequence == UINT64_MAX);
	assert_int_equal(record.time_us, 1234567);
	assert_string_equal(record.message, "a\nb\\\\x4");
	assert_string_equal(record.device, "0000:01:00.0");
	free(text);
}

/* Which line names the process of the alert before it. */
static void process_on_its_own_line(void **state)
{
	static const struct {
		const char *record, *process;
		uint64_t pid;
	} lines[] = {
		{ "3,2,3,-;[drm:amdgpu_job_timedout [amdgpu]] *ERROR* Process information: process cosmic-comp pid 3503 thread cosmic-com:cs0 pid 3539",
		  "cosmic-comp", 3503 },
		{ "3,2,3,-;amdgpu 0000:08:00.0: amdgpu:  Process Main pid 65975 thread vkd3d_queue pid 66181",
		  "Main", 65975 },
		{ "3,2,3,-;amdgpu 0000:08:00.0: amdgpu:  in process python3 pid 226 thread python3 pid 226",
		  "python3", 226 },
		{ "3,2,3,-;amdgpu 0000:09:00.0: amdgpu:  Process Main pid 65975 thread a pid 1",
		  NULL, 0 },
		{ "11,2,3,-;amdgpu 0000:08:00.0: amdgpu:  Process Main pid 65975 thread a pid 1",
		  NULL, 0 },
		{ "3,2,3,-;amdgpu 0000:08:00.0: amdgpu: Starting gfx_0.0.0 ring reset", NULL, 0 },
		{ "3,2,3,-;amdgpu 0000:08:00.0: amdgpu:  Process  pid 0 thread  pid 0", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char *text = copy_of(lines[i].record, strlen(lines[i].record));
		struct gpumon_alert alert = { .group = strdup("amdgpu"),
					      .kind = strdup("timeout"),
					      .device = strdup("0000:08:00.0") };
		struct gpumon_log_record record;

		assert_int_equal(gpumon_log_record_parse(text, strlen(lines[i].record), &record),
				 0);
		assert_int_equal(gpumon_log_alert_process(&record, &alert),
				 lines[i].process != NULL);
		assert_int_equal(alert.pid.v, lines[i].pid);
		if (lines[i].process)
			assert_string_equal(alert.process, lines[i].process);
		gpumon_fields_free(&gpumon_alert_fields, &alert);
		free(text);
	}
}

static void known_xids(void **state)
{
	struct gpumon_alert alert = { .kind = strdup("xid"),
				      .code = gpumon_value_of(79),
				      .message = strdup("pid=7, name=a b, gone") };

	(void)state;
	assert_string_equal(gpumon_xid_meaning(79), "GPU fell off the bus");
	assert_null(gpumon_xid_meaning(4711));
	/* As of the module, whose alerts have the message only. */
	gpumon_alert_complete(&alert);
	assert_string_equal(alert.meaning, "GPU fell off the bus");
	assert_string_equal(alert.process, "a b");
	assert_int_equal(alert.pid.v, 7);
	gpumon_fields_free(&gpumon_alert_fields, &alert);
}

static void processes_of_jobs(void **state)
{
	static const struct {
		const char *message, *process;
		uint64_t pid;
	} cases[] = {
		{ "gfx: job on the hardware for 5012 ms, in python3 [123]", "python3", 123 },
		{ "gfx: job in its queue for 1 ms, in a [1] ms, in b [123]", "a [1] ms, in b",
		  123 },
		{ "gfx: job in its queue for 1 ms, in - [123]", NULL, 123 },
		{ "gfx: job on the hardware for 5012 ms", NULL, 0 },
		{ "gfx [1]: the scheduler's timeout has come", NULL, 0 },
		{ "gfx: job on the hardware for 5012 ms, in python3 [12", NULL, 0 },
		{ "gfx: job on the hardware for 5012 ms, in [12]", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gpumon_alert alert = { .group = strdup("drm_sched"),
					      .kind = strdup("hang"),
					      .message = strdup(cases[i].message) };

		gpumon_alert_complete(&alert);
		if (cases[i].process)
			assert_string_equal(alert.process, cases[i].process);
		else
			assert_null(alert.process);
		assert_int_equal(alert.pid.known, cases[i].pid != 0);
		assert_int_equal(alert.pid.v, cases[i].pid);
		gpumon_fields_free(&gpumon_alert_fields, &alert);
	}
}

/* The event of the kernel's patch: drm_ras.yaml, "error-event". */
static void ras_message(struct message *message)
{
	message_begin(message, 6);
	message_string(message, 1, "0000:03:00.0");
	message_u32(message, 2, 1);
	message_string(message, 3, "uncorrectable-errors");
	message_u32(message, 4, 1);
	message_string(message, 5, "core-compute");
	message_u32(message, 6, 5);
}

static size_t alerts_of(const struct gpumon_model *model)
{
	return model->n_alerts;
}

static void events_of_ras(void **state)
{
	const struct message_kind kind = { ras_message, gpumon_parse_ras_event };
	struct gpumon_model model = { 0 };
	struct message message;

	(void)state;
	ras_message(&message);
	/* Its bytes, as netlink sends them on a little-endian machine. */
	if (*(const uint8_t *)&(uint16_t){ 1 }) {
		static const uint8_t bytes[] = {
			6,   1,	  0,   0,   0x11, 0, 1, 0, '0', '0', '0', '0', ':', '0', '3', ':',
			'0', '0', '.', '0', 0,	  0, 0, 0, 8,	0,   2,	  0,   1,   0,	 0,   0,
		};

		((struct genlmsghdr *)(void *)(message.data + NLMSG_HDRLEN))->version = 1;
		assert_memory_equal(message.data + NLMSG_HDRLEN, bytes, sizeof(bytes));
	}
	assert_int_equal(gpumon_parse_ras_event(message_header(&message), message.len, &model), 0);
	assert_int_equal(model.n_alerts, 1);
	assert_string_equal(model.alerts[0].source, GPUMON_ALERT_SOURCE_RAS);
	assert_string_equal(model.alerts[0].group, "drm_ras");
	assert_string_equal(model.alerts[0].kind, "uncorrectable-errors");
	assert_string_equal(model.alerts[0].device, "0000:03:00.0");
	assert_string_equal(model.alerts[0].message, "core-compute");
	assert_int_equal(model.alerts[0].code.v, 1);
	assert_int_equal(model.alerts[0].count.v, 5);
	message_free(&message);
	gpumon_model_free(&model);
	message_parse_cut(&kind, alerts_of);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(are_alerts),
		cmocka_unit_test(are_none),
		cmocka_unit_test(of_no_form),
		cmocka_unit_test(fields_of_a_record),
		cmocka_unit_test(process_on_its_own_line),
		cmocka_unit_test(known_xids),
		cmocka_unit_test(processes_of_jobs),
		cmocka_unit_test(events_of_ras),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
