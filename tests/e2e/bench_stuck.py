"""A run that did not end in time explains itself: what the pods wait for, what was refused in whose words, which calls were made and how
they ended, how the server saw it, and where its log stands. The folder is kept."""
import collections
import json
import os
import re
import shutil
import tempfile

from bench_audit import calls_of

_LOG_LINES = 15


def kind_of(text):
    """Messages that differ in names and numbers only are one kind."""
    return re.sub(r"[a-z]+-[a-z0-9-]*\d[a-z0-9-]*|\d+(\.\d+)?|[0-9a-f-]{36}", "#", text)


def counted(pairs, most=12):
    """[(count, key, one example)] of (key, example), the most frequent first."""
    counts, examples = collections.Counter(), {}
    for key, example in pairs:
        counts[key] += 1
        examples.setdefault(key, example)
    return [(count, key, examples[key]) for key, count in counts.most_common(most)]


def section(title, rows):
    print(f"  {title}:", flush=True)
    for row in rows or ["none"]:
        print(f"    {row}", flush=True)


def guarded(title, rows):
    """What cannot be told must not hide the rest."""
    try:
        section(title, rows())
    except Exception as error:
        section(title, [f"cannot be told: {error!r}"])


def pods(cluster):
    def state(p):
        conditions = [f"{c.type}={c.status} {c.reason or ''}" for c in p.status.conditions or [] if c.type == "PodScheduled"]
        return ("bound" if p.spec.node_name else "not bound") + f", {p.status.phase}, {' '.join(conditions) or 'no condition'}"
    return [f"{count} {key}, e.g. {example}" for count, key, example in counted((state(p), p.metadata.name) for p in cluster.pods())]


def events(cluster):
    found = cluster.core.list_namespaced_event("default").items
    rows = [(f"{e.type} {e.reason}: {kind_of(e.message or '')[:160]}", f"{e.involved_object.name}: {(e.message or '')[:300]}")
            for e in found if e.type != "Normal"]
    return [f"{count} {key}\n      e.g. {example}" for count, key, example in counted(rows)]


def calls(cluster):
    found, _ = calls_of(cluster.folder / "audit.log")
    rows = collections.defaultdict(list)
    for c in found:
        if c.agent.startswith("kube-apiserver"):
            continue  # its own start
        kind = "handshake " if "fieldManager=tessera-handshake" in c.uri else ""
        rows[f"{c.agent} {kind}{c.verb} {c.resource} {c.code}"].append(c.answered - c.received)
    return [f"{len(times)} {key}, {1000 * sum(times) / len(times):.1f} ms on average, longest {1000 * max(times):.0f} ms"
            for key, times in sorted(rows.items(), key=lambda r: -len(r[1]))[:20]]


def metrics(cluster):
    return [line for line in cluster.get("/metrics", body=True).splitlines()
            if line.startswith("tessera_") and not line.endswith(" 0") and "_bucket{" not in line and 'node="' not in line]


def locks(cluster):
    held = sorted(cluster.locks().items())
    return [f"{len(held)} held"] + [f"{node}: {value}" for node, value in held[:5]]


def warnings(cluster):
    rows = []
    for line in cluster.log("tessera").splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if entry.get("level") in ("warn", "error"):
            rows.append((kind_of(entry["msg"] + ": " + str(entry.get("problem", "")))[:160], line[:400]))
    return [f"{count} {key}\n      e.g. {example}" for count, key, example in counted(rows)]


def explain(cluster):
    print(f"  NOT IN TIME; load {os.getloadavg()}", flush=True)
    guarded("pods", lambda: pods(cluster))
    guarded("warnings among the events", lambda: events(cluster))
    guarded("calls that the API server answered", lambda: calls(cluster))
    guarded("node locks", lambda: locks(cluster))
    guarded("metrics of the server", lambda: metrics(cluster))
    guarded("what the server's log warns of", lambda: warnings(cluster))
    for name in ("tessera", "kube-scheduler", "apiserver"):
        guarded(f"end of {name}.log", lambda name=name: [line[:300] for line in cluster.log(name).splitlines()[-_LOG_LINES:]])
    kept = tempfile.mkdtemp(prefix="tessera-stuck-")
    for log in cluster.folder.glob("*.log"):
        shutil.copy(log, kept)
    print(f"  all logs are kept in {kept}", flush=True)
