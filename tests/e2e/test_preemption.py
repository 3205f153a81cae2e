"""Preemption with the real kube-scheduler: our own, with the rights of the manifests, priorities and a PodDisruptionBudget; and the
preempt verb where CPU is short as well."""
import json
import signal
import time

from cluster import ROOT, events, pod, read, refusal, running, wait_for

CARD = 81920


def metric(cluster, name):
    for line in cluster.get("/metrics", body=True).splitlines():
        if line.startswith(name + " "):
            return float(line.rsplit(" ", 1)[1])
    return 0.0


def priority_class(cluster, name, value, policy="PreemptLowerPriority"):
    body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": value,
            "preemptionPolicy": policy}
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(body))


def ranked(name, rank=None, app=None, cpu=None, **limits):
    body = pod(name, **limits)
    if rank:
        body["spec"]["priorityClassName"] = rank
    if app:
        body["metadata"]["labels"] = {"app": app}
    if cpu:
        body["spec"]["containers"][0]["resources"]["limits"]["cpu"] = cpu
    return body


def create(cluster, body):
    cluster.core.create_namespaced_pod("default", body)


def names(cluster):
    return {p.metadata.name for p in cluster.pods()}


def closed_budget(cluster, name, app):
    """There is no controller here that would count healthy pods: the status is written by hand."""
    body = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "default"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": app}}}}
    cluster.kubectl("apply", "-f", "-", stdin=json.dumps(body))
    status = {"status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1, "observedGeneration": 1}}
    cluster.kubectl("patch", "pdb", name, "--subresource=status", "--type=merge", "-p", json.dumps(status))


def evicted(cluster):
    """Names of pods whose eviction was asked for, dry runs among them."""
    return {name for verb, resource, name, _ in cluster.calls_of_tessera() if resource == "pods/eviction"}


def event_reasons(cluster, name):
    return {e.reason for e in cluster.core.list_namespaced_event("default", field_selector=f"involvedObject.name={name}").items}


def test_own_preemption_evicts_the_right_pods_and_the_preemptor_lands(cluster):
    cluster.scheduler_config = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 2}
    cluster.start_api_server()
    for manifest in ("rbac.yaml", "rbac-preemption.yaml"):
        cluster.kubectl("apply", "-f", str(ROOT / "deploy" / "by-hand" / manifest))
    cluster.as_service_account("kube-system", "tessera")
    cluster.start_tessera("--preemption=own")
    cluster.start_scheduler()
    cluster.register_webhook()
    cluster.start_agents(nodes=3, devices=1)
    wait_for("tessera knows the nodes", lambda: cluster.device_rows() >= 3, 30)
    for name, value, policy in (("mid", 50, "PreemptLowerPriority"), ("high", 1000, "PreemptLowerPriority"), ("polite", 1000, "Never")):
        priority_class(cluster, name, value, policy)
    closed_budget(cluster, "db", "db")
    create(cluster, ranked("kept", app="db", gpu=1, mem=60000))
    create(cluster, ranked("low", gpu=1, mem=60000))
    create(cluster, ranked("better", rank="mid", gpu=1, mem=60000))
    for name in ("kept", "low", "better"):
        running(cluster, name)

    # Who may not, and whom it would not help, displaces nobody.
    create(cluster, ranked("never", rank="polite", gpu=1, mem=60000))
    create(cluster, ranked("huge", rank="high", gpu=1, mem=CARD + 1))
    create(cluster, ranked("equal", gpu=1, mem=60000))
    for name in ("never", "huge", "equal"):
        refusal(cluster, name)
    assert evicted(cluster) == set()

    create(cluster, ranked("winner", rank="high", gpu=1, mem=60000))
    wait_for("low is gone", lambda: "low" not in names(cluster), 30)
    gone = time.monotonic()
    running(cluster, "winner", 30)
    assert time.monotonic() - gone < 10
    assert {"kept", "better"} <= names(cluster)
    assert evicted(cluster) == {"low"}
    wait_for("the pod's events", lambda: {"Preempting", "PreemptionRoomFree"} <= event_reasons(cluster, "winner"), 10)
    wait_for("the victim's event", lambda: "EvictedForDevices" in event_reasons(cluster, "low"), 10)
    wait_for("the note is gone", lambda: "tessera.io/preemption" not in read(cluster, "winner").metadata.annotations, 10)
    wait_for("the nominated node is written", lambda: ("patch", "pods/status", "winner", 200) in cluster.calls_of_tessera(), 10)
    wait_for("it is counted", lambda: metric(cluster, 'tessera_preemption_attempts_total{result="landed"}') == 1, 10)

    # The next one finds the better pod; equal, which is as low as low was, still waits.
    create(cluster, ranked("second", rank="high", gpu=1, mem=60000))
    running(cluster, "second", 30)
    assert names(cluster) == {"kept", "winner", "second", "never", "huge", "equal"}
    # Nothing is left for a third: the budget protects kept.
    create(cluster, ranked("third", rank="high", gpu=1, mem=60000))
    refusal(cluster, "third")
    assert evicted(cluster) == {"low", "better"}
    broken, _ = cluster.violations()
    assert broken == []


