// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI functions without hardware, for the real nvidia.ko: it stays loaded as long as it has bound to
 * one. Their windows are memory that the kernel was told not to use (memmap=). Opening a GPU fails,
 * since that needs its firmware; everything before works.
 */
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/module.h>

#include "nvidia_pci.h"

#ifndef CONFIG_X86
#error "what a root bus needs differs by architecture; here it is made for x86"
#endif

#define DOMAIN 1
#define BUS    0x40

static const struct chip chips[] = {
	{ "GA100", 0x20b0, 0x170000a1, 0x170a1000 },
	/* An open of this one lasts for 8 s and ends with Xid 143. */
	{ "GH100", 0x2330, 0x180000a1, 0x180a1000 },
};

static unsigned int functions = 1;
module_param(functions, uint, 0444);
MODULE_PARM_DESC(functions, "GPUs, 1 to 8 (1)");

static char *chip = "GA100";
module_param(chip, charp, 0444);
MODULE_PARM_DESC(chip, "GA100 or GH100 (GA100)");

static char *interrupts = "msi";
module_param(interrupts, charp, 0444);
MODULE_PARM_DESC(interrupts, "msi, msix, both or intx (msi)");

static ulong base = 0x50000000;
module_param(base, ulong, 0444);
MODULE_PARM_DESC(
	base, "address of memory that the kernel does not use, 128 MiB for each GPU (0x50000000)");

struct gpu_function nvidia_pci_functions[FUNCTIONS_MAX];
unsigned int nvidia_pci_count;

static struct resource window = {
	.name = "nvidia_pci",
	.flags = IORESOURCE_MEM,
};
static struct resource numbers = {
	.name = "nvidia_pci",
	.start = BUS,
	.end = BUS,
	.flags = IORESOURCE_BUS,
};
static struct pci_sysdata sysdata = {
	.domain = DOMAIN,
	.node = NUMA_NO_NODE,
};
static struct pci_bus *bus;

static const struct chip *find_chip(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(chips); i++)
		if (!strcmp(chip, chips[i].name))
			return &chips[i];
	return NULL;
}

/* The registers are zero but for these; memory after a boot may hold anything. */
static int fill_registers(struct gpu_function *function, const struct chip *of, u32 at)
{
	function->registers = ioremap(at + BAR1_SIZE + BAR3_SIZE, BAR0_SIZE);
	if (!function->registers)
		return -ENOMEM;
	memset_io(function->registers, 0, PAGE_SIZE);
	memset_io(function->registers + MSIX_TABLE, 0, PAGE_SIZE);
	memset_io(function->registers + MSIX_PENDING, 0, PAGE_SIZE);
	writel(of->boot0, function->registers);
	writel(of->boot42, function->registers + 0xa00);
	return 0;
}

static int add_bus(void)
{
	LIST_HEAD(resources);
	unsigned int i;

	pci_add_resource(&resources, &window);
	pci_add_resource(&resources, &numbers);
	pci_lock_rescan_remove();
	bus = pci_create_root_bus(NULL, BUS, &nvidia_pci_ops, &sysdata, &resources);
	if (!bus) {
		pci_unlock_rescan_remove();
		pci_free_resource_list(&resources);
		return -ENODEV;
	}
	pci_scan_child_bus(bus);
	/* Not pci_assign: x86 assigns nothing within memory that it was told not to use. */
	pci_bus_claim_resources(bus);
	for (i = 0; i < nvidia_pci_count; i++)
		nvidia_pci_functions[i].dev = pci_get_slot(bus, PCI_DEVFN(i, 0));
	pci_bus_add_devices(bus);
	pci_unlock_rescan_remove();
	return 0;
}

static void remove_bus(void)
{
	struct pci_host_bridge *bridge;
	unsigned int i;

	if (!bus)
		return;
	for (i = 0; i < nvidia_pci_count; i++)
		pci_dev_put(nvidia_pci_functions[i].dev);
	bridge = to_pci_host_bridge(bus->bridge);
	pci_lock_rescan_remove();
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
	pci_unlock_rescan_remove();
	/* The reference that pci_create_root_bus() took itself is still held. */
	pci_free_host_bridge(bridge);
	bus = NULL;
}

static void tear_down(void)
{
	unsigned int i;

	remove_bus();
	for (i = 0; i < nvidia_pci_count; i++)
		if (nvidia_pci_functions[i].registers)
			iounmap(nvidia_pci_functions[i].registers);
	if (window.parent)
		remove_resource(&window);
}

static int __init nvidia_pci_init(void)
{
	const struct chip *of = find_chip();
	bool both = !strcmp(interrupts, "both");
	bool msi = both || !strcmp(interrupts, "msi");
	bool msix = both || !strcmp(interrupts, "msix");
	unsigned int i;
	int err;

	if (!of || !functions || functions > FUNCTIONS_MAX ||
	    (!msi && !msix && strcmp(interrupts, "intx")))
		return -EINVAL;
	nvidia_pci_count = functions;
	window.start = base;
	window.end = base + functions * FUNCTION_STRIDE - 1;
	err = insert_resource(&iomem_resource, &window);
	if (err)
		return err;
	for (i = 0; i < functions && !err; i++) {
		u32 at = base + i * FUNCTION_STRIDE;

		nvidia_pci_config_fill(&nvidia_pci_functions[i], of, at, msi, msix);
		err = fill_registers(&nvidia_pci_functions[i], of, at);
	}
	if (!err)
		err = add_bus();
	if (err) {
		tear_down();
		return err;
	}
	nvidia_pci_control_init();
	return 0;
}

static void __exit nvidia_pci_exit(void)
{
	nvidia_pci_control_exit();
	tear_down();
}

module_init(nvidia_pci_init);
module_exit(nvidia_pci_exit);

MODULE_DESCRIPTION("PCI functions that NVIDIA's driver takes for GPUs, for gpumon's tests");
MODULE_AUTHOR("The gpumon authors");
MODULE_LICENSE("GPL");
