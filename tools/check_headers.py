#!/usr/bin/env python3
"""Compiles every header alone: a header that needs another one before it is broken."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def compile_alone(header):
    command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-DBOOST_ASIO_SEPARATE_COMPILATION", "-I", str(ROOT / "src"),
               "-include", str(header), "-x", "c++", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True)
    return header, done.returncode, done.stderr


def main():
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, code, text in pool.map(compile_alone, sorted((ROOT / "src").glob("*/*.h"))):
            if code != 0:
                bad += 1
                print(f"{header.relative_to(ROOT)} does not compile alone:\n{text}")
    return 1 if bad else 0


sys.exit(main())
