#!/usr/bin/env python3
"""Figures on a real control plane: how long until all pods are bound and running, pods per second, API calls per pod.
   bench.py [crowd] [one-node] [spread] [thousand] [alone]   default: crowd one-node spread"""
import concurrent.futures
import datetime
import statistics
import sys
import tempfile
import time

from cluster import Cluster, percentile, pod


def bound_at(p):
    for condition in p.status.conditions or []:
        if condition.type == "PodScheduled" and condition.status == "True":
            return condition.last_transition_time
    return None


def watch_bound(cluster, count, limit):
    """Times of binding as a client sees them, by polling a list: {name: seconds since start}."""
    start = time.monotonic()
    seen = {}
    while len(seen) < count and time.monotonic() - start < limit:
        now = time.monotonic()
        for p in cluster.core.list_namespaced_pod("default", resource_version="0").items:
            if p.spec.node_name and p.metadata.name not in seen:
                seen[p.metadata.name] = now
        time.sleep(0.02)
    return seen


def measure(title, nodes, pods, delay_ms, policy, flags=(), limit=180, mem=2000, cores=10, devices=8, creators=8):
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as folder:
        cluster = Cluster(folder)
        try:
            cluster.start(nodes=nodes, devices=devices, delay_ms=delay_ms, flags=[f"--node-scheduler-policy={policy}", *flags])
            created = {}

            def create(i):
                name = f"p-{i:05}"
                cluster.core.create_namespaced_pod("default", pod(name, gpu=1, mem=mem, cores=cores))
                created[name] = time.monotonic()

            with concurrent.futures.ThreadPoolExecutor(creators + 1) as pool:
                begin = time.monotonic()
                watcher = pool.submit(watch_bound, cluster, pods, limit)
                list(pool.map(create, range(pods)))
                creation = time.monotonic() - begin
                seen = watcher.result()
            latencies = [max(0.0, seen[n] - created[n]) for n in seen]
            total = max(seen.values()) - begin if seen else float("nan")
            errors = sum(1 for e in cluster.core.list_namespaced_event("default").items if e.reason in ("FailedScheduling", "BindingFailed"))
            print(f"{title}: {len(seen)}/{pods} bound in {total:.2f} s ({len(seen) / total:.1f} pods/s; creating them took {creation:.2f} s), "
                  f"p50 {statistics.median(latencies):.2f} s, p99 {percentile(latencies, 0.99):.2f} s, "
                  f"API calls per pod {cluster.calls_per_pod(max(1, len(seen))):.2f}, failure events {errors}", flush=True)
        finally:
            cluster.stop()


def main():
    wanted = sys.argv[1:] or ["crowd", "one-node", "spread"]
    print(f"# {datetime.date.today()}, real kube-apiserver and kube-scheduler on this machine", flush=True)
    if "crowd" in wanted:
        measure("60 pods crowding on one of 10 nodes, agents 20 ms", 10, 60, 20, "binpack")
    if "one-node" in wanted:
        measure("40 pods onto a cluster of one node, agents 50 ms", 1, 40, 50, "binpack")
    if "spread" in wanted:
        measure("500 pods over 100 nodes, agents 20 ms", 100, 500, 20, "spread")
    if "alone" in wanted:
        measure("100 pods, each alone on its node", 100, 100, 20, "spread")
    if "thousand" in wanted:
        measure("1,000 pods over 1,000 nodes, agents 20 ms", 1000, 1000, 20, "spread", ["--kube-qps=2000", "--kube-burst=4000"])


main()
