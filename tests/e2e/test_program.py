"""The program as an operator meets it before any cluster is there: words and exit codes."""
import os
import subprocess

import pytest

from cluster import ROOT, TESSERA, pod, wait_for


def run(*arguments, env=None):
    return subprocess.run([str(TESSERA), *arguments], capture_output=True, text=True, timeout=20, env={**os.environ, **(env or {})})


def test_check_config_names_line_key_and_value_of_every_fault(tmp_path):
    file = tmp_path / "device-config.yaml"
    file.write_text('nvidia:\n  resourceCountName: nvidia.com/gpu\n  defaultMemory: 12x\n  overwriteEnv: "true"\n  resurceCoreName: typo\n')
    done = run("check-config", str(file))
    assert done.returncode == 1
    assert f'{file}: line 3: nvidia.defaultMemory: "12x"' in done.stdout
    assert f'{file}: line 4: nvidia.overwriteEnv: "true"' in done.stdout
    assert "note: line 5: nvidia.resurceCoreName" in done.stdout
    file.write_text("nvidia:\n  resourceCountName: nvidia.com/gpu\ncambricon:\n  resourceCountName: cambricon.com/vmlu\n")
    assert run("check-config", str(file)).returncode == 0


@pytest.mark.parametrize("flags, words", [
    (["--node-scheduler-policy=bin-pack"], ["bin-pack", "binpack, spread"]),         # case 66
    (["--gpu-scheduler-policy=foo"], ["foo", "binpack, spread"]),                    # case 66
    (["--node-lock-timeout=30"], ["--node-lock-timeout", "30"]),                     # case 87
    (["--no-such-flag"], ["--no-such-flag"]),
    (["--device-config-file=/nonexistent"], ["/nonexistent"]),
])
def test_serve_refuses_wrong_flags_with_words(flags, words):
    done = run("serve", *flags, env={"HOME": "/nonexistent", "KUBECONFIG": ""})
    assert done.returncode != 0
    for word in words:
        assert word in done.stdout + done.stderr


def test_serve_names_the_field_of_a_wrong_kubeconfig(tmp_path):
    file = tmp_path / "kubeconfig"
    file.write_text("apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: x, user: u}}]\n"
                    "clusters: [{name: x, cluster: {server: 'https://127.0.0.1:1', certificate-authority-data: '%%%'}}]\n"
                    "users: [{name: u, user: {token: t}}]\n")
    done = run("serve", f"--kubeconfig={file}")
    assert done.returncode != 0 and "certificate-authority-data" in done.stderr
    done = run("serve", env={"HOME": "/nonexistent", "KUBECONFIG": ""})
    assert done.returncode != 0 and "/nonexistent/.kube/config" in done.stderr and "KUBERNETES_SERVICE_HOST" in done.stderr


def test_version():
    done = run("version")
    assert done.returncode == 0 and done.stdout.startswith("version: ")


def test_the_documented_rights_suffice(cluster):
    """Whole path as the service account of deploy/by-hand/rbac.yaml: nothing is refused, nothing is missing."""
    cluster.start_api_server()
    cluster.kubectl("apply", "-f", str(ROOT / "deploy" / "by-hand" / "rbac.yaml"))
    cluster.as_service_account("kube-system", "tessera")
    cluster.start_tessera("--leader-elect", "--leader-elect-resource-name=hami-scheduler", "--leader-elect-resource-namespace=kube-system",
                          "--leader-elect-host=pair")
    cluster.lease("kube-system", "hami-scheduler", "pair_1")
    cluster.start_scheduler()
    cluster.register_webhook()
    cluster.start_agents(2, 2)
    cluster.core.create_namespaced_pod("default", pod("first", gpu=1, mem=3000))
    wait_for("the pod runs", lambda: cluster.core.read_namespaced_pod("first", "default").status.phase == "Running", 40)
    refused = [c for c in cluster.calls_of_tessera(handshakes=True) if c[3] in (401, 403)]
    assert not refused, f"refused by RBAC: {refused[:5]}"
    wait_for("events arrive", lambda: any(c[:2] == ("create", "events") and c[3] == 201 for c in cluster.calls_of_tessera()), 10)
