"""The demo as a newcomer runs it, and a real kubectl on the API server inside it."""
import json
import re
import signal
import subprocess
import time

import pytest

from cluster import BIN, TESSERA, free_port, pod, wait_for


class Demo:
    def __init__(self, folder, *flags):
        self.kubeconfig = folder / "demo.kubeconfig"
        self.output = folder / "demo.out"
        self.process = subprocess.Popen([str(TESSERA), "demo", f"--port={free_port()}", f"--kubeconfig-out={self.kubeconfig}", *flags],
                                        stdout=open(self.output, "wb"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        wait_for("the demo's API server answers",
                 lambda: self.kubeconfig.exists() and self.kubectl("get", "--raw", "/healthz", check=False).stdout == "ok", 30)

    def kubectl(self, *arguments, check=True, stdin=None, timeout=30):
        done = subprocess.run([str(BIN / "kubectl"), "--kubeconfig", str(self.kubeconfig), *arguments], capture_output=True, text=True,
                              input=stdin, timeout=timeout)
        assert not check or done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)


@pytest.fixture
def demo(tmp_path):
    d = Demo(tmp_path, "--nodes=4", "--devices=4", "--rate=5", "--for=120s")
    yield d
    d.end()


def test_kubectl_works_on_the_embedded_cluster(demo):
    k = demo.kubectl
    wait_for("nodes are there", lambda: len(k("get", "nodes", "--no-headers").stdout.splitlines()) == 4)
    wait_for("the demo has made its first pods", lambda: k("get", "pods", "-o", "name").stdout)
    table = k("get", "pods", "-o", "wide").stdout
    assert re.match(r"NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\s+IP\s+NODE", table), table

    manifest = json.dumps(pod("mine", gpu=1, mem=1000, scheduler="hami-scheduler"))
    k("create", "--validate=false", "-f", "-", stdin=manifest)
    wait_for("my pod runs", lambda: k("get", "pod", "mine", "-o", "jsonpath={.status.phase}").stdout == "Running")
    text = k("get", "pod", "mine", "-o", "yaml").stdout
    assert "hami.io/vgpu-devices-allocated:" in text and "nodeName:" in text

    applied = pod("applied", gpu=1, mem=500, scheduler="hami-scheduler")
    k("apply", "--validate=false", "-f", "-", stdin=json.dumps(applied))
    applied["metadata"]["labels"] = {"tier": "gold"}
    assert "configured" in k("apply", "--validate=false", "-f", "-", stdin=json.dumps(applied)).stdout
    k("annotate", "pod", "mine", "example.com/note=hello")
    k("label", "pod", "mine", "team=a")
    assert k("get", "pods", "-l", "team=a", "-o", "name").stdout.strip() == "pod/mine"
    assert k("get", "pods", "--field-selector=metadata.name=applied", "-o", "name").stdout.strip() == "pod/applied"
    assert "hello" in k("get", "pod", "mine", "-o", "jsonpath={.metadata.annotations}").stdout
    described = k("describe", "pod", "mine").stdout
    assert re.search(r"Name:\s+mine", described) and "hami.io/vgpu-node" in described
    node = k("get", "pod", "mine", "-o", "jsonpath={.spec.nodeName}").stdout
    assert re.search(rf"Name:\s+{node}", k("describe", "node", node).stdout)
    k("delete", "pod", "mine", "--wait=true")
    assert k("get", "pod", "mine", check=False).returncode != 0


def test_kubectl_watch_shows_changes(demo):
    watch = subprocess.Popen([str(BIN / "kubectl"), "--kubeconfig", str(demo.kubeconfig), "get", "pods", "-w", "--no-headers"],
                             stdout=subprocess.PIPE, text=True)
    try:
        demo.kubectl("create", "--validate=false", "-f", "-", stdin=json.dumps(pod("seen", gpu=1, mem=100, scheduler="hami-scheduler")))
        lines = []
        end = time.monotonic() + 20
        while time.monotonic() < end and not any(re.match(r"seen\s.*Running", line) for line in lines):
            lines.append(watch.stdout.readline())
        assert any(re.match(r"seen\s.*Running", line) for line in lines), lines[-5:]
    finally:
        watch.terminate()
        watch.wait(10)


def test_demo_without_terminal_prints_lines_and_a_summary(tmp_path):
    d = Demo(tmp_path, "--nodes=4", "--devices=2", "--rate=20", "--for=5s")
    assert d.process.wait(40) == 0
    lines = d.output.read_text().splitlines()
    assert len(lines) >= 5, lines
    assert "\x1b" not in d.output.read_text(), "no escape sequences without a terminal"


def test_ctrl_c_ends_the_demo_cleanly(tmp_path):
    d = Demo(tmp_path, "--nodes=2", "--devices=2", "--for=60s")
    time.sleep(1)
    assert d.end() == 0
    assert d.output.read_text().strip(), "a summary is printed"
