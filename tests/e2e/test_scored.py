"""Scored mode with the real kube-scheduler: it picks the node, with its own preferences and our scores; devices are chosen for the node
it names at bind."""
import concurrent.futures
import json

from cluster import create, events, pod, registered, running, usage_by_device, wait_for

HOST = "kubernetes.io/hostname"


def hosts(cluster):
    return sorted(n.metadata.name for n in cluster.core.list_node().items)


def end(cluster, name):
    cluster.core.delete_namespaced_pod(name, "default", grace_period_seconds=0)
    wait_for(f"{name} is gone", lambda: name not in [p.metadata.name for p in cluster.pods()])
    wait_for("its devices are free", lambda: cluster.metric("hami_gpu_shared_count") == 0)


def lands_on(cluster, body):
    """The node the pod runs on, with devices of that very node."""
    name = body["metadata"]["name"]
    create(cluster, body)
    placed = running(cluster, name)
    node = placed.spec.node_name
    assert placed.metadata.annotations["hami.io/vgpu-node"] == node
    ids = {d["id"] for d in registered(cluster, node)}
    used = {uuid for _, uuid in usage_by_device([placed])}
    assert used and used <= ids, f"{used} on {node}"
    return node


def prefers(name, node):
    body = pod(name, gpu=1, mem=2000)
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}
    body["spec"]["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": term}]}}
    return body


def spreads(name, label):
    body = pod(name, gpu=1, mem=2000)
    body["metadata"]["labels"] = {"app": label}
    body["spec"]["topologySpreadConstraints"] = [{"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "ScheduleAnyway",
                                                  "labelSelector": {"matchLabels": {"app": label}}}]
    return body


def wants_image(name, image):
    body = pod(name, gpu=1, mem=2000)
    body["spec"]["containers"][0]["image"] = image
    return body


def show_image(cluster, node, image):
    patch = {"status": {"images": [{"names": [image], "sizeBytes": 3_000_000_000}]}}
    cluster.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p", json.dumps(patch))


def test_of_two_equal_nodes_kube_schedulers_own_preferences_decide(cluster):
    cluster.start(nodes=2, devices=2, scored=True)
    nodes = hosts(cluster)
    # Each preference names either node in turn, so that neither a habit of ours nor a coin decides.
    for turn, node in enumerate(nodes * 2):
        assert lands_on(cluster, prefers(f"affine-{turn}", node)) == node
        end(cluster, f"affine-{turn}")

    for turn, node in enumerate(nodes * 2):
        other = nodes[1 - nodes.index(node)]
        plain = pod(f"plain-{turn}")
        plain["metadata"]["labels"] = {"app": f"spread-{turn}"}
        plain["spec"]["nodeName"] = other
        create(cluster, plain)
        wait_for("the pod without devices is there", lambda: [p for p in cluster.pods() if p.metadata.name == f"plain-{turn}"])
        assert lands_on(cluster, spreads(f"spread-{turn}", f"spread-{turn}")) == node, "away from its like"
        end(cluster, f"spread-{turn}")
        cluster.core.delete_namespaced_pod(f"plain-{turn}", "default", grace_period_seconds=0)

    for node in nodes:
        show_image(cluster, node, f"registry.example/of-{node}:1")
    for turn, node in enumerate(nodes * 2):
        assert lands_on(cluster, wants_image(f"image-{turn}", f"registry.example/of-{node}:1")) == node
        end(cluster, f"image-{turn}")
    assert cluster.metric("tessera_bind_moved_total") >= 1, "the node held meanwhile was another one at least once"
    assert cluster.violations() == ([], 12)


def test_without_preferences_the_device_policy_decides(cluster):
    cluster.start(nodes=3, devices=2, scored=True)
    pack = [lands_on(cluster, pod(f"pack-{i}", gpu=1, mem=2000)) for i in range(4)]
    assert len(set(pack)) == 1, f"binpack, the default, fills one node: {pack}"
    told = wait_for("the event, which is written after the decision", lambda: events(cluster, "pack-3", "FilteringSucceed"))
    text = told[0].message
    assert text.startswith("3 nodes fit(") and text.endswith(f"kube-scheduler chooses among them, {pack[0]} is held meanwhile"), text
    apart = {"hami.io/node-scheduler-policy": "spread"}
    spread = [lands_on(cluster, pod(f"spread-{i}", gpu=1, mem=12000, annotations=apart)) for i in range(2)]
    assert len({*spread, pack[0]}) == 3, f"spread takes the other nodes: {spread}, the packed one is {pack[0]}"
    assert cluster.violations() == ([], 6)


def test_a_burst_onto_just_enough_room_is_all_bound(cluster):
    """150 pods, 150 places: 15 nodes with 5 cards, two pods a card."""
    cluster.start(nodes=15, devices=5, scored=True, flags=["--kube-qps=2000", "--kube-burst=4000"])
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: create(cluster, pod(f"p-{i:03}", gpu=1, mem=40000)), range(150)))
    wait_for("all are bound", lambda: sum(1 for p in cluster.pods() if p.spec.node_name) == 150, 120, 0.5)
    used = usage_by_device(cluster.pods())
    assert len(used) == 75 and all(row[:2] == [2, 80000] for row in used.values()), "every place is taken once"
    refused = cluster.metric("tessera_bind_refused_full_total")
    print(f"{refused:.0f} binds of 150 refused, {cluster.metric('tessera_bind_moved_total'):.0f} moved")
    assert refused < 0.02 * 150
    wait_for("nothing is held for anybody", lambda: cluster.metric("tessera_reservations") == 0)
    wait_for("the locks are released", lambda: not cluster.locks())
    assert cluster.violations()[0] == []
