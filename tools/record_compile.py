#!/usr/bin/python3 -IS
"""Run one compiler command and append what it cost to the compile record.

    record_compile.py COMPILER ARGUMENT...

Stands before the compiler: alone, or behind ccache as its prefix command, so that only real
compilations are recorded. A row of the record is: source (relative to this checkout where it lies
within), a hash of its text, user CPU seconds, peak memory in MB. FB_COMPILE_RECORD names the file;
without it nothing is recorded.
"""
import hashlib
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


def row(source, used):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    with open(source, "rb") as f:
        text = hashlib.sha256(f.read()).hexdigest()[:12]
    name = os.path.relpath(source, root) if source.startswith(root + os.sep) else source
    return f"{name}\t{text}\t{used.ru_utime:.2f}\t{used.ru_maxrss / 1024:.0f}\n"


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
        # One short write to a file opened for appending is atomic: parallel compilers may share it.
        with open(record, "ab", buffering=0) as f:
            f.write(row(source, resource.getrusage(resource.RUSAGE_CHILDREN)).encode())
    return os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1


if __name__ == "__main__":
    sys.exit(main())
