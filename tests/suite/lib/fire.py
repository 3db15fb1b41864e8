# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Events of GPU drivers that have no GPU here: made-up objects, real tracepoints.

    fire.load_drivers("amdgpu", "i915")
    f = fire.Fire()
    f.amdgpu_bo_create(size=4096, domain=fire.VRAM, times=10)
    obj = f.i915_object(size=1 << 20, count=100)
    f.i915_gem_object_create(obj, times=100)
    f.i915_gem_object_destroy(obj, times=100)
    f.amdgpu_bo_create(fire.POISON)
    f.account()
    f.close()

A method named after a tracepoint fires it. Its first arguments are those of
the tracepoint; an object that is not given is made from what else is said. The
methods without a verb make objects. Where a member is, and whether there is
one, is asked of BTF: what a kernel does not have is left out.

An object of count > 1 is an array: the calls of a `times` go through it, one
element each, and round again. Buffers, objects and jobs that an event makes for
itself are as many as its calls, up to 1000. All objects live until they are
freed or all is closed, so that no address comes twice. Options of every event:

    times=1      calls
    ms=None      go on for so long instead
    cpu=None     in a kernel thread on that processor, "all": on each
    irq=False    from hard interrupt
"""
# Names that tests use as fire.NAME. pylint: disable=unused-import
from fire_amdgpu import (CPU, CPU_ACCESS_REQUIRED, DOORBELL, GDS, GTT, GWS, NO_CPU_ACCESS, OA,
                         PL_NONE, PL_SYSTEM, PL_TT, PL_VRAM, VRAM, VRAM_CLEARED, Amdgpu)
from fire_base import (BAD, NULL, POISON, UNMAPPED, USER, Base, Fired, FireError, Object, Step,
                       drivers, load_drivers, refused, unload_drivers)
from fire_i915 import (COMPUTE, COPY, GLOBAL, I915, MAPPABLE, RENDER, USER_VM, VIDEO,
                       VIDEO_ENHANCE)


class Drm(Base):
    """drm.ko."""

    def drm_vblank_event(self, crtc=0, seq=0, time=0, high_prec=True, **how):
        return self.fire("drm", "drm_vblank_event", crtc, seq, time, int(high_prec), **how)

    def drm_vblank_event_queued(self, file=NULL, crtc=0, seq=0, **how):
        return self.fire("drm", "drm_vblank_event_queued", file, crtc, seq, **how)

    def drm_vblank_event_delivered(self, file=NULL, crtc=0, seq=0, **how):
        return self.fire("drm", "drm_vblank_event_delivered", file, crtc, seq, **how)


class Fire(Amdgpu, I915, Drm):
    """All events."""
