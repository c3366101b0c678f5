#!/usr/bin/python3 -IS
"""Run one compiler command and append what it cost to the compile record.

    record_compile.py COMPILER ARGUMENT...

Stands before the compiler: alone, or behind ccache as its prefix command, so that only real
compilations are recorded. A row of build/compile_record.tsv is: source, user CPU seconds, peak
memory in MB. FB_COMPILE_RECORD names the file; without it nothing is recorded.
"""
import os
import resource
import sys


def source_of(arguments):
    """The source file of a compile command, or None when it only preprocesses or links."""
    if "-c" not in arguments or "-E" in arguments:
        return None
    for a in arguments:
        if a.endswith((".cpp", ".cc", ".cu", ".hxx")) and not a.startswith("-"):
            return os.path.abspath(a)
    return None


def main():
    pid = os.fork()
    if pid == 0:
        try:
            os.execvp(sys.argv[1], sys.argv[1:])
        except OSError as error:
            sys.stderr.write(f"{sys.argv[1]}: {error}\n")
            os._exit(127)
    _, status = os.waitpid(pid, 0)
    record, source = os.environ.get("FB_COMPILE_RECORD"), source_of(sys.argv[2:])
    if record and source and status == 0:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        row = f"{source}\t{used.ru_utime:.2f}\t{used.ru_maxrss / 1024:.0f}\n"
        # One short write to a file opened for appending is atomic: parallel compilers may share it.
        with open(record, "ab", buffering=0) as f:
            f.write(row.encode())
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1


if __name__ == "__main__":
    sys.exit(main())
