"""`tessera label-priority` beside a real kube-scheduler, with the rights of its manifest and nothing more: of nodes labelled 10, 20 and
not at all pods land on 20, by full nodes and by names; with a wrong verb the scores never arrive and nobody says so but check-config."""
import json
import pathlib
import re
import subprocess

import yaml

from cluster import ROOT, SCHEDULER_NAME, TESSERA, create, events, free_port, pod, read, wait_for

LABEL = "priority.lixueduan.com"
DEPLOY = ROOT / "deploy" / "label-priority"


def add_node(cluster, name, labels):
    cluster.core.create_node({"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}}})
    room = {"cpu": "64", "memory": "256Gi", "pods": "110"}
    cluster.core.patch_node_status(name, {"status": {"capacity": room, "allocatable": room,
                                                     "conditions": [{"type": "Ready", "status": "True"}]}})
    cluster.kubectl("patch", "node", name, "--type=merge", "-p", '{"spec":{"taints":null}}')


def start_extender(cluster, *flags):
    cluster.end("label-priority")
    cluster.run("label-priority", TESSERA, "label-priority", f"--kubeconfig={cluster.tessera_kubeconfig}",
                f"--listen=127.0.0.1:{cluster.port}", f"--cert_file={cluster.folder / 'tls.crt'}",
                f"--key_file={cluster.folder / 'tls.key'}", *flags)
    wait_for("the extender is ready", lambda: cluster.get("/readyz").strip() == "200", 30)


def start_scheduler(cluster, **extender):
    cluster.end("kube-scheduler")
    cluster.extender_config = {"managedResources": [], "httpTimeout": "5s", "weight": 1, "prioritizeVerb": "prioritize", **extender}
    cluster.start_scheduler(scored=True)


def plain_pod(name, node=None):
    body = pod(name, scheduler=SCHEDULER_NAME)
    if node:
        body["spec"]["nodeSelector"] = {"kubernetes.io/hostname": node}
    return body


def landed(cluster, prefix, count=4):
    for i in range(count):
        create(cluster, plain_pod(f"{prefix}-{i}"))
    return [wait_for(f"{prefix}-{i} is bound", lambda i=i: read(cluster, f"{prefix}-{i}").spec.node_name, 60) for i in range(count)]


def scored_calls(cluster):
    rows = [line for line in cluster.get("/metrics", body=True).splitlines()
            if line.startswith("tessera_extender_request_duration_seconds_count{") and 'verb="prioritize"' in line]
    return sum(float(line.rsplit(" ", 1)[1]) for line in rows)


def check_config(cluster):
    return subprocess.run([str(TESSERA), "check-config", "--scheduler-config", str(cluster.folder / "kube-scheduler.yaml"),
                           "--extender=label-priority", f"--scheduler-name={SCHEDULER_NAME}"], capture_output=True, text=True, timeout=30)


def test_pods_land_on_the_largest_label(cluster):
    cluster.start_api_server()
    cluster.make_certificate()
    cluster.port = free_port()
    for manifest in sorted(DEPLOY.glob("*.yaml")):
        cluster.kubectl("apply", "-f", str(manifest))
    cluster.kubectl("create", "clusterrolebinding", "as-tessera", "--clusterrole=tessera-label-priority",
                    "--serviceaccount=kube-system:tessera")
    cluster.as_service_account("kube-system", "tessera")
    add_node(cluster, "ten", {LABEL: "10"})
    add_node(cluster, "twenty", {LABEL: "20"})
    add_node(cluster, "bare", {})
    start_extender(cluster)

    for capable in (True, False):
        start_scheduler(cluster, nodeCacheCapable=capable)
        assert landed(cluster, f"capable-{capable}".lower()) == ["twenty"] * 4
    scored = scored_calls(cluster)
    assert scored >= 8, "every one of them was scored"

    # what fits nowhere is told as such, not as an error of the scheduler
    create(cluster, plain_pod("lost", node="bare"))
    message = wait_for("a refusal", lambda: [e.message for e in events(cluster, "lost", "FailedScheduling")], 60)[0]
    assert message.startswith("0/3 nodes are available") and f"1 node has no label {LABEL}" in message, message

    # the label of a node is changed while it serves
    cluster.kubectl("label", "node", "ten", f"{LABEL}=30", "--overwrite")
    start_scheduler(cluster, nodeCacheCapable=True)
    wait_for("the node cache has seen it", lambda: json.loads(subprocess.run(
        ["curl", "-s", "--cacert", str(cluster.folder / "ca.crt"), f"https://127.0.0.1:{cluster.port}/prioritize", "-d",
         '{"NodeNames":["ten"]}'], capture_output=True, text=True, timeout=20).stdout) == [{"Host": "ten", "Score": 30}])
    assert landed(cluster, "changed", 2) == ["ten"] * 2
    cluster.kubectl("label", "node", "ten", f"{LABEL}=10", "--overwrite")

    # as the original, with its own form of the calls
    start_extender(cluster, "--compat")
    start_scheduler(cluster, nodeCacheCapable=False)
    assert landed(cluster, "compat", 2) == ["twenty"] * 2


def test_every_flag_is_in_the_page():
    shown = subprocess.run([str(TESSERA), "label-priority", "--help"], capture_output=True, text=True, timeout=30).stdout
    said = set(re.findall(r"^  (?:-\w,)?(--[A-Za-z_-]+)", shown, re.M)) - {"--help"}
    rows = [line.split("|")[1] for line in (ROOT / "docs" / "label-priority.md").read_text().splitlines() if line.startswith("| `--")]
    table = set(re.findall(r"`(--[A-Za-z_-]+)`", "".join(rows)))
    assert said and table == said, f"not in the page: {said - table}; not in the program: {table - said}"


def test_a_wrong_verb_is_silent_but_for_check_config(cluster):
    cluster.start_api_server()
    cluster.make_certificate()
    cluster.port = free_port()
    cluster.tessera_kubeconfig = cluster.kubeconfig
    add_node(cluster, "ten", {LABEL: "10"})
    add_node(cluster, "twenty", {LABEL: "20"})
    start_extender(cluster)
    start_scheduler(cluster, prioritizeVerb="prioritise")
    assert set(landed(cluster, "unscored")) <= {"ten", "twenty"}
    assert scored_calls(cluster) == 0, "kube-scheduler asks where nobody answers"
    warnings = [e.message for e in cluster.core.list_namespaced_event("default").items if e.type == "Warning"]
    assert warnings == [], "and nobody says so"
    found = check_config(cluster)
    assert found.returncode == 1 and "prioritizeVerb" in found.stdout and "prioritise" in found.stdout, found.stdout + found.stderr
    config = yaml.safe_load(pathlib.Path(cluster.folder / "kube-scheduler.yaml").read_text())
    config["extenders"][0]["prioritizeVerb"] = "prioritize"
    (cluster.folder / "kube-scheduler.yaml").write_text(yaml.safe_dump(config))
    mended = check_config(cluster)
    assert "prioritizeVerb" not in mended.stdout, mended.stdout
