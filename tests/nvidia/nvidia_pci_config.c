// SPDX-License-Identifier: GPL-2.0-only
/*
 * The configuration space of a function, in memory. A mask says which bits a write changes, which is
 * all that the kernel and the driver need of base addresses, interrupts and power states.
 */
#include <linux/string.h>

#include "nvidia_pci.h"

#define VENDOR	  0x10de
#define SUBSYSTEM 0x134f

/* Where the capabilities are, in this order. */
#define AT_PM	0x60
#define AT_MSI	0x68
#define AT_PCIE 0x78
#define AT_MSIX 0xc8

static void put(struct gpu_function *function, unsigned int where, unsigned int size, u32 value,
		u32 writable)
{
	memcpy(function->config + where, &value, size);
	memcpy(function->writable + where, &writable, size);
}

static void put_bar(struct gpu_function *function, unsigned int where, u32 base, u32 size, u32 type)
{
	put(function, where, 4, base | type, ~(size - 1));
	if (type & PCI_BASE_ADDRESS_MEM_TYPE_64)
		put(function, where + 4, 4, 0, ~0);
}

/* Adds a capability behind the last one, whose pointer to the next is at *link. */
static void link_capability(struct gpu_function *function, unsigned int *link, unsigned int where,
			    u8 id)
{
	function->config[*link] = where;
	function->config[where] = id;
	*link = where + PCI_CAP_LIST_NEXT;
}

/**
 * nvidia_pci_config_fill() - describe a GPU
 * @function: function
 * @chip: the kind of GPU
 * @base: address of its windows
 * @msi: it has MSI
 * @msix: it has MSI-X
 */
void nvidia_pci_config_fill(struct gpu_function *function, const struct chip *chip, u32 base,
			    bool msi, bool msix)
{
	const u32 prefetchable = PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH;
	unsigned int link = PCI_CAPABILITY_LIST;

	put(function, PCI_VENDOR_ID, 2, VENDOR, 0);
	put(function, PCI_DEVICE_ID, 2, chip->device, 0);
	put(function, PCI_COMMAND, 2, PCI_COMMAND_MEMORY,
	    PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
		    PCI_COMMAND_INTX_DISABLE);
	put(function, PCI_STATUS, 2, PCI_STATUS_CAP_LIST, 0);
	put(function, PCI_REVISION_ID, 1, 0xa1, 0);
	put(function, PCI_CLASS_DEVICE, 2, PCI_CLASS_DISPLAY_3D, 0);
	put(function, PCI_CACHE_LINE_SIZE, 1, 0, 0xff);
	put(function, PCI_SUBSYSTEM_VENDOR_ID, 2, VENDOR, 0);
	put(function, PCI_SUBSYSTEM_ID, 2, SUBSYSTEM, 0);
	put(function, PCI_INTERRUPT_LINE, 1, 5, 0xff);
	put(function, PCI_INTERRUPT_PIN, 1, 1, 0);

	put_bar(function, PCI_BASE_ADDRESS_0, base + BAR1_SIZE + BAR3_SIZE, BAR0_SIZE, 0);
	put_bar(function, PCI_BASE_ADDRESS_1, base, BAR1_SIZE, prefetchable);
	put_bar(function, PCI_BASE_ADDRESS_3, base + BAR1_SIZE, BAR3_SIZE, prefetchable);

	link_capability(function, &link, AT_PM, PCI_CAP_ID_PM);
	put(function, AT_PM + PCI_PM_PMC, 2, 3, 0);
	put(function, AT_PM + PCI_PM_CTRL, 2, PCI_PM_CTRL_NO_SOFT_RESET, PCI_PM_CTRL_STATE_MASK);

	if (msi) {
		link_capability(function, &link, AT_MSI, PCI_CAP_ID_MSI);
		put(function, AT_MSI + PCI_MSI_FLAGS, 2, PCI_MSI_FLAGS_64BIT,
		    PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);
		put(function, AT_MSI + PCI_MSI_ADDRESS_LO, 4, 0, ~3);
		put(function, AT_MSI + PCI_MSI_ADDRESS_HI, 4, 0, ~0);
		put(function, AT_MSI + PCI_MSI_DATA_64, 2, 0, 0xffff);
	}

	/* An endpoint of version 2, 16 lanes of 8 GT/s. */
	link_capability(function, &link, AT_PCIE, PCI_CAP_ID_EXP);
	put(function, AT_PCIE + PCI_EXP_FLAGS, 2, 2, 0);
	put(function, AT_PCIE + PCI_EXP_DEVCAP, 4, PCI_EXP_DEVCAP_RBER | 1, 0);
	put(function, AT_PCIE + PCI_EXP_DEVCTL, 2, 0, 0x7fff);
	put(function, AT_PCIE + PCI_EXP_LNKCAP, 4, 0x103, 0);
	put(function, AT_PCIE + PCI_EXP_LNKCTL, 2, 0, PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_CCC);
	put(function, AT_PCIE + PCI_EXP_LNKSTA, 2, 0x103, 0);
	put(function, AT_PCIE + PCI_EXP_LNKCAP2, 4, 0xe, 0);
	put(function, AT_PCIE + PCI_EXP_LNKCTL2, 2, 3, 0xf);

	if (msix) {
		link_capability(function, &link, AT_MSIX, PCI_CAP_ID_MSIX);
		put(function, AT_MSIX + PCI_MSIX_FLAGS, 2, MSIX_VECTORS - 1,
		    PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
		put(function, AT_MSIX + PCI_MSIX_TABLE, 4, MSIX_TABLE, 0);
		put(function, AT_MSIX + PCI_MSIX_PBA, 4, MSIX_PENDING, 0);
	}
}

static struct gpu_function *function_of(unsigned int devfn)
{
	unsigned int i = PCI_SLOT(devfn);

	return PCI_FUNC(devfn) || i >= nvidia_pci_count ? NULL : &nvidia_pci_functions[i];
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	struct gpu_function *function = function_of(devfn);

	/* All ones beyond the first 256 bytes: there is no extended space. */
	*value = ~0;
	if (!function)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where + size > sizeof(function->config))
		return PCIBIOS_SUCCESSFUL;
	*value = 0;
	memcpy(value, function->config + where, size);
	return PCIBIOS_SUCCESSFUL;
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 value)
{
	struct gpu_function *function = function_of(devfn);
	int i;

	if (!function)
		return PCIBIOS_DEVICE_NOT_FOUND;
	for (i = 0; i < size && where + i < sizeof(function->config); i++, value >>= 8) {
		u8 mask = function->writable[where + i];

		function->config[where + i] &= ~mask;
		function->config[where + i] |= value & mask;
	}
	return PCIBIOS_SUCCESSFUL;
}

struct pci_ops nvidia_pci_ops = {
	.read = config_read,
	.write = config_write,
};
