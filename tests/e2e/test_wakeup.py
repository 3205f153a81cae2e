"""Pending pods wake up when room appears that kube-scheduler does not see: a quota that is raised, a card that is opened again (S-41)."""
import subprocess
import time

import kubernetes

from cluster import TESSERA, pod, read, wait_for

WAKE_UP = "tessera.io/wake-up"


def refused(cluster, name, word):
    def failed():
        found = cluster.core.list_namespaced_event("default", field_selector=f"involvedObject.name={name},reason=FailedScheduling").items
        return [e.message for e in found if word in e.message]
    return wait_for(f"{name} is refused for {word}", failed, 30)


def bound_within(cluster, name, seconds):
    begin = time.monotonic()
    wait_for(f"{name} is bound", lambda: read(cluster, name).spec.node_name, seconds)
    return time.monotonic() - begin


def explain(cluster, *words):
    done = subprocess.run([str(TESSERA), "explain", *map(str, words), f"--server=https://127.0.0.1:{cluster.port}",
                           f"--certificate-authority={cluster.folder / 'tls.crt'}"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    return done.stdout


def quota(memory):
    return kubernetes.client.V1ResourceQuota(metadata={"name": "q"}, spec={"hard": {"limits.nvidia.com/gpumem": str(memory)}})


def test_a_raised_quota_and_a_freed_card_wake_pods_within_seconds(cluster):
    cluster.start(nodes=1, devices=2)
    # A whole card: the webhook cannot know its memory, the reservation can.
    cluster.core.create_namespaced_resource_quota("default", quota(1000))
    time.sleep(1)
    cluster.core.create_namespaced_pod("default", pod("whole", gpu=1))
    refused(cluster, "whole", "ResourceQuotaNotFit")
    assert WAKE_UP not in (read(cluster, "whole").metadata.annotations or {})
    told = explain(cluster, "pod", "default/whole")
    assert "pod default/whole: pending" in told and "0 of 1 nodes fit" in told and "quota q allows 1000" in told
    time.sleep(3)  # nothing wakes it while nothing has changed
    assert not read(cluster, "whole").spec.node_name
    cluster.core.patch_namespaced_resource_quota("q", "default", {"spec": {"hard": {"limits.nvidia.com/gpumem": "1000000"}}})
    bound_within(cluster, "whole", 20)
    assert WAKE_UP in read(cluster, "whole").metadata.annotations

    cluster.core.create_namespaced_pod("default", pod("second", gpu=1))
    bound_within(cluster, "second", 20)
    cluster.core.create_namespaced_pod("default", pod("third", gpu=1))
    refused(cluster, "third", "Card")
    cluster.core.delete_namespaced_pod("second", "default", grace_period_seconds=0)
    bound_within(cluster, "third", 20)
    assert "pod default/third: bound" in explain(cluster, "pod", "default/third")
    manifest = cluster.folder / "new.yaml"
    manifest.write_text("metadata: {name: new}\nspec:\n  containers:\n  - name: c\n    resources: {limits: {nvidia.com/gpu: 1, nvidia.com/gpumem: 100}}\n")
    told = explain(cluster, "-f", manifest)
    assert "pod default/new: not stored" in told and "CardInsufficientMemory" in told


def test_wake_ups_can_be_switched_off(cluster):
    cluster.start(nodes=1, devices=1, flags=("--wake-up-pending=false",))
    cluster.core.create_namespaced_resource_quota("default", quota(1000))
    time.sleep(1)
    cluster.core.create_namespaced_pod("default", pod("whole", gpu=1))
    refused(cluster, "whole", "ResourceQuotaNotFit")
    cluster.core.patch_namespaced_resource_quota("q", "default", {"spec": {"hard": {"limits.nvidia.com/gpumem": "1000000"}}})
    time.sleep(2)
    assert WAKE_UP not in (read(cluster, "whole").metadata.annotations or {})
    assert not [c for c in cluster.calls_of_tessera() if c[0] == "patch" and c[1] == "pods"]
