// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#version 450

layout(local_size_x = 64) in;
layout(binding = 0) buffer Data { uint data[]; };
layout(constant_id = 0) const uint summand = 1013904223u;
layout(push_constant) uniform Work { uint rounds; };

void main()
{
	uint value = data[gl_GlobalInvocationID.x] + gl_GlobalInvocationID.x;

	for (uint i = 0; i < rounds; i++)
		value = value * 1664525u + summand;
	data[gl_GlobalInvocationID.x] = value;
}
