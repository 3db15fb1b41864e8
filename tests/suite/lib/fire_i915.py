# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""Objects and events of i915.ko, see fire.py."""
from fire_base import NULL, Base, Object, each

# PIN_MAPPABLE and PIN_GLOBAL, PIN_USER of the flags of binds and evictions.
MAPPABLE, GLOBAL, USER_VM = 1 << 3, 1 << 10, 1 << 11
# I915_ENGINE_CLASS_*
RENDER, COPY, VIDEO, VIDEO_ENHANCE, COMPUTE = range(5)

PAGE = 4096


class I915(Base):
    """i915.ko."""

    # --- objects

    def i915_device(self, name="0000:00:02.0", minor=0):
        """A struct drm_i915_private: the device."""
        device = self.new("i915", "struct drm_i915_private")
        self._drm(device, "drm.", name, minor)
        return device

    def i915_object(self, size=PAGE, device=None, count=1):
        """A struct drm_i915_gem_object."""
        gem = self.new("i915", "struct drm_i915_gem_object", count)
        gem.set("base.size", size)
        return gem if device is None else gem.set("base.dev", device.at("drm"))

    def i915_vm(self, device=None, ggtt=False, total=1 << 48):
        """A struct i915_address_space of a device; device=None makes one."""
        vm = self.new("i915", "struct i915_address_space", total=total, is_ggtt=int(ggtt))
        if device is None:
            device = self.i915_device()
            vm.own(device)
        return vm.set("i915", device)

    def i915_vma(self, obj=None, vm=None, size=PAGE, start=0x100000, count=1):
        """A struct i915_vma: an object, or each of an array of them, in an address space."""
        if isinstance(obj, Object):
            count = max(count, obj.count)
        vma = self.new("i915", "struct i915_vma", count)
        if obj is None:
            obj = self.i915_object(size=size)
            vma.own(obj)
        if vm is None:
            vm = self.i915_vm()
            vma.own(vm)
        vma.set("obj", each(obj)).set("vm", vm).set("size", size)
        return vma.set("node.start", start).set("node.size", size)

    def i915_engine(self, engine_class=RENDER, instance=0, name="rcs0", device=None):
        """A struct intel_engine_cs of a device; device=None makes one."""
        engine = self.new("i915", "struct intel_engine_cs", name=name, uabi_class=engine_class,
                          uabi_instance=instance, instance=instance)
        if device is None:
            device = self.i915_device()
            engine.own(device)
        gt = self.new("i915", "struct intel_gt", i915=device)
        engine.device = device
        return engine.set("i915", device).set("gt", gt).own(gt)

    def i915_request(self, engine=None, context=1, seqno=1, tail=0, count=1):
        """A struct i915_request; of an array, seqno grows."""
        request = self.new("i915", "struct i915_request", count, tail=tail)
        if engine is None:
            engine = self.i915_engine()
            request.own(engine)
        request.set("engine", engine).set("fence.context", context)
        if isinstance(engine, Object):
            # Events get to the device through the engine, or directly.
            request.maybe("i915", engine.device)
        return request.set("fence.seqno", lambda i: seqno + i)

    # --- events

    def _i915(self, name, *args, **how):
        return self.fire("i915", name, *args, **how)

    def i915_gem_object_create(self, obj=None, **obj_arguments):
        how = self._how(obj_arguments, obj is None)
        return self._i915("i915_gem_object_create",
                          self._given(obj, self.i915_object, obj_arguments), **how)

    def i915_gem_object_destroy(self, obj=None, **obj_arguments):
        how = self._how(obj_arguments)
        return self._i915("i915_gem_object_destroy",
                          self._given(obj, self.i915_object, obj_arguments), **how)

    def i915_vma_bind(self, vma=None, flags=0, **vma_arguments):
        how = self._how(vma_arguments)
        return self._i915("i915_vma_bind", self._given(vma, self.i915_vma, vma_arguments), flags,
                          **how)

    def i915_vma_unbind(self, vma=None, **vma_arguments):
        how = self._how(vma_arguments)
        return self._i915("i915_vma_unbind", self._given(vma, self.i915_vma, vma_arguments), **how)

    def i915_gem_shrink(self, device=None, target=PAGE, flags=0, **how):
        """An attempt to free that many bytes; the target, not the result."""
        return self._i915("i915_gem_shrink", self.i915_device() if device is None else device,
                          target, flags, **how)

    def i915_gem_evict(self, vm=None, size=PAGE, align=PAGE, flags=0, **how):
        return self._i915("i915_gem_evict", self.i915_vm() if vm is None else vm, size, align,
                          flags, **how)

    def i915_gem_object_pwrite(self, obj=NULL, offset=0, length=PAGE, **how):
        return self._i915("i915_gem_object_pwrite", obj, offset, length, **how)

    def i915_gem_object_pread(self, obj=NULL, offset=0, length=PAGE, **how):
        return self._i915("i915_gem_object_pread", obj, offset, length, **how)

    def i915_gem_object_fault(self, obj=NULL, index=0, gtt=True, write=False, **how):
        return self._i915("i915_gem_object_fault", obj, index, int(gtt), int(write), **how)

    def i915_request_add(self, request=None, **request_arguments):
        how = self._how(request_arguments, request is None)
        return self._i915("i915_request_add",
                          self._given(request, self.i915_request, request_arguments), **how)

    def i915_request_retire(self, request=None, **request_arguments):
        how = self._how(request_arguments)
        return self._i915("i915_request_retire",
                          self._given(request, self.i915_request, request_arguments), **how)
