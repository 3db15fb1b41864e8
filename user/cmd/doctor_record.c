// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#include "doctor.h"
#include "record/uprobe.h"

void gpumon_doctor_record(struct gpumon_doctor *doctor)
{
	struct gpumon_error err = { 0 };

	doctor->part = GPUMON_DOCTOR_RECORD;
	gpumon_doctor_cuda(doctor);
	if (!*doctor->root)
		gpumon_doctor_uprobes(doctor,
				      gpumon_uprobes_supported(doctor->root, &err) ? &err : NULL);
}
