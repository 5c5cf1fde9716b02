# SPDX-License-Identifier: Apache-2.0
"""A test with mounts of its own, over directories of the machine that other programs use meanwhile."""
import contextlib
import ctypes
import os
import subprocess

import tap

CLONE_NEWNS = 0x20000


def become_alone():
    """What is mounted below is seen by this process and its children only. Skips the whole test where it cannot be had."""
    if os.geteuid() != 0:
        tap.skip_all("takes root to make another user's files")
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0 or \
            subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode != 0:
        tap.skip_all("takes a mount namespace of its own")


@contextlib.contextmanager
def emptied(directory):
    """There is nothing in it but what is put there meanwhile; it belongs to root."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "none", str(directory)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)
