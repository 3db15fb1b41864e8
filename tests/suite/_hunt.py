#!/usr/bin/python3
import os,sys
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
import lab
for i in range(25):
    lab.load(devices=2, rings=3, hw_limit=4, service_ns=100000, distribution="exponential", timeout_ms=400)
    lab.submit("-d", "all", "-r", "all", "-n", 90, "-p", 3, "-t", 2, "-b", 3, "-w")
    lab.check_counts()
    lab.rmmod("gpumon", "mock_gpu", "gpu_sched")
    lab.step(str(i))
