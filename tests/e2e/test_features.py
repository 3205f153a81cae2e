"""Quota, MIG, NUMA, links, gangs, init containers and sidecars, nodes and devices that come and go, a new certificate under load:
each with a real kube-apiserver and kube-scheduler."""
import json
import threading
import time

from cluster import create, device_container, pod, read, refusal, registered, running, usage_by_device, wait_for

REGISTER = "hami.io/node-nvidia-register"
SCORE = "hami.io/node-nvidia-score"


def devices_of(p):
    text = p.metadata.annotations["hami.io/vgpu-devices-allocated"]
    return [entry.split(",")[0] for entry in text.replace(";", "").split(":") if entry]


def annotate(cluster, node, annotations):
    cluster.core.patch_node(node, {"metadata": {"annotations": annotations}})
    time.sleep(1)  # the server may take this long to notice


def within_limits(cluster, memory=81920, slots=10):
    for where, (sharers, used, cores) in usage_by_device(cluster.pods()).items():
        assert sharers <= slots and used <= memory and cores <= 100, f"{where} is over its limits: {sharers} {used} {cores}"


def test_quota_holds_at_admission_and_at_the_decision(cluster):
    cluster.start(nodes=2, devices=2)
    cluster.kubectl("create", "quota", "devices", "--hard=limits.nvidia.com/gpumem=10000")
    time.sleep(1)  # the server may take this long to notice
    # ten whose memory no webhook can know before a card is chosen: 3276 MiB each, three are within the quota
    for i in range(10):
        create(cluster, pod(f"tenth-{i}", containers=[device_container("main", gpu=1, percent=4)]))
    wait_for("three run", lambda: sum(p.status.phase == "Running" for p in cluster.pods()) == 3, 40)
    time.sleep(3)
    held = [p for p in cluster.pods() if p.spec.node_name]
    assert len(held) == 3, "9828 of 10000 MiB are taken, a fourth pod would pass the limit"
    waiting = next(p.metadata.name for p in cluster.pods() if not p.spec.node_name)
    assert "ResourceQuotaNotFit" in refusal(cluster, waiting)
    refused = cluster.kubectl("create", "-f", "-", stdin=json.dumps(pod("large", gpu=1, mem=12000)), check=False)
    assert refused.returncode != 0 and "exceeding resource quota" in refused.stderr, refused.stderr
    # what ends gives back
    cluster.core.delete_namespaced_pod(held[0].metadata.name, "default", grace_period_seconds=0)
    wait_for("another one runs", lambda: sum(p.status.phase == "Running" for p in cluster.pods()) == 3, 60)
    assert cluster.violations()[0] == []


MIG_PROFILES = [
    {"name": "1g.10gb", "memoryMB": 9856, "core": 13, "sliceCount": 1, "placements": [{"start": s, "size": 1} for s in range(7)]},
    {"name": "2g.20gb", "memoryMB": 19968, "core": 25, "sliceCount": 2, "placements": [{"start": s, "size": 2} for s in (0, 2, 4)]},
    {"name": "3g.40gb", "memoryMB": 40448, "core": 46, "sliceCount": 3, "placements": [{"start": s, "size": 4} for s in (0, 4)]},
    {"name": "7g.80gb", "memoryMB": 81152, "core": 100, "sliceCount": 7, "placements": [{"start": 0, "size": 8}]}]


