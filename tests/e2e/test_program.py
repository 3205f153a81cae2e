"""The program as an operator meets it before any cluster is there: words and exit codes."""
import os
import re
import subprocess

import pytest
import yaml

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


VERSION_LINES = ["version:", "revision:", "build date:", "go version:", "compiler:", "platform:"]


def test_version_has_hamis_six_lines():
    done = run("version")
    assert done.returncode == 0
    assert [line[:line.index(":") + 1] for line in done.stdout.splitlines()] == VERSION_LINES


def test_under_the_name_scheduler_it_is_tessera_serve(tmp_path):
    link = tmp_path / "scheduler"
    link.symlink_to(TESSERA)
    env = {**os.environ, "HOME": "/nonexistent", "KUBECONFIG": ""}

    def scheduler(*arguments):
        return subprocess.run([str(link), *arguments], capture_output=True, text=True, timeout=20, env=env)

    version = scheduler("version")  # HAMi writes it to standard error
    assert version.returncode == 0 and version.stdout == ""
    assert [line[:line.index(":") + 1] for line in version.stderr.splitlines()] == VERSION_LINES
    assert scheduler("--no-such-flag").returncode == 255
    served = scheduler("--debug", "-v=4", "--http_bind=127.0.0.1:0", "--device-config-file=/nonexistent")
    assert served.returncode == 1 and "/nonexistent" in served.stderr


def test_vendors_prints_the_table(tmp_path):
    done = run("vendors")
    assert done.returncode == 0
    header, *rows = done.stdout.splitlines()
    assert header.split()[:3] == ["VENDOR", "SECTION", "COUNT"]
    row = next(r.split() for r in rows if r.startswith("NVIDIA "))
    assert row[1:4] == ["nvidia", "nvidia.com/gpu", "nvidia.com/gpumem"]
    assert not any(r.startswith("Ascend") for r in rows)
    assert any(r.startswith("Ascend") for r in run("vendors", "--enable-ascend").stdout.splitlines())
    bad = tmp_path / "bad.yaml"
    bad.write_text("nvidia:\n  defaultMemory: 12x\n")
    done = run("vendors", f"--device-config-file={bad}")
    assert done.returncode == 1 and "line 2: nvidia.defaultMemory" in done.stderr


def test_explain_says_what_is_wrong_with_the_question(tmp_path):
    done = run("explain", "pod", "default/p", "--server=http://127.0.0.1:1")
    assert done.returncode == 1 and "http://127.0.0.1:1" in done.stderr
    bad = tmp_path / "pod.yaml"
    bad.write_text("metadata:\n  name: [a\n")
    done = run("explain", "-f", str(bad))
    assert done.returncode == 1 and "line " in done.stderr


def test_every_flag_is_in_the_operating_guide():
    said = set(re.findall(r"^  (?:-\w,)?(--[A-Za-z_-]+)", run("serve", "--help").stdout, re.M)) - {"--help"}
    table = set(re.findall(r"^\| (?:`-v`, )?`(--[A-Za-z_-]+)`", (ROOT / "docs" / "operations.md").read_text(), re.M))
    assert said and table == said, f"not in the guide: {said - table}; not in the program: {table - said}"


def test_every_flag_of_render_and_check_config_is_in_the_reference():
    said = set()
    for command in (["render", "scheduler-config"], ["check-config"]):
        for line in run(*command, "--help").stdout.splitlines():
            if re.match(r"  (-\w,)?--", line):
                said |= set(re.findall(r"--[A-Za-z_-]+", line.split("  ")[1].split(" ")[0]))
    rows = [line.split("|")[1] for line in (ROOT / "docs" / "reference.md").read_text().splitlines() if line.startswith("| `--")]
    table = set(re.findall(r"`(--[A-Za-z_-]+)`", "".join(rows)))
    assert said - {"--help"} == table, f"not in the reference: {said - table}; not in the program: {table - said}"


def test_the_configuration_for_an_installation_by_hand_is_in_order(tmp_path):
    objects = list(yaml.safe_load_all((ROOT / "deploy" / "by-hand" / "scheduler.yaml").read_text()))
    file = tmp_path / "config.yaml"
    file.write_text(next(o for o in objects if o["kind"] == "ConfigMap")["data"]["config.yaml"])
    serve = next(c for o in objects if o["kind"] == "Deployment" for c in o["spec"]["template"]["spec"]["containers"] if c["name"] == "tessera")
    words = [*serve.get("command", []), *serve.get("args", [])]
    flags = [w for w in words if w.startswith(("--scheduler-name", "--leader-elect", "--answer", "--enable-", "--node-lock-retry"))]
    assert any(w.startswith("--leader-elect") for w in flags), words
    done = run("check-config", f"--scheduler-config={file}", *flags)
    assert (done.returncode, done.stdout) == (0, f"{file}: in order\n")
