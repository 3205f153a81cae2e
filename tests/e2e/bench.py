#!/usr/bin/env python3
"""Figures on a real control plane: how long until all pods are bound, pods per second, API calls per pod.
   bench.py [crowd] [one-node] [spread] [alone] [thousand] [thousand-plain] [thousand-scored] [scored]
            [burst] [ratio] [crowd-floor]      default: crowd one-node spread
All times are the API server's own, out of its audit log: from the creation of a pod to the end of its Binding. Nothing polls the API
meanwhile. `thousand` creates the pods while kube-scheduler stands still and counts from its first step; `thousand-plain` is the same with
pods that ask for no device, which kube-scheduler binds alone: the floor of the machine; `thousand-scored` is the same in scored mode.
`scored` is two bursts of 1,000 pods in scored mode
onto just enough room: one place on each of 1,000 nodes, and 8 on each of 125. `burst` is case 190. `ratio` (bench_ratio.py) compares with an
extender that decides nothing, `crowd-floor` (bench_crowd.py) with the time that agents and our two calls take. A run that does not end
in time prints what is stuck and keeps its logs."""
import datetime
import signal
import statistics
import sys
import tempfile
import time

import bench_audit
import bench_crowd
import bench_ratio
import bench_stuck
from bench_create import create_pods
from cluster import Cluster, percentile, pod


def report(title, cluster, begin, pods):
    calls, _ = bench_audit.calls_of(cluster.folder / "audit.log")
    created = bench_audit.created(calls)
    bound = bench_audit.bound_at(cluster, calls, pods)
    if not bound:
        sys.exit("no pod was bound")
    latencies = [bound[n] - created[n] for n in bound if n in created]
    total = max(bound.values()) - begin
    failures = [e for e in cluster.core.list_namespaced_event("default").items if e.reason in ("FailedScheduling", "BindingFailed")]
    errors = len(failures)
    print(f"{title}: {len(bound)}/{pods} bound in {total:.2f} s ({len(bound) / total:.1f} pods/s), created to bound p50 "
          f"{statistics.median(latencies):.2f} s p99 {percentile(latencies, 0.99):.2f} s worst {max(latencies):.2f} s, API calls per pod "
          f"{cluster.calls_per_pod(max(1, len(bound))):.2f}, failure events {errors}", flush=True)
    if failures:
        print(f"  the first failure: {failures[0].reason}: {failures[0].message[:300]}", flush=True)
    if len(bound) < pods:
        sys.exit(f"{pods - len(bound)} pods were not bound")
    wrong, _ = cluster.violations()
    if wrong:
        sys.exit(f"agents saw it broken: {wrong[:5]}")


def report_scored(cluster, pods):
    refused = cluster.metric("tessera_bind_refused_full_total")
    print(f"   binds refused for want of room {refused:.0f} ({100 * refused / pods:.1f} %), moved "
          f"{cluster.metric('tessera_bind_moved_total'):.0f}", flush=True)
    if refused >= 0.02 * pods:
        sys.exit("too many binds were refused")


def measure(title, nodes, pods, delay_ms, policy, flags=(), limit=180, hold=False, body=None, scored=False, serve=True):
    body = body or (lambda name: pod(name, gpu=1, mem=2000, cores=10))
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as folder:
        cluster = Cluster(folder)
        try:
            cluster.start(nodes=nodes, devices=8, delay_ms=delay_ms, flags=[f"--node-scheduler-policy={policy}", *flags],
                          scored=scored)
            time.sleep(2)
            scheduler = cluster.processes["kube-scheduler"]
            if not serve:
                cluster.processes["agents"].send_signal(signal.SIGSTOP)
            if hold:
                scheduler.send_signal(signal.SIGSTOP)
            begin = time.time()
            create_pods(cluster, pods, body)
            if hold:
                time.sleep(2)
                begin = time.time()
                scheduler.send_signal(signal.SIGCONT)
            if not bench_audit.wait_until_bound(cluster, pods, limit):
                bench_stuck.explain(cluster)
            time.sleep(0.5)
            cluster.processes["agents"].send_signal(signal.SIGCONT)
            report(title, cluster, begin, pods)
            if scored:
                report_scored(cluster, pods)
        finally:
            cluster.stop()


def main():
    wanted = sys.argv[1:] or ["crowd", "one-node", "spread"]
    print(f"# {datetime.date.today()}, real kube-apiserver and kube-scheduler on this machine", flush=True)
    fast = ["--kube-qps=2000", "--kube-burst=4000"]
    if "crowd" in wanted:
        measure("60 pods crowding on one of 10 nodes, agents 20 ms", 10, 60, 20, "binpack")
    if "one-node" in wanted:
        measure("40 pods onto a cluster of one node, agents 50 ms", 1, 40, 50, "binpack")
    if "spread" in wanted:
        measure("500 pods over 100 nodes, agents 20 ms", 100, 500, 20, "spread")
    if "alone" in wanted:
        measure("100 pods, each alone on its node, agents 20 ms", 100, 100, 20, "spread")
    if "burst" in wanted:  # case 190
        measure("1,000 pods of a tenth of a card on 100 x 8 cards, agents 20 ms", 100, 1000, 20, "binpack",
                body=lambda name: pod(name, gpu=1, mem=8192, cores=10))
    if "thousand" in wanted:
        measure("1,000 pods over 1,000 nodes, agents 20 ms", 1000, 1000, 20, "spread", fast, hold=True)
    if "thousand-plain" in wanted:
        measure("1,000 pods without devices over 1,000 nodes (kube-scheduler alone)", 1000, 1000, 20, "spread", fast, hold=True,
                body=lambda name: pod(name, scheduler="hami-scheduler"))
    if "thousand-scored" in wanted:
        measure("scored: 1,000 pods over 1,000 nodes, agents 20 ms", 1000, 1000, 20, "spread", fast, hold=True, scored=True)
        for scored in (False, True):  # each pod fills its node, so that nobody waits for an agent that does not answer
            measure(f"{'scored' if scored else 'single'}: 1,000 pods over 1,000 nodes, one place each, no agents, no events of ours", 1000, 1000, 20,
                    "spread", [*fast, "--events=false"], hold=True, scored=scored, serve=False, body=lambda name: pod(name, gpu=8, mem=60000))
    if "scored" in wanted:
        measure("scored: 1,000 pods over 1,000 nodes, one place each, agents 20 ms", 1000, 1000, 20, "spread", fast, hold=True, scored=True,
                body=lambda name: pod(name, gpu=8, mem=60000))
        measure("scored: 1,000 pods onto 125 nodes, 8 places each, agents 20 ms", 125, 1000, 20, "binpack", fast, hold=True, scored=True,
                body=lambda name: pod(name, gpu=1, mem=60000))
    missed = [name for name, row in (("ratio", bench_ratio.run), ("crowd-floor", bench_crowd.run)) if name in wanted and not row()]
    if missed:
        sys.exit(f"targets were missed: {missed}")


if __name__ == "__main__":
    main()
