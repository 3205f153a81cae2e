#!/usr/bin/env python3
"""Checks that no tool of the compiler makes: includes point down, third-party headers stay with their owner, no vendor's name in
modules that must not know any, no foreign words. Prints every fault and exits 1 when there is one."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYER = {"base": 0, "obs": 1, "json": 1, "core": 1, "policies": 2, "k8s": 2, "http": 2, "vendors": 3, "client": 3,
         "service": 4, "label_priority": 4, "sim": 5, "setup": 5, "apps": 6}
# prefix of an include -> modules that may name it (tests may use any)
OWNERS = {"boost/asio": {"http"}, "boost/beast": {"http"}, "openssl/": {"http"}, "curl/": {"client"}, "zlib": {"http"}, "simdjson": {"json"},
          "yaml-cpp": {"vendors", "client", "setup", "apps"}, "CLI/": {"apps"}, "spdlog": {"obs"}, "prometheus": {"obs"}, "nlohmann": {"sim"},
          "benchmark/": set(), "gtest": set(), "gmock": set(), "rapidcheck": set()}
# headers that are vocabulary everywhere; anything else third-party must stay out of headers
VOCABULARY = ("tl/expected.hpp", "boost/unordered/", "fmt/")
# headers that only .cc files of their own module include
INTERNAL_HEADERS = {"src/json/document.h"}
NO_VENDOR = {"base", "obs", "json", "core", "policies", "k8s", "http", "client", "service", "setup", "label_priority"}
VENDOR_WORDS = re.compile(r"nvidia|ascend|huawei|cambricon|hygon|iluvatar|enflame|mthreads|metax|kunlun|awsneuron|vastai|biren|"
                          r"\bmlu\b|\bdcu\b|\bgcu\b|\bxpu\b|\bamd\b|\bvgpu-devices|\bgpumem", re.IGNORECASE)
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]', re.MULTILINE)


def tracked(*patterns):
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [line for line in out.stdout.splitlines() if (ROOT / line).exists()]


def check_file(name, faults):
    module = name.split("/")[1]
    text = (ROOT / name).read_text()
    is_test = name.endswith("_test.cc") or "_test_" in name
    if module not in LAYER:
        faults.append(f"{name}: unknown module {module}: add its layer to tools/check_tree.py")
        return
    for include in INCLUDE.findall(text):
        target = include.split("/")[0]
        if include == "regex":
            faults.append(f"{name}: includes <regex>, which g++ 12 takes for a use of uninitialised memory in the sanitizer builds")
        if target in LAYER and "/" in include and target != module and LAYER[target] >= LAYER[module]:
            faults.append(f"{name}: includes {include}: layer {LAYER[target]} from layer {LAYER[module]}")
        for prefix, owners in OWNERS.items():
            if not include.startswith(prefix):
                continue
            if module not in owners and not is_test:
                faults.append(f"{name}: includes {include}, which belongs to {sorted(owners) or 'tests'}")
            if name.endswith(".h") and not is_test and prefix in ("boost/asio", "boost/beast", "curl/", "simdjson", "yaml-cpp", "CLI/", "nlohmann") \
                    and name not in INTERNAL_HEADERS:
                faults.append(f"{name}: a header may not include {include}")
    if module in NO_VENDOR and not is_test:
        for number, line in enumerate(text.splitlines(), 1):
            if VENDOR_WORDS.search(line):
                faults.append(f"{name}:{number}: names a vendor: {line.strip()[:80]}")
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\s*rc::check\(", line):
            faults.append(f"{name}:{number}: the result of rc::check is dropped: the test cannot fail; wrap it in EXPECT_TRUE")
    lines = text.count("\n")
    if lines > 600:
        faults.append(f"{name}: {lines} lines; split it (aim for 400)")


def main():
    faults = []
    for name in tracked("src/*.cc", "src/*.h"):
        check_file(name, faults)
    if "pragma once" in "".join((ROOT / n).read_text() for n in tracked("src/*.cc")):
        faults.append("#pragma once in a .cc file")
    for name in tracked():
        path = ROOT / name
        if path.is_symlink() or path.suffix in {".gz", ".xz", ".png"}:
            continue
        text = path.read_text(errors="replace")
        for pattern, what in ((re.escape(f"{ROOT}/"), "the path of this checkout"),
                              (r"https?://([\w-]+\.)*(proxy|registry|mirror)s?\.\w", "the host of a package registry")):
            if re.search(pattern, text):
                faults.append(f"{name}: contains {what}")
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