def test_mig_instances_do_not_overlap_and_leave_the_largest_profile(cluster):
    cluster.start(nodes=1, devices=1)
    card = {**registered(cluster, "node-0000")[0], "mode": "mig", "count": 7, "migProfiles": MIG_PROFILES}
    annotate(cluster, "node-0000", {REGISTER: json.dumps([card])})
    placed = []
    for name, memory in (("small", 8000), ("middle", 15000), ("half", 30000)):
        create(cluster, pod(name, gpu=1, mem=memory))
        p = running(cluster, name)
        reservation = json.loads(p.metadata.annotations["hami.io/vgpu-mig-allocations"])
        assert len(reservation) == 1 and reservation[0]["gpuUUID"] == card["id"] and reservation[0]["containerIndex"] == 0
        placed.append((reservation[0]["profile"], reservation[0]["placement"]["start"], reservation[0]["placement"]["size"]))
    assert [profile for profile, _, _ in placed] == ["1g.10gb", "2g.20gb", "3g.40gb"], placed
    for i, (_, start, size) in enumerate(placed):
        for _, other, length in placed[:i]:
            assert start >= other + length or other >= start + size, f"instances overlap: {placed}"
    # 11648 MiB are left, but no two slices side by side for an instance of 2g
    create(cluster, pod("more", gpu=1, mem=11000))
    assert "1/1 CardMigTopologyInfeasible" in refusal(cluster, "more")


def test_numa_bind_keeps_the_cards_of_a_container_together(cluster):
    cluster.start(nodes=1, devices=4)
    numa = {d["id"]: d.get("numa", 0) for d in registered(cluster, "node-0000")}
    bind = {"nvidia.com/numa-bind": "true"}
    create(cluster, pod("one", gpu=1, mem=70000, annotations=bind))
    create(cluster, pod("pair", gpu=2, mem=70000, annotations=bind))
    running(cluster, "one")
    pair = devices_of(running(cluster, "pair"))
    assert len({numa[d] for d in pair}) == 1, f"{pair} on {numa}"
    create(cluster, pod("second-pair", gpu=2, mem=70000, annotations=bind))
    assert "NumaNotFit" in refusal(cluster, "second-pair") or "AllocatedCardsInsufficientRequest" in refusal(cluster, "second-pair")


def test_topology_aware_takes_the_best_linked_cards(cluster):
    cluster.start(nodes=1, devices=4)
    cards = registered(cluster, "node-0000")
    ids = [c["id"] for c in cards]

    def score(i, j):
        return 450 if {i, j} == {0, 2} else 250 if {i, j} == {1, 3} else 10
    scores = [{"uuid": ids[i], "score": {ids[j]: score(i, j) for j in range(4) if j != i}} for i in range(4)]
    annotate(cluster, "node-0000", {SCORE: json.dumps(scores), REGISTER: json.dumps(list(reversed(cards)))})
    aware = {"hami.io/gpu-scheduler-policy": "topology-aware"}
    create(cluster, pod("best", gpu=2, mem=70000, annotations=aware))
    assert set(devices_of(running(cluster, "best"))) == {ids[0], ids[2]}
    create(cluster, pod("next", gpu=2, mem=70000, annotations=aware))
    assert set(devices_of(running(cluster, "next"))) == {ids[1], ids[3]}


def test_gang_of_16_onto_two_nodes(cluster):
    cluster.start(nodes=2, devices=8)
    for i in range(16):
        body = pod(f"member-{i:02}", gpu=1)
        body["metadata"]["labels"] = {"scheduling.x-k8s.io/pod-group": "gang"}
        create(cluster, body)
    wait_for("all 16 run", lambda: sum(p.status.phase == "Running" for p in cluster.pods()) == 16, 90, 0.25)
    assert len({d for p in cluster.pods() for d in devices_of(p)}) == 16, "a whole card each"
    wait_for("no lock is left", lambda: not cluster.locks(), 15)
    assert cluster.violations() == ([], 16)


def test_init_containers_and_sidecars_count_as_kubernetes_counts_them(cluster):
    cluster.start(nodes=1, devices=1, memory=24000)
    body = pod("layers", containers=[device_container("app", gpu=1, mem=8000)])
    body["spec"]["initContainers"] = [device_container("side", gpu=1, mem=2000, restartPolicy="Always"),
                                      device_container("load", gpu=1, mem=20000)]
    create(cluster, body)
    p = running(cluster, "layers")
    text = p.metadata.annotations["hami.io/vgpu-devices-allocated"]
    assert [piece.split(",")[2] for piece in text.rstrip(";").split(";")] == ["2000", "20000", "8000"], text
    # init has finished: 2000 + 8000 stay
    create(cluster, pod("beside", gpu=1, mem=14000))
    running(cluster, "beside", 60)
    create(cluster, pod("too-much", gpu=1, mem=1))
    assert "1/1 CardInsufficientMemory" in refusal(cluster, "too-much")


