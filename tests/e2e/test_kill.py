"""kill -9 of tessera at each step of a bind, against a real control plane: a proxy on either side of it stops the request or the answer,
so that the kill lands exactly there. TESSERA_LONG=1: 50 times each."""
import os
import re
import signal
import time

import pytest
import yaml
from cluster import RESOURCES, SCHEDULER_NAME, BIN, free_port, pod, usage_by_device, wait_for
from proxy import Proxy

TIMES = 50 if os.environ.get("TESSERA_LONG") == "1" else 2
PODS = 3  # per round: the one that is hit, and others that must go on
MEMORY = 20000
LOCK_TIMEOUT = 15


def takes_lock(method, path, body):
    return method == "PATCH" and re.fullmatch(r"/api/v1/nodes/[^/?]+", path) and b'"hami.io/mutex.lock":"' in body


def binds(method, path, _):
    return method == "POST" and path.endswith("/binding")


def asks_to_bind(method, path, _):
    return method == "POST" and path == "/bind"


STEPS = {  # where the exchange is stopped: which proxy, before it is sent on or after the answer has come
    "before lock": ("api", "before", takes_lock),
    "after lock": ("api", "after", takes_lock),
    "after Binding": ("api", "after", binds),
    "before answer": ("extender", "after", asks_to_bind),
}


class Pair:
    """tessera between two proxies: one towards the API server, one towards kube-scheduler."""

    def __init__(self, cluster):
        self.cluster = cluster
        admin = yaml.safe_load(cluster.kubeconfig.read_text())
        self.api = Proxy("127.0.0.1", cluster.api_port, ca=cluster.folder / "certs" / "apiserver.crt",
                         token=admin["users"][0]["user"]["token"])
        admin["clusters"][0]["cluster"] = {"server": self.api.url}
        admin["users"][0]["user"] = {}
        self.kubeconfig = cluster.folder / "kubeconfig-proxy"
        self.kubeconfig.write_text(yaml.safe_dump(admin))
        cluster.port = free_port()
        cluster.make_certificate()
        cluster.metrics_port = free_port()
        cluster.tessera_kubeconfig = self.kubeconfig
        self.start()
        self.extender = Proxy("127.0.0.1", cluster.port, ca=cluster.folder / "ca.crt")
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                  "leaderElection": {"leaderElect": False}, "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 2,
                  "clientConnection": {"kubeconfig": str(cluster.kubeconfig), "qps": 2000, "burst": 4000},
                  "percentageOfNodesToScore": 100, "profiles": [{"schedulerName": SCHEDULER_NAME}],
                  "extenders": [{"urlPrefix": self.extender.url, "filterVerb": "filter", "bindVerb": "bind", "nodeCacheCapable": True,
                                 "weight": 1, "httpTimeout": "30s",
                                 "managedResources": [{"name": n, "ignoredByScheduler": True} for n in RESOURCES]}]}
        (cluster.folder / "kube-scheduler.yaml").write_text(yaml.safe_dump(config))
        cluster.run("kube-scheduler", BIN / "kube-scheduler", f"--config={cluster.folder / 'kube-scheduler.yaml'}",
                    f"--secure-port={free_port()}", f"--cert-dir={cluster.folder / 'scheduler-certs'}")

    def start(self):
        self.cluster.start_tessera("--node-scheduler-policy=binpack", f"--node-lock-timeout={LOCK_TIMEOUT}s")

    def close(self):
        self.api.close()
        self.extender.close()


def check_bounds(cluster):
    for where, (sharers, memory, cores) in usage_by_device(cluster.pods()).items():
        assert sharers <= 10 and memory <= 81920 and cores <= 100, f"{where} is over its limits: {sharers} {memory} {cores}"


def one_round(cluster, pair, step, number):
    proxy, point, match = STEPS[step]
    hold = getattr(pair, proxy).hold(point, match)
    names = [f"{step.replace(' ', '-').lower()}-{number}-{i}" for i in range(PODS)]
    for name in names:
        cluster.core.create_namespaced_pod("default", pod(name, gpu=1, mem=MEMORY, cores=10, scheduler=SCHEDULER_NAME))
    assert hold.reached.wait(60), f"no bind came to the step {step!r}"
    cluster.end("tessera", signal.SIGKILL)
    hold.drop()
    pair.start()
    wait_for(f"all run after a kill {step} ({number})",
             lambda: all(cluster.core.read_namespaced_pod(n, "default").status.phase == "Running" for n in names), 90, 0.2)
    check_bounds(cluster)
    wait_for("no lock is left", lambda: not cluster.locks(), LOCK_TIMEOUT + 10)
    getattr(pair, proxy).holds.remove(hold)
    for name in names:
        cluster.core.delete_namespaced_pod(name, "default", grace_period_seconds=0)
    return names


@pytest.mark.parametrize("step", list(STEPS))
def test_kill_9(cluster, step):
    cluster.start_api_server()
    cluster.start_agents(2, 2)
    pair = Pair(cluster)
    try:
        begun, names = time.monotonic(), []
        for number in range(TIMES):
            names += one_round(cluster, pair, step, number)
        bindings = [c[2] for c in cluster.calls_of_tessera() if c[1] == "pods/binding" and c[3] == 201]
        assert sorted(bindings) == sorted(names), "every pod is bound once"
        violations, served = cluster.violations()
        assert violations == []
        assert served == len(names)
        print(f"kill -9 {step}: {TIMES} times, {len(names)} pods, {time.monotonic() - begun:.0f} s")
    finally:
        pair.close()


def test_sigterm_under_load(cluster):
    """A stop refuses new work, finishes what it has begun and leaves no lock of its own; the next process goes on."""
    cluster.start_api_server()
    cluster.start_agents(3, 4)
    pair = Pair(cluster)
    try:
        names = [f"load-{i:02}" for i in range(45)]
        for name in names:
            cluster.core.create_namespaced_pod("default", pod(name, gpu=1, mem=4000, cores=5, scheduler=SCHEDULER_NAME))
        wait_for("some are bound", lambda: sum(1 for p in cluster.pods() if p.spec.node_name) >= 8, 60)
        process, begun = cluster.processes.pop("tessera"), time.monotonic()
        process.send_signal(signal.SIGTERM)
        assert process.wait(12) == 0
        print(f"stopped after {time.monotonic() - begun:.1f} s")
        bound = {p.metadata.name: p.spec.node_name for p in cluster.pods()}
        wait_for("agents release the locks of bound pods, no other is left", lambda: not cluster.locks(), 10)
        pair.start()
        wait_for("all run", lambda: all(p.status.phase == "Running" for p in cluster.pods()), 120, 0.5)
        check_bounds(cluster)
        assert all(p.spec.node_name == (bound[p.metadata.name] or p.spec.node_name) for p in cluster.pods())
        bindings = [c[2] for c in cluster.calls_of_tessera() if c[1] == "pods/binding" and c[3] == 201]
        assert sorted(bindings) == names, "every pod is bound once"
        assert cluster.violations() == ([], len(names))
    finally:
        pair.close()
