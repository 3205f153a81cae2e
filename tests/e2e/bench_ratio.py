"""Row "ratio": pods per second of kube-scheduler with tessera over kube-scheduler with an extender that decides nothing and writes the same
(bench/idle_extender.cc), and over kube-scheduler alone with pods that ask for no device. One API server for all rounds, a round after the
other in changing order, every round with new pods, a new kube-scheduler and a new extender; pods are created beforehand. No webhook, no
agents, no events of ours, all nodes are looked at. Each pod must be bound exactly once, and each alone on its node, by the API server's
own record."""
import concurrent.futures
import statistics
import signal
import tempfile
import time

import bench_audit
import bench_report
import bench_stuck
from bench_create import create_pods
from cluster import Cluster, percentile, pod, wait_for

IDLE, OURS, ALONE = "idle extender", "tessera", "kube-scheduler alone"
PROCESS = {IDLE: "idle", OURS: "tessera"}
AGENT = {IDLE: "idle/", OURS: "tessera/", ALONE: "kube-scheduler/"}
ORDERS = ((IDLE, OURS, ALONE), (OURS, IDLE, ALONE), (ALONE, IDLE, OURS), (ALONE, OURS, IDLE))


class Rounds:
    def __init__(self, cluster, pods):
        self.cluster, self.pods, self.number = cluster, pods, 0
        self.log = cluster.folder / "audit.log"

    def start_extender(self, kind):
        """Returns its port."""
        if kind == IDLE:
            return self.cluster.start_idle_extender()
        if kind == OURS:
            self.cluster.start_tessera("--node-scheduler-policy=spread", "--kube-qps=2000", "--kube-burst=4000", "--events=false")
            wait_for("tessera knows the nodes", lambda: self.cluster.device_rows() >= self.pods, 60)
            return self.cluster.port
        return None

    def body(self, kind, name):
        if kind == ALONE:
            return pod(name, scheduler="hami-scheduler")
        return pod(name, gpu=1, mem=2000, cores=10, scheduler="hami-scheduler")

    def play(self, kind):
        """One round; its figures."""
        self.number += 1
        cluster = self.cluster
        port = self.start_extender(kind)
        cluster.start_scheduler(port=port, alone=kind == ALONE)
        cluster.wait_for_scheduler()
        scheduler = cluster.processes["kube-scheduler"]
        scheduler.send_signal(signal.SIGSTOP)
        names = create_pods(cluster, self.pods, lambda name: self.body(kind, name), f"p-{self.number:02}")
        time.sleep(1)
        offset = self.log.stat().st_size
        before, begin = cluster.cpu_seconds(), time.time()
        scheduler.send_signal(signal.SIGCONT)
        if not bench_audit.wait_until_bound(cluster, self.pods, 240, offset):
            bench_stuck.explain(cluster)
            raise SystemExit("not all pods were bound in time")
        after = cluster.cpu_seconds()
        calls, _ = bench_audit.calls_of(self.log, offset)
        figures = self.judge(kind, names, calls, begin)
        for name, key in ((PROCESS.get(kind), "server_cpu_s"), ("kube-scheduler", "scheduler_cpu_s"), ("apiserver", "api_server_cpu_s")):
            figures[key] = after[name] - before[name] if name else 0.0
        cluster.end("kube-scheduler")
        if kind in PROCESS:
            cluster.end(PROCESS[kind])
        self.clean_up()
        return figures

    def judge(self, kind, names, calls, begin):
        bindings = bench_audit.bindings(calls)
        assert set(bindings) == set(names), f"{len(set(names) - set(bindings))} pods without a Binding"
        assert all(len(found) == 1 for found in bindings.values()), "a pod was bound twice"
        nodes = {p.metadata.name: p.spec.node_name for p in self.cluster.pods()}
        assert set(nodes) == set(names) and all(nodes.values()), "not every pod is on a node"
        if kind != ALONE:
            assert len(set(nodes.values())) == len(names), f"{len(set(nodes.values()))} nodes for {len(names)} pods"
            wrong = [c for c in bench_audit.writes_of_binds(calls, AGENT[kind]) if c.code >= 400]
            assert not wrong, f"{len(wrong)} calls failed, e.g. {wrong[0]}"
        ends = sorted(found[0].answered for found in bindings.values())
        latencies = [1000 * (t - begin) for t in ends]
        written = bench_audit.writes_of_binds(calls, AGENT[kind])
        if kind == ALONE:  # it also writes the conditions of pods, and events
            written = [c for c in written if c.resource == "pods/binding"]
        return {"per_second": len(names) / (ends[-1] - begin), "seconds": ends[-1] - begin, "p50_ms": statistics.median(latencies),
                "p99_ms": percentile(latencies, 0.99), "api_calls_per_pod": len(written) / len(names)}

    def clean_up(self):
        cluster = self.cluster
        cluster.core.delete_collection_namespaced_pod("default", grace_period_seconds=0)
        wait_for("the pods are gone", lambda: not cluster.pods(), 60, 0.3)
        unlock = {"metadata": {"annotations": {"hami.io/mutex.lock": None}}}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda node: cluster.core.patch_node(node, unlock), cluster.locks()))


