"""Row "crowd-floor": pods that fit only on one node, all bound at once, so that each waits for the lock of the one before. The floor is what
nobody can save: of each pod our two calls, and from the answer of its Binding until its agent has removed the lock. What is above it is
ours: from a removal to the next lock, and from a lock to its Binding. All times are the API server's own, out of its audit log."""
import signal
import statistics
import tempfile
import time

import bench_audit
import bench_report
import bench_stuck
from bench_create import create_pods
from cluster import Cluster, percentile, pod, wait_for


def turns(calls):
    """[(lock, Binding, removal)] in their order; they cannot overlap, because each pod waits for the one before."""
    locks = [c for c in bench_audit.writes_of_binds(calls, "tessera/") if (c.verb, c.resource) == ("patch", "nodes")]
    bound = sorted((found[0] for found in bench_audit.bindings(calls).values()), key=lambda c: c.received)
    removals = [c for c in calls if c.agent.startswith("agents/") and (c.verb, c.resource, c.code) == ("patch", "nodes", 200)]
    wrong = [c for c in locks if c.code != 200]
    assert not wrong, f"{len(wrong)} locks were refused, e.g. {wrong[0]}"
    assert len(locks) == len(bound), f"{len(locks)} locks for {len(bound)} Bindings"
    found = []
    for i, (lock, binding) in enumerate(zip(sorted(locks, key=lambda c: c.received), bound)):
        until = locks[i + 1].received if i + 1 < len(locks) else float("inf")
        # agents that report a handshake write the node too: the removal is the last before the next lock
        mine = [c for c in removals if binding.received < c.answered and c.received < until]
        assert mine, f"nobody removed the lock of {binding.name}"
        found.append((lock, binding, mine[-1]))
    return found


def figures_of(found):
    floor = sum((lock.answered - lock.received) + (binding.answered - binding.received) + (removal.answered - binding.answered)
                for lock, binding, removal in found)
    total = found[-1][2].answered - found[0][0].received
    next_lock = [1000 * (after[0].received - before[2].answered) for before, after in zip(found, found[1:])]
    to_binding = [1000 * (binding.received - lock.answered) for lock, binding, _ in found]
    served = [1000 * (removal.answered - binding.answered) for _, binding, removal in found]
    return {"seconds": total, "floor_seconds": floor, "ratio": total / floor,
            "removal_to_lock_p50_ms": statistics.median(next_lock), "removal_to_lock_p99_ms": percentile(next_lock, 0.99),
            "lock_to_binding_p50_ms": statistics.median(to_binding), "lock_to_binding_p99_ms": percentile(to_binding, 0.99),
            "agent_p50_ms": statistics.median(served)}


def run(pods=100, delay_ms=20, limit=240):
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as folder:
        cluster = Cluster(folder)
        try:
            cluster.start(nodes=1, devices=pods // 10, delay_ms=delay_ms, flags=["--node-scheduler-policy=binpack"])
            cluster.wait_for_scheduler()
            log = cluster.folder / "audit.log"
            scheduler = cluster.processes["kube-scheduler"]
            scheduler.send_signal(signal.SIGSTOP)
            create_pods(cluster, pods, lambda name: pod(name, gpu=1, mem=2000, cores=10))
            time.sleep(1)
            offset = log.stat().st_size
            scheduler.send_signal(signal.SIGCONT)
            if bench_audit.wait_until_bound(cluster, pods, limit, offset):
                wait_for("the last lock is removed", lambda: not cluster.locks(), 60)
            row = judge(cluster, pods, bench_audit.calls_of(log, offset)[0])
        finally:
            cluster.stop()
    return bench_report.show("crowd-floor", f"{pods} pods that fit on one node only, agents {delay_ms} ms, pods created beforehand", [row])


def judge(cluster, pods, calls):
    bindings = bench_audit.bindings(calls)
    if len(bindings) < pods or cluster.locks():
        bench_stuck.explain(cluster)
        raise SystemExit("not all pods were bound and served in time")
    assert all(len(found) == 1 for found in bindings.values()), "a pod was bound twice"
    failed = [f"{e.reason}: {e.message}" for e in cluster.core.list_namespaced_event("default").items
              if e.reason in ("FailedScheduling", "BindingFailed")]
    assert not failed, f"{len(failed)} binds failed, e.g. {failed[0]}"
    row = bench_report.Row("one node", {**figures_of(turns(calls)), "api_calls_per_pod": len(bench_audit.writes_of_binds(calls, "tessera/")) / pods})
    row.at_most("ratio", 1.5, 1.1).at_most("api_calls_per_pod", 2)
    row.checked, row.check = pods, "bound exactly once, no bind failed, agents saw nothing broken"
    wrong, _ = cluster.violations()
    assert not wrong, f"agents saw it broken: {wrong[:5]}"
    return row