def test_the_verb_completes_victims_where_cpu_is_short_too(cluster):
    cluster.extender_config = {"preemptVerb": "preempt"}
    cluster.scheduler_config = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 2}
    cluster.start(nodes=1, devices=1)
    priority_class(cluster, "high", 1000)
    create(cluster, ranked("cpu", cpu="60", gpu=1, mem=20000))
    create(cluster, ranked("device", gpu=1, mem=50000))
    for name in ("cpu", "device"):
        running(cluster, name)

    # kube-scheduler would evict `cpu`; it would not help, and the verb says so.
    create(cluster, ranked("vain", rank="high", cpu="60", gpu=1, mem=CARD + 1))
    refusal(cluster, "vain")
    wait_for("the verb was asked", lambda: metric(cluster, 'tessera_preempt_verb_nodes_total{result="left_out"}') >= 1, 30)
    assert {"cpu", "device"} <= names(cluster)
    cluster.core.delete_namespaced_pod("vain", "default", grace_period_seconds=0)

    # CPU alone would be met by `cpu`, the card needs `device` to go as well.
    create(cluster, ranked("winner", rank="high", cpu="60", gpu=1, mem=70000))
    running(cluster, "winner", 40)
    assert names(cluster) == {"winner"}
    assert metric(cluster, 'tessera_preempt_verb_nodes_total{result="completed"}') >= 1
    assert evicted(cluster) == set(), "kube-scheduler deletes them itself"
    broken, _ = cluster.violations()
    assert broken == []


def test_killed_half_way_the_successor_goes_on_and_nobody_steals_the_room(cluster):
    cluster.scheduler_config = {"podInitialBackoffSeconds": 1, "podMaxBackoffSeconds": 2}
    cluster.start(nodes=1, devices=1, flags=("--preemption=own",))
    priority_class(cluster, "mid", 50)
    priority_class(cluster, "high", 1000)
    low = ranked("low", gpu=1, mem=60000)
    low["spec"]["terminationGracePeriodSeconds"] = 600
    create(cluster, low)
    running(cluster, "low")
    cluster.end("agents")  # and with them the kubelet: whoever is evicted takes its time
    create(cluster, ranked("winner", rank="high", gpu=1, mem=60000))
    wait_for("low is on its way out", lambda: read(cluster, "low").metadata.deletion_timestamp, 30)
    cluster.end("tessera", signal.SIGKILL)
    cluster.start_tessera("--preemption=own")
    create(cluster, ranked("thief", rank="mid", gpu=1, mem=60000))
    wait_for("the preemption is taken up", lambda: metric(cluster, 'tessera_preemption_attempts_total{result="resumed"}') == 1, 30)
    wait_for("thief is refused by a filter call",
             lambda: any("CardInsufficientMemory" in e.message for e in events(cluster, "thief", "FilteringFailed")), 60)
    cluster.core.delete_namespaced_pod("low", "default", grace_period_seconds=0)
    wait_for("winner is bound", lambda: read(cluster, "winner").spec.node_name, 10)
    assert not read(cluster, "thief").spec.node_name
