/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI functions that NVIDIA's real driver takes for GPUs. Shared by the files of nvidia_pci.ko. */
#ifndef NVIDIA_PCI_H
#define NVIDIA_PCI_H

#include <linux/pci.h>
#include <linux/types.h>

#define FUNCTIONS_MAX 8

/* The windows of a function, one after the other. */
#define BAR1_SIZE	0x4000000
#define BAR3_SIZE	0x2000000
#define BAR0_SIZE	0x1000000
#define FUNCTION_STRIDE 0x8000000

/* MSI-X: the vectors, and where BAR0 has their table and what is pending. */
#define MSIX_VECTORS 6
#define MSIX_TABLE   0xb90000
#define MSIX_PENDING 0xba0000

/**
 * struct chip - a kind of GPU
 * @name: what a person types
 * @device: PCI device number
 * @boot0: register PMC_BOOT_0
 * @boot42: register PMC_BOOT_42
 *
 * The driver reads these two registers of a GPU while it binds to it.
 */
struct chip {
	const char *name;
	u16 device;
	u32 boot0, boot42;
};

/**
 * struct gpu_function - a PCI function
 * @config: its configuration space
 * @writable: bits of @config that a write changes
 * @registers: its BAR0
 * @dev: the device, while it is there
 */
struct gpu_function {
	u8 config[PCI_CFG_SPACE_SIZE];
	u8 writable[PCI_CFG_SPACE_SIZE];
	void __iomem *registers;
	struct pci_dev *dev;
};

extern struct gpu_function nvidia_pci_functions[FUNCTIONS_MAX];
extern unsigned int nvidia_pci_count;
extern struct pci_ops nvidia_pci_ops;

/* nvidia_pci_config.c */
void nvidia_pci_config_fill(struct gpu_function *function, const struct chip *chip, u32 base,
			    bool msi, bool msix);

/* nvidia_pci_control.c */
void nvidia_pci_control_init(void);
void nvidia_pci_control_exit(void);

#endif /* NVIDIA_PCI_H */
