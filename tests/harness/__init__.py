"""Harnesses that the tests and the soaks share; they are not part of the installed package.

Programs that run as processes of their own, killed writers, simulated disks that fail or lose
power, races of two processes, hostile values, and models that a store is compared with.
"""
