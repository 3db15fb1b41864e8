# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Objects and events of amdgpu.ko, see fire.py."""
from fire_base import FENCE_OPS, NULL, Base, Object, each

# AMDGPU_GEM_DOMAIN_*
CPU, GTT, VRAM, GDS, GWS, OA, DOORBELL = 1, 2, 4, 8, 0x10, 0x20, 0x40
# AMDGPU_GEM_CREATE_*
CPU_ACCESS_REQUIRED, NO_CPU_ACCESS, VRAM_CLEARED = 1, 2, 8
# TTM_PL_*
PL_SYSTEM, PL_TT, PL_VRAM, PL_NONE = 0, 1, 2, 0xffffffff
PLACEMENT = {CPU: PL_SYSTEM, GTT: PL_TT, VRAM: PL_VRAM}

PAGE = 4096
KIND = "struct amdgpu_"


class Amdgpu(Base):
    """amdgpu.ko."""

    # --- objects

    def amdgpu_bo(self, size=PAGE, domain=VRAM, allowed=None, flags=0, placement=None,
                  resource=None, count=1):
        """A struct amdgpu_bo; with resource its TTM resource is that instead."""
        bo = self.new("amdgpu", KIND + "bo", count)
        if resource is None:
            if placement is None:
                placement = PLACEMENT.get(domain, PL_SYSTEM)
            resource = self.new("amdgpu", "struct ttm_resource", mem_type=placement)
            resource.maybe("num_pages", size // PAGE).maybe("size", size)
            bo.own(resource)
        bo.set("tbo.base.size", size).set("tbo.resource", resource)
        bo.set("preferred_domains", domain).set("flags", flags)
        return bo.set("allowed_domains", domain if allowed is None else allowed)

    def amdgpu_device(self, name="0000:03:00.0", minor=0):
        device = self.new("amdgpu", KIND + "device")
        self._drm(device, "ddev.", name, minor)
        return device.set("dev", "@" + device.owned[0].name)

    def amdgpu_ring(self, name="gfx_0.0.0", device=None, idx=0, hub=0, ring_type=0):
        """A ring with its scheduler, of a device; device=None makes one."""
        ring = self.new("amdgpu", KIND + "ring", name=name, idx=idx)
        if device is None:
            device = self.amdgpu_device()
            ring.own(device)
        functions = self.new("amdgpu", KIND + "ring_funcs", type=ring_type)
        # In one of the two, depending on the kernel.
        functions.maybe("vmhub", hub)
        ring.maybe("vm_hub", hub)
        ring.set("adev", device).set("funcs", functions).own(functions)
        ring.set("sched.name", ring.at("name"))
        if isinstance(device, Object):
            ring.set("sched.dev", "@" + device.owned[0].name)
        return ring.maybe("sched.ready", 1)

    def amdgpu_job(self, ring=None, context=1, seqno=1, num_ibs=1, job_id=0, vmid=0, pasid=0,
                   client_id=0, count=1, fence=None, sched=None):
        """A job that was pushed, with its entity and fence; of an array, seqno and id grow."""
        job = self.new("amdgpu", KIND + "job", count, num_ibs=num_ibs, vmid=vmid, pasid=pasid)
        if ring is None:
            ring = self.amdgpu_ring()
            job.own(ring)
        scheduler = ring.at("sched") if isinstance(ring, Object) else ring
        if fence is None:
            fence = self.new("amdgpu", "struct drm_sched_fence", count,
                             **{"finished.context": context,
                                "finished.seqno": lambda i: seqno + i,
                                "finished.ops": FENCE_OPS, "sched": scheduler})
            fence.maybe("drm_client_id", client_id)
            job.own(fence)
        queue = self.new("amdgpu", "struct drm_sched_rq", sched=scheduler)
        entity = self.new("amdgpu", "struct drm_sched_entity", rq=queue, fence_context=context)
        job.own(entity, queue)
        job.set("base.sched", scheduler if sched is None else sched).set("base.entity", entity)
        job.set("base.s_fence", each(fence))
        return job.maybe("base.id", lambda i: job_id + i)

    def amdgpu_iv_entry(self, client_id=0, src_id=0, ring_id=0, vmid=0, pasid=0, timestamp=0,
                        src_data=(0, 0, 0, 0), node_id=0):
        entry = self.new("amdgpu", KIND + "iv_entry", client_id=client_id, src_id=src_id,
                         ring_id=ring_id, vmid=vmid, pasid=pasid, timestamp=timestamp)
        for i, value in enumerate(src_data):
            entry.set("src_data[%d]" % i, value)
        return entry.maybe("node_id", node_id)

    def amdgpu_bo_va(self, bo=None):
        """Where a buffer is mapped; bo=NULL: a mapping without one."""
        bo_va = self.new("amdgpu", KIND + "bo_va")
        if bo is None:
            bo = self.amdgpu_bo()
            bo_va.own(bo)
        return bo_va.set("base.bo", bo)

    def amdgpu_mapping(self, size=PAGE, start=0x100000, offset=0, flags=0):
        """A mapping of that many bytes, stored in GPU pages like the driver's own."""
        first = start // PAGE
        return self.new("amdgpu", KIND + "bo_va_mapping", start=first,
                        last=first + size // PAGE - 1, offset=offset, flags=flags)

    # --- events

    def _amdgpu(self, name, *args, **how):
        return self.fire("amdgpu", name, *args, **how)

    def amdgpu_bo_create(self, bo=None, **bo_arguments):
        how = self._how(bo_arguments, bo is None)
        return self._amdgpu("amdgpu_bo_create", self._given(bo, self.amdgpu_bo, bo_arguments),
                            **how)

    def amdgpu_bo_move(self, bo=None, to=PL_VRAM, from_=PL_TT, **bo_arguments):
        """A move; with to=PL_NONE the end of the buffer."""
        how = self._how(bo_arguments)
        return self._amdgpu("amdgpu_bo_move", self._given(bo, self.amdgpu_bo, bo_arguments), to,
                            from_, **how)

    def amdgpu_cs_ioctl(self, job=None, **job_arguments):
        how = self._how(job_arguments, job is None)
        return self._amdgpu("amdgpu_cs_ioctl", self._given(job, self.amdgpu_job, job_arguments),
                            **how)

    def amdgpu_sched_run_job(self, job=None, **job_arguments):
        how = self._how(job_arguments, job is None)
        return self._amdgpu("amdgpu_sched_run_job",
                            self._given(job, self.amdgpu_job, job_arguments), **how)

    def amdgpu_cs(self, job=None, dw=16, bo_list=NULL, parser=None, ib=None, **job_arguments):
        how = self._how(job_arguments)
        job = self._given(job, self.amdgpu_job, job_arguments)
        if parser is None:
            parser = self.new("amdgpu", KIND + "cs_parser", bo_list=bo_list)
        if ib is None:
            ib = self.new("amdgpu", KIND + "ib", length_dw=dw)
        return self._amdgpu("amdgpu_cs", parser, job, ib, **how)

    def amdgpu_iv(self, entry=None, ih=0, **entry_arguments):
        how = self._how(entry_arguments)
        return self._amdgpu("amdgpu_iv", ih,
                            self._given(entry, self.amdgpu_iv_entry, entry_arguments), **how)

    def amdgpu_vm_flush(self, ring=None, vmid=0, pd_addr=0, **ring_arguments):
        how = self._how(ring_arguments)
        return self._amdgpu("amdgpu_vm_flush", self._given(ring, self.amdgpu_ring, ring_arguments),
                            vmid, pd_addr, **how)

    def _mapped(self, name, bo_va, mapping, arguments):
        how = self._how(arguments)
        mapping = self._given(mapping, self.amdgpu_mapping, arguments)
        return self._amdgpu(name, self.amdgpu_bo_va() if bo_va is None else bo_va, mapping, **how)

    def amdgpu_vm_bo_map(self, bo_va=None, mapping=None, **mapping_arguments):
        return self._mapped("amdgpu_vm_bo_map", bo_va, mapping, mapping_arguments)

    def amdgpu_vm_bo_unmap(self, bo_va=None, mapping=None, **mapping_arguments):
        return self._mapped("amdgpu_vm_bo_unmap", bo_va, mapping, mapping_arguments)

    def amdgpu_ib_pipe_sync(self, job=None, fence=None, **job_arguments):
        how = self._how(job_arguments)
        job = self._given(job, self.amdgpu_job, job_arguments)
        return self._amdgpu("amdgpu_ib_pipe_sync", job, self.fence() if fence is None else fence,
                            **how)

    def amdgpu_device_rreg(self, did=0x7300, reg=0, value=0, **how):
        return self._amdgpu("amdgpu_device_rreg", did, reg, value, **how)

    def amdgpu_device_wreg(self, did=0x7300, reg=0, value=0, **how):
        return self._amdgpu("amdgpu_device_wreg", did, reg, value, **how)

    def amdgpu_reset_reg_dumps(self, address=0, value=0, **how):
        return self._amdgpu("amdgpu_reset_reg_dumps", address, value, **how)
