"""Nodes change under a running server: what it knows follows the watch, not a timer (public cases 141, 145, 146, 147, 149, 151)."""
import json
import time

from cluster import pod, refusal, registered, running, wait_for

REGISTER = "hami.io/node-nvidia-register"


def annotate(cluster, node, **annotations):
    """Changes the node and leaves the server the second that it may take to notice."""
    cluster.core.patch_node(node, {"metadata": {"annotations": annotations}})
    time.sleep(1)


def register(cluster, node, devices):
    annotate(cluster, node, **{REGISTER: None if devices is None else json.dumps(devices)})


def limits(cluster):
    """{(node, device): bytes} as the metrics show what the server offers."""
    rows = {}
    for line in cluster.get("/metrics", body=True).splitlines():
        if line.startswith("hami_gpu_memory_limit_bytes{"):
            labels = dict(part.split("=", 1) for part in line[line.index("{") + 1:line.index("}")].split(","))
            rows[labels["node"].strip('"'), labels["device_uuid"].strip('"')] = float(line.rsplit(" ", 1)[1])
    return rows


def card_of(cluster, name):
    """The device a pod got, once it runs."""
    return running(cluster, name).metadata.annotations["hami.io/vgpu-devices-allocated"].split(",")[0]


def create(cluster, name, **wants):
    cluster.core.create_namespaced_pod("default", pod(name, **wants))


def test_register_annotation_is_followed_at_once(cluster):
    cluster.start(nodes=2, devices=1)
    node, other = "node-0000", "node-0001"
    first = registered(cluster, node)[0]
    second = {**first, "id": "GPU-second", "index": 1}
    whole = len(limits(cluster))

    # case 145: a second card appears
    register(cluster, node, [first, second])
    wait_for("the second card is known", lambda: (node, "GPU-second") in limits(cluster), 5)

    # case 147: the same number of cards, another id and another size
    register(cluster, node, [{**first, "id": "GPU-ninth"}, {**second, "devmem": 2 * second["devmem"]}])
    wait_for("the new data is used", lambda: limits(cluster).get((node, "GPU-second")) == 2 * second["devmem"] * 2**20, 5)
    assert (node, first["id"]) not in limits(cluster) and (node, "GPU-ninth") in limits(cluster)

    # cases 146 and 149: no card any more, on this node only
    register(cluster, node, [])
    wait_for("its cards are gone", lambda: not [k for k in limits(cluster) if k[0] == node], 5)
    assert len([k for k in limits(cluster) if k[0] == other]) == whole - 1
    register(cluster, other, None)
    wait_for("a removed annotation removes the cards", lambda: not limits(cluster), 5)
    create(cluster, "nowhere", gpu=1, mem=100)
    assert "2 node unregistered" in refusal(cluster, "nowhere")


def test_health_and_cordon_are_live(cluster):
    cluster.start(nodes=1, devices=1)
    node = "node-0000"
    card = registered(cluster, node)[0]
    create(cluster, "before", gpu=1, mem=60000)
    assert card_of(cluster, "before") == card["id"]

    # case 141: unhealthy for new pods, the running pod stays accounted
    register(cluster, node, [{k: v for k, v in card.items() if k != "health"}])
    create(cluster, "sick", gpu=1, mem=100)
    assert "1/1 CardNotHealth" in refusal(cluster, "sick")
    register(cluster, node, [card])
    create(cluster, "healed", gpu=1, mem=100)
    assert card_of(cluster, "healed") == card["id"]
    create(cluster, "large", gpu=1, mem=60000)
    assert "1/1 CardInsufficientMemory" in refusal(cluster, "large"), "60000 MiB of the running pod still count"

    # case 151: closed for new pods, and open again, without touching what runs
    annotate(cluster, node, **{"hami.io/device-cordon": f"{card['id']}, ,"})
    create(cluster, "closed", gpu=1, mem=100)
    assert "1/1 CardCordoned" in refusal(cluster, "closed")
    assert cluster.core.read_namespaced_pod("before", "default").status.phase == "Running"
    annotate(cluster, node, **{"hami.io/device-cordon": None})
    create(cluster, "reopened", gpu=1, mem=100)
    assert card_of(cluster, "reopened") == card["id"]


def test_policy_of_the_pod_is_followed(cluster):
    # case 49: the annotation counts on the pod, i.e. in a template, not on the object that owns it
    cluster.start(nodes=2, devices=2, flags=["--node-scheduler-policy=spread"])
    for i in range(3):
        cluster.core.create_namespaced_pod("default", pod(f"packed-{i}", gpu=1, mem=1000,
                                                          annotations={"hami.io/node-scheduler-policy": "binpack"}))
        card_of(cluster, f"packed-{i}")
    assert len({p.spec.node_name for p in cluster.pods()}) == 1
