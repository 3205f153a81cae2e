"""Two tessera and two kube-schedulers, as two replicas of the scheduler's pod: leader election by the real kube-scheduler, the leader
killed or stopped under load. Decision D10, cases 154 and 158."""
import os
import signal
import socket
import threading
import time
import urllib.request

import yaml
from cluster import BIN, RESOURCES, SCHEDULER_NAME, TESSERA, free_port, pod, usage_by_device, wait_for
from proxy import Proxy

LEASE = "hami-scheduler"
HOST = socket.gethostname().encode()


def as_host(name):
    """Both kube-schedulers run on one machine and would give their Lease the same host name: the proxy in front of the API server gives
    each another one, in what it writes and back again in what it reads."""
    ours, shown = b'"holderIdentity":"' + HOST + b"_", b'"holderIdentity":"' + name.encode() + b"_"

    def change(direction, path, body):
        lease = "/leases" in path
        if direction == "applies":
            return lease
        if not lease:
            return body
        return body.replace(ours, shown) if direction == "request" else body.replace(shown, ours)

    return change


class Replica:
    """One tessera and the kube-scheduler beside it."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        folder = cluster.folder
        admin = yaml.safe_load(cluster.kubeconfig.read_text())
        self.api = Proxy("127.0.0.1", cluster.api_port, ca=folder / "certs" / "apiserver.crt",
                         token=admin["users"][0]["user"]["token"], change=as_host(name))
        admin["clusters"][0]["cluster"] = {"server": self.api.url}
        admin["users"][0]["user"] = {}
        kubeconfig = folder / f"kubeconfig-{name}"
        kubeconfig.write_text(yaml.safe_dump(admin))
        self.port, self.metrics_port = free_port(), free_port()
        cluster.run(f"tessera-{name}", TESSERA, "serve", f"--kubeconfig={cluster.kubeconfig}", f"--http_bind=127.0.0.1:{self.port}",
                    f"--metrics-bind-address=127.0.0.1:{self.metrics_port}", f"--scheduler-name={SCHEDULER_NAME}", "--leader-elect",
                    f"--leader-elect-resource-name={LEASE}", "--leader-elect-resource-namespace=kube-system",
                    f"--leader-elect-host={name}", "--node-lock-timeout=15s")
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                  "leaderElection": {"leaderElect": True, "resourceName": LEASE, "resourceNamespace": "kube-system",
                                     "resourceLock": "leases", "leaseDuration": "5s", "renewDeadline": "4s", "retryPeriod": "1s"},
                  "podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 2,
                  "clientConnection": {"kubeconfig": str(kubeconfig), "qps": 2000, "burst": 4000, "contentType": "application/json",
                                       "acceptContentTypes": "application/json"},
                  "percentageOfNodesToScore": 100, "profiles": [{"schedulerName": SCHEDULER_NAME}],
                  "extenders": [{"urlPrefix": f"http://127.0.0.1:{self.port}", "filterVerb": "filter", "bindVerb": "bind",
                                 "nodeCacheCapable": True, "weight": 1, "httpTimeout": "30s",
                                 "managedResources": [{"name": n, "ignoredByScheduler": True} for n in RESOURCES]}]}
        file = folder / f"kube-scheduler-{name}.yaml"
        file.write_text(yaml.safe_dump(config))
        self._kube_scheduler = [BIN / "kube-scheduler", f"--config={file}", f"--secure-port={free_port()}",
                                f"--cert-dir={folder / ('scheduler-certs-' + name)}"]
        self._wanted = threading.Event()
        self._wanted.set()
        self._keeper = threading.Thread(target=self._keep_running)
        self._keeper.start()

    def _keep_running(self):
        """As kubelet does: a kube-scheduler that could not renew its Lease in time ends itself, also on a machine that is only slow."""
        while self._wanted.is_set():
            process = self.cluster.processes.get(f"kube-scheduler-{self.name}")
            if process is None or process.poll() is not None:
                self.cluster.run(f"kube-scheduler-{self.name}", *self._kube_scheduler)
            time.sleep(0.2)

    def fetch(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as answer:
            return answer.read().decode()

    def leads(self):
        return any(line.split() == ["tessera_leader", "1"] for line in self.fetch("/metrics").splitlines())

    def kill(self):
        self._end_keeper()
        self.signal(signal.SIGKILL)

    def _end_keeper(self):
        self._wanted.clear()
        self._keeper.join()

    def signal(self, number):
        for program in ("kube-scheduler", "tessera"):
            process = self.cluster.processes[f"{program}-{self.name}"]
            if process.poll() is None:
                os.kill(process.pid, number)

    def close(self):
        self._end_keeper()
        self.api.close()
        for program in ("kube-scheduler", "tessera"):
            process = self.cluster.processes.get(f"{program}-{self.name}")
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGCONT)
            self.cluster.end(f"{program}-{self.name}")


def start_two(cluster):
    cluster.start_api_server()
    cluster.start_agents(4, 4)
    replicas = [Replica(cluster, "pair-a"), Replica(cluster, "pair-b")]
    return replicas, wait_for("one of the two leads", lambda: leader_of(replicas), 60)


def leader_of(replicas):
    leading = [r for r in replicas if r.leads()]
    assert len(leading) <= 1, "both believe to lead"
    return leading[0] if leading else None


def create_steadily(cluster, count, pause):
    def work():
        for i in range(count):
            cluster.core.create_namespaced_pod("default", pod(f"load-{i:03}", gpu=1, mem=4000, cores=5, scheduler=SCHEDULER_NAME))
            time.sleep(pause)
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def bound(cluster):
    return [p for p in cluster.pods() if p.spec.node_name]


def check_all(cluster, count):
    wait_for(f"all {count} run", lambda: len(cluster.pods()) == count and all(p.status.phase == "Running" for p in cluster.pods()), 180, 0.5)
    for where, (sharers, memory, cores) in usage_by_device(cluster.pods()).items():
        assert sharers <= 10 and memory <= 81920 and cores <= 100, f"{where} is over its limits: {sharers} {memory} {cores}"
    names = [c[2] for c in cluster.calls_of_tessera() if c[1] == "pods/binding" and c[3] == 201]
    assert len(names) == len(set(names)) == count, "every pod is bound once"
    wait_for("no lock is left", lambda: not cluster.locks(), 30)
    assert cluster.violations() == ([], count)


def test_the_leader_is_killed_under_load(cluster):
    replicas, leader = start_two(cluster)
    try:
        other = next(r for r in replicas if r is not leader)
        assert other.fetch("/readyz") == "", "a follower is ready: its webhook is needed"
        load = create_steadily(cluster, 100, 0.05)
        wait_for("some are bound", lambda: len(bound(cluster)) >= 20, 60)
        leader.kill()
        wait_for("the other leads", other.leads, 60)
        load.join()
        check_all(cluster, 100)
    finally:
        for replica in replicas:
            replica.close()


def test_a_leader_that_was_stopped_for_longer_than_its_lease_writes_nothing_more(cluster):
    replicas, leader = start_two(cluster)
    try:
        other = next(r for r in replicas if r is not leader)
        load = create_steadily(cluster, 60, 0.05)
        wait_for("some are bound", lambda: len(bound(cluster)) >= 10, 60)
        leader.signal(signal.SIGSTOP)
        wait_for("the other leads", other.leads, 60)
        leader.signal(signal.SIGCONT)
        wait_for("the one before knows", lambda: not leader.leads(), 10)
        assert other.leads()
        load.join()
        check_all(cluster, 60)
    finally:
        for replica in replicas:
            replica.close()