def test_node_added_under_a_pending_pod(cluster):
    cluster.start(nodes=1, devices=1, memory=16000)
    create(cluster, pod("early", gpu=1, mem=60000))
    refusal(cluster, "early")
    agents = cluster.processes.pop("agents")
    cluster.processes["first-agents"] = agents
    try:
        cluster.start_agents(2, 1, 20, 80000, "--prefix=late")
        assert running(cluster, "early", 60).spec.node_name.startswith("late-")
    finally:
        cluster.end("first-agents")


def test_node_lost_and_back(cluster):
    cluster.start(nodes=2, devices=1)
    for i in range(2):
        create(cluster, pod(f"keeper-{i}", gpu=1, mem=50000, annotations={"hami.io/node-scheduler-policy": "spread"}))
        running(cluster, f"keeper-{i}")
    victim = read(cluster, "keeper-0").spec.node_name
    node = cluster.core.read_node(victim)
    status = cluster.core.read_node(victim).status
    cluster.core.delete_node(victim)
    time.sleep(1)
    create(cluster, pod("after", gpu=1, mem=50000))
    refusal(cluster, "after")  # one node is gone, the other full
    node.metadata.resource_version = node.metadata.uid = None
    cluster.core.create_node(node)
    cluster.core.patch_node(victim, {"spec": {"taints": None}})  # no controller here takes the not-ready taint away
    cluster.core.patch_node_status(victim, {"status": {"capacity": status.capacity, "allocatable": status.allocatable}})
    create(cluster, pod("fits-beside", gpu=1, mem=20000, annotations={"nvidia.com/use-gpuuuid": devices_of(read(cluster, "keeper-0"))[0]}))
    running(cluster, "fits-beside")
    create(cluster, pod("still-full", gpu=1, mem=50000))
    assert "CardInsufficientMemory" in refusal(cluster, "still-full"), "what runs on the node that came back still counts"


def test_device_turns_unhealthy_under_a_pending_pod(cluster):
    cluster.start(nodes=1, devices=1)
    card = registered(cluster, "node-0000")[0]
    create(cluster, pod("holder", gpu=1, mem=60000))
    running(cluster, "holder")
    create(cluster, pod("waiter", gpu=1, mem=60000))
    refusal(cluster, "waiter")
    annotate(cluster, "node-0000", {REGISTER: json.dumps([{k: v for k, v in card.items() if k != "health"}])})
    cluster.core.delete_namespaced_pod("holder", "default", grace_period_seconds=0)
    time.sleep(4)
    assert read(cluster, "waiter").spec.node_name is None, "nobody is put on an unhealthy card"
    annotate(cluster, "node-0000", {REGISTER: json.dumps([card])})
    running(cluster, "waiter", 60)


def test_certificate_rotated_under_load(cluster):
    cluster.start(nodes=4, devices=8)
    before = (cluster.folder / "tls.crt").read_bytes()
    made = []

    def load():
        for i in range(80):
            create(cluster, pod(f"load-{i:02}", gpu=1, mem=2000, cores=10))
            made.append(i)
            time.sleep(0.15)
    worker = threading.Thread(target=load)
    worker.start()
    time.sleep(2)
    cluster.make_certificate()
    assert (cluster.folder / "tls.crt").read_bytes() != before
    worker.join(60)
    assert len(made) == 80, "the webhook admitted every pod"
    wait_for("all 80 run", lambda: sum(p.status.phase == "Running" for p in cluster.pods()) == 80, 90, 0.25)
    within_limits(cluster)
    wait_for("the new certificate is served", lambda: cluster.served_certificate() == (cluster.folder / "tls.crt").read_text().strip(), 30, 0.5)
