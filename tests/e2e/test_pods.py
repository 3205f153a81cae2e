"""Whole path with a real kube-apiserver and kube-scheduler: pod created, mutated, placed, bound, served, running, ended."""
import json
import re
import signal
import time

from cluster import SCHEDULER_NAME, create, events, pod, read, running, usage_by_device, wait_for


def test_pod_is_mutated_placed_bound_served_and_runs(cluster):
    cluster.start(nodes=2, devices=2)
    containers = [{"name": "proxy", "image": "none"},
                  {"name": "main", "image": "none", "resources": {"limits": {"nvidia.com/gpumem": "3000", "nvidia.com/gpucores": "25"}}}]
    forged = {"hami.io/vgpu-node": "elsewhere", "hami.io/vgpu-devices-allocated": "GPU-x,NVIDIA,1,1:;", "example.com/kept": "yes"}
    made = create(cluster, pod("first", containers=containers, annotations=forged))
    assert made.spec.scheduler_name == SCHEDULER_NAME
    assert made.spec.containers[1].resources.limits["nvidia.com/gpu"] == "1", "the count is filled in"
    assert made.metadata.annotations == {"example.com/kept": "yes"}, "forged scheduler annotations are gone, others stay"

    now = int(time.time())
    p = running(cluster, "first")
    annotations = p.metadata.annotations
    node = p.spec.node_name
    allocated = annotations["hami.io/vgpu-devices-allocated"]
    match = re.fullmatch(r";([^,;:]+),NVIDIA,3000,25:;", allocated)
    assert match, f"one entry per container, the first empty: {allocated!r}"
    register = json.loads(cluster.core.read_node(node).metadata.annotations["hami.io/node-nvidia-register"])
    assert match.group(1) in [d["id"] for d in register], "the device is one of the node's"
    assert annotations["hami.io/vgpu-node"] == node
    assert p.metadata.labels["hami.io/vgpu-node"] == node
    assert annotations["hami.io/bind-phase"] == "success", "the agent has served it"
    assert abs(int(annotations["hami.io/bind-time"]) - now) < 60 and abs(int(annotations["hami.io/vgpu-time"]) - now) < 60
    assert annotations["hami.io/vgpu-devices-to-allocate"].strip(";") == "", "emptied by the agent"
    assert annotations["example.com/kept"] == "yes"
    wait_for("the lock is released", lambda: not cluster.locks(), 10)
    assert cluster.calls_per_pod(1) == 2, "lock and binding, nothing else"
    assert cluster.violations() == ([], 1)


def test_pod_that_fits_nowhere_stays_pending_with_our_reasons(cluster):
    cluster.start(nodes=2, devices=2, memory=16384)
    create(cluster, pod("huge", gpu=1, mem=20000))
    message = wait_for("FailedScheduling", lambda: [e.message for e in events(cluster, "huge", "FailedScheduling")], 30)[0]
    assert message.startswith("0/2 nodes are available: 2 2/2 CardInsufficientMemory."), message
    create(cluster, pod("many", gpu=3, mem=100))
    message = wait_for("FailedScheduling", lambda: [e.message for e in events(cluster, "many", "FailedScheduling")], 30)[0]
    assert "2 NodeInsufficientDevice" in message, message
    for name in ("huge", "many"):
        p = read(cluster, name)
        assert p.spec.node_name is None and p.status.phase == "Pending"
        assert not [k for k in (p.metadata.annotations or {}) if k.startswith("hami.io/")]
    assert not cluster.locks()


def test_full_node_frees_when_pods_end(cluster):
    cluster.start(nodes=1, devices=1, memory=24576)
    create(cluster, pod("a", gpu=1, mem=12288))
    create(cluster, pod("b", gpu=1, mem=12288))
    running(cluster, "a")
    running(cluster, "b")
    create(cluster, pod("c", gpu=1, mem=12288))
    wait_for("c is refused", lambda: events(cluster, "c", "FailedScheduling"), 30)
    assert read(cluster, "c").spec.node_name is None
    cluster.core.delete_namespaced_pod("a", "default", grace_period_seconds=0)
    running(cluster, "c", 60)
    assert max(row[1] for row in usage_by_device(cluster.pods()).values()) <= 24576
    assert cluster.violations()[0] == []


def crowd(cluster, count):
    for i in range(count):
        create(cluster, pod(f"crowd-{i:02}", gpu=1, mem=2000, cores=10))


def check_crowd(cluster, count, memory=81920):
    pods = cluster.pods()
    assert len(pods) == count and all(p.spec.node_name for p in pods)
    for where, (sharers, used, cores) in usage_by_device(pods).items():
        assert sharers <= 10 and used <= memory and cores <= 100, f"{where} is over its limits: {sharers} {used} {cores}"
    for p in pods:
        assert p.metadata.annotations["hami.io/vgpu-node"] == p.spec.node_name
    wait_for("no lock is left", lambda: not cluster.locks(), 15)


def test_60_pods_crowd_on_one_of_10_nodes(cluster):
    cluster.start(nodes=10, devices=8, flags=["--node-scheduler-policy=binpack"])
    crowd(cluster, 60)
    wait_for("all 60 run", lambda: all(p.status.phase == "Running" for p in cluster.pods()) and len(cluster.pods()) == 60, 120, 0.5)
    check_crowd(cluster, 60)
    nodes = {p.spec.node_name for p in cluster.pods()}
    assert len(nodes) <= 2, f"binpack crowds them: {nodes}"
    failed = [e.message for p in cluster.pods() for e in events(cluster, p.metadata.name) if e.reason in ("FailedScheduling", "BindingFailed")]
    assert not failed, f"no bind error reaches kube-scheduler: {failed[:3]}"
    assert cluster.calls_per_pod(60) <= 2.05
    assert cluster.violations() == ([], 60)


def test_kill_9_in_the_middle_and_restart(cluster):
    cluster.start(nodes=10, devices=8, flags=["--node-scheduler-policy=binpack"])
    crowd(cluster, 60)
    wait_for("some are bound", lambda: sum(1 for p in cluster.pods() if p.spec.node_name) >= 15, 60)
    cluster.end("tessera", signal.SIGKILL)
    time.sleep(1)
    cluster.start_tessera("--node-scheduler-policy=binpack")
    wait_for("all 60 run", lambda: all(p.status.phase == "Running" for p in cluster.pods()) and len(cluster.pods()) == 60, 180, 0.5)
    check_crowd(cluster, 60)
    bindings = [c for c in cluster.calls_of_tessera() if c[1] == "pods/binding" and c[3] == 201]
    names = [c[2] for c in bindings]
    assert len(names) == len(set(names)) == 60, "every pod is bound once"
    assert cluster.violations()[0] == []
