#!/usr/bin/python3
"""Writes the golden cases of the data plane from scapy: `make.py` anew, `make.py --check` compares with what is there.

Needs python3-scapy. A case is a folder in `cases`: `config.json` is the box and, under `shows`, what the case shows;
`in-PORT.pcap` is what comes in, the time of a frame being the box's clock, frames of one time on one port a burst;
`out-PORT.pcap` is what must come out, octet for octet and at that time; `counters.json` is all that must be counted.
What is counted as punted must reach control unchanged."""

import filecmp
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from box import *  # noqa: E402,F403
import cases_access  # noqa: E402,F401
import cases_answers  # noqa: E402,F401
import cases_errors  # noqa: E402,F401
import cases_ip  # noqa: E402,F401
import cases_tcp  # noqa: E402,F401

HERE = os.path.dirname(os.path.abspath(__file__))


def differences(left, right):
    """The files in which two folders differ."""
    compared = filecmp.dircmp(left, right)
    found = [os.path.join(left, name) for name in compared.left_only + compared.diff_files + compared.funny_files]
    found += [os.path.join(right, name) for name in compared.right_only]
    for name in compared.common_dirs:
        found += differences(os.path.join(left, name), os.path.join(right, name))
    return found


def main():
    committed = os.path.join(HERE, "cases")
    if sys.argv[1:] == ["--check"]:
        with tempfile.TemporaryDirectory() as folder:
            made = os.path.join(folder, "cases")
            write_all(made)
            found = differences(committed, made)
            for path in found:
                print("differs from what make.py makes:", path)
            sys.exit(1 if found else 0)
    if sys.argv[1:]:
        sys.exit(__doc__)
    write_all(committed)
    print(len(Case.all), "cases")


main()
