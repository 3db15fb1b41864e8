// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
#version 450

layout(location = 0) out vec3 color;

void main()
{
	vec2 at = vec2(gl_VertexIndex == 1 ? 0.9 : -0.9, gl_VertexIndex == 2 ? 0.9 : -0.9);

	color = vec3(at * 0.5 + 0.5, float(gl_VertexIndex) * 0.5);
	gl_Position = vec4(at, 0.0, 1.0);
}