def settle(cluster, nodes):
    """Nodes that are registered, by agents that have ended then, and whose handshakes are asked for: nothing is left to write but binds."""
    cluster.start_agents(nodes, 8)
    cluster.end("agents")
    asked = {"metadata": {"annotations": {"hami.io/node-handshake": time.strftime("Requesting_%Y-%m-%d %H:%M:%S", time.gmtime())}}}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: cluster.core.patch_node(n.metadata.name, asked), cluster.core.list_node().items))


def median_row(kind, figures):
    row = bench_report.Row(kind, {key: statistics.median(f[key] for f in figures) for key in figures[0]})
    row.figures["worst_per_second"] = min(f["per_second"] for f in figures)
    row.figures["best_per_second"] = max(f["per_second"] for f in figures)
    return row


def cpu(row):
    return sum(row.figures[key] for key in ("server_cpu_s", "scheduler_cpu_s", "api_server_cpu_s"))


def run(pods=1000, rounds=3):
    played = {kind: [] for kind in (IDLE, OURS, ALONE)}
    with tempfile.TemporaryDirectory(prefix="tessera-bench-") as folder:
        cluster = Cluster(folder)
        try:
            cluster.start_api_server()
            settle(cluster, pods)
            game = Rounds(cluster, pods)
            game.play(ALONE)  # warms the API server up, not counted
            for number in range(rounds):
                for kind in ORDERS[number % len(ORDERS)]:
                    played[kind].append(game.play(kind))
                    print(f"# round {number + 1}, {kind}: " + ", ".join(f"{k} {v:.4g}" for k, v in played[kind][-1].items()), flush=True)
        finally:
            cluster.stop()
    rows = []
    for kind, figures in played.items():
        row = median_row(kind, figures)
        row.checked, row.check = pods * len(figures), "bound exactly once" + ("" if kind == ALONE else ", each alone on its node, no call failed")
        rows.append(row)
    ours = [f["per_second"] for f in played[OURS]]
    for kind, row in ((IDLE, rows[1]), (ALONE, rows[1])):
        pairs = [a / f["per_second"] for a, f in zip(ours, played[kind])]
        row.figures["ratio" if kind == IDLE else "ratio_to_alone"] = statistics.median(pairs)
    # Of a machine that is full the same ratio, without the luck of who was scheduled when.
    rows[1].figures["cpu_ratio"] = cpu(rows[0]) / cpu(rows[1])
    rows[1].at_least("ratio", 0.9, 1.0).at_most("api_calls_per_pod", 2)
    return bench_report.show("ratio", f"{pods} pods over {pods} nodes by spread, {rounds} rounds of each in turns, medians; no webhook, no agents, no "
                             "events of ours, pods created beforehand", rows)
