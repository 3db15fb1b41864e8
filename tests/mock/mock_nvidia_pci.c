// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI devices without hardware. Each GPU has a root bus of its own, with the first bus numbers that
 * the machine leaves free, and a configuration space in memory. The kernel treats them like any
 * other PCI device, so programs that list the machine's GPUs find them.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "mock_nvidia_priv.h"

#ifndef CONFIG_X86
/* Without ACPI, only x86 reads what the sysdata of a bus points to. */
struct pci_sysdata {
	int node;
};
#endif

#define MOCK_VENDOR 0x10de
#define MOCK_DEVICE 0x2330

/**
 * struct mock_bus - a root bus with one device on it
 * @sysdata: the architecture's data of a bus; the bus points to it
 * @numbers: its only bus number
 * @bus: the bus
 * @gpu: GPU of the device
 * @config: its configuration space
 */
struct mock_bus {
	struct pci_sysdata sysdata;
	struct resource numbers;
	struct pci_bus *bus;
	struct mock_gpu *gpu;
	u8 config[PCI_CFG_SPACE_SIZE];
};

enum {
	HOLD_OFF,
	HOLD_LAST,
	HOLDING
};

static unsigned int hold_probe;
module_param(hold_probe, uint, 0600);
MODULE_PARM_DESC(hold_probe, "1: the last GPU is being bound, this is 2 then, until 0 (default 0)");

static struct mock_bus mock_buses[MOCK_GPUS_MAX];
static bool mock_driver_registered;

static struct mock_bus *to_mock_bus(struct pci_bus *bus)
{
	return container_of((struct pci_sysdata *)bus->sysdata, struct mock_bus, sysdata);
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	struct mock_bus *mock = to_mock_bus(bus);

	if (devfn) {
		*value = ~0;
		return PCIBIOS_DEVICE_NOT_FOUND;
	}
	*value = 0;
	if (where + size <= sizeof(mock->config))
		memcpy(value, mock->config + where, size);
	return PCIBIOS_SUCCESSFUL;
}

/* The device has no base addresses: their size reads as 0. */
static int config_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 value)
{
	struct mock_bus *mock = to_mock_bus(bus);

	if (devfn)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (where == PCI_COMMAND || where == PCI_INTERRUPT_LINE)
		memcpy(mock->config + where, &value, size);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops mock_bus_ops = {
	.read = config_read,
	.write = config_write,
};

static int nv_pci_probe(struct pci_dev *pci_dev, const struct pci_device_id *id)
{
	struct mock_gpu *gpu;
	int err;

	if (pci_dev->bus->ops != &mock_bus_ops)
		return -ENODEV;
	gpu = to_mock_bus(pci_dev->bus)->gpu;
	err = mock_irq_request(gpu);
	if (err)
		return err;
	gpu->nvl.dev = &pci_dev->dev;
	gpu->nvl.pci_dev = pci_dev;
	pci_set_drvdata(pci_dev, &gpu->nvl);
	/* The driver gives the number at the end. */
	gpu->nvl.minor_num = 0;
	if (gpu->index == mock_gpu_count - 1 && READ_ONCE(hold_probe) == HOLD_LAST) {
		WRITE_ONCE(hold_probe, HOLDING);
		while (READ_ONCE(hold_probe) == HOLDING)
			msleep(20);
	}
	gpu->nvl.minor_num = gpu->index;
	return 0;
}

static void nv_pci_remove(struct pci_dev *pci_dev)
{
	struct mock_gpu *gpu = to_mock_gpu(pci_get_drvdata(pci_dev));

	mock_irq_free(gpu);
	pci_set_drvdata(pci_dev, NULL);
	gpu->nvl.dev = NULL;
	gpu->nvl.pci_dev = NULL;
}

static const struct pci_device_id nv_pci_table[] = {
	{ PCI_DEVICE(MOCK_VENDOR, MOCK_DEVICE) },
	{},
};

static struct pci_driver nv_pci_driver = {
	.name = "nvidia",
	.id_table = nv_pci_table,
	.probe = nv_pci_probe,
	.remove = nv_pci_remove,
	.driver.pm = &nv_pm_ops,
};

static void put16(struct mock_bus *mock, unsigned int where, u16 value)
{
	memcpy(mock->config + where, &value, sizeof(value));
}

/* From 7.3 on, the kernel gives a domain back that it has not given here. */
static void free_bridge(struct pci_host_bridge *bridge)
{
	bridge->domain_nr = PCI_DOMAIN_NR_NOT_SET;
	pci_free_host_bridge(bridge);
}

static int add_bus(struct mock_bus *mock, struct mock_gpu *gpu, unsigned int number)
{
	struct pci_host_bridge *bridge = pci_alloc_host_bridge(0);
	int err;

	if (!bridge)
		return -ENOMEM;
	mock->gpu = gpu;
	mock->sysdata.node = NUMA_NO_NODE;
	mock->numbers = (struct resource)DEFINE_RES_NAMED(number, 1, "mock nvidia", IORESOURCE_BUS);
	put16(mock, PCI_VENDOR_ID, MOCK_VENDOR);
	put16(mock, PCI_DEVICE_ID, MOCK_DEVICE);
	put16(mock, PCI_SUBSYSTEM_VENDOR_ID, MOCK_VENDOR);
	put16(mock, PCI_CLASS_DEVICE, PCI_CLASS_DISPLAY_3D);

	pci_add_resource(&bridge->windows, &mock->numbers);
	bridge->sysdata = &mock->sysdata;
	bridge->ops = &mock_bus_ops;
	bridge->busnr = number;
	bridge->domain_nr = 0;
	pci_lock_rescan_remove();
	err = pci_scan_root_bus_bridge(bridge);
	if (!err) {
		mock->bus = bridge->bus;
		pci_bus_add_devices(mock->bus);
	}
	pci_unlock_rescan_remove();
	if (err) {
		free_bridge(bridge);
		return err;
	}
	return gpu->nvl.pci_dev ? 0 : -ENODEV;
}

static void remove_bus(struct mock_bus *mock)
{
	struct pci_host_bridge *bridge;

	if (!mock->bus)
		return;
	bridge = to_pci_host_bridge(mock->bus->bridge);
	pci_lock_rescan_remove();
	pci_stop_root_bus(mock->bus);
	pci_remove_root_bus(mock->bus);
	pci_unlock_rescan_remove();
	/* The reference of pci_alloc_host_bridge() is still held. */
	free_bridge(bridge);
	mock->bus = NULL;
}

/**
 * mock_pci_init() - create the devices and bind the driver to them
 *
 * Return: 0 or a negative error; call mock_pci_exit() in both cases.
 */
int mock_pci_init(void)
{
	unsigned int number = 1, i;
	int err;

	err = pci_register_driver(&nv_pci_driver);
	if (err)
		return err;
	mock_driver_registered = true;
	for (i = 0; i < mock_gpu_count; i++, number++) {
		while (number < 256 && pci_find_bus(0, number))
			number++;
		if (number > 255)
			return -EBUSY;
		err = add_bus(&mock_buses[i], mock_gpus[i], number);
		if (err)
			return err;
	}
	return 0;
}

/**
 * mock_pci_exit() - remove the devices and the driver
 */
void mock_pci_exit(void)
{
	unsigned int i;

	for (i = 0; i < mock_gpu_count; i++)
		remove_bus(&mock_buses[i]);
	if (mock_driver_registered)
		pci_unregister_driver(&nv_pci_driver);
	mock_driver_registered = false;
}
