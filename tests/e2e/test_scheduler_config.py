"""kube-scheduler's configuration: what `tessera render scheduler-config` prints starts the real kube-scheduler and pods land by it, and
`tessera check-config` names what kube-scheduler itself says nothing about."""
import subprocess

import yaml

from cluster import BIN, SCHEDULER_NAME, TESSERA, create, events, free_port, pod, running, wait_for


def tessera(*arguments):
    return subprocess.run([str(TESSERA), *[str(a) for a in arguments]], capture_output=True, text=True, timeout=20)


def render(cluster, name, *flags):
    done = tessera("render", "scheduler-config", f"--url=https://127.0.0.1:{cluster.port}", f"--tls-ca={cluster.folder / 'ca.crt'}",
                   f"--kubeconfig={cluster.kubeconfig}", "--kube-version=1.36", *flags)
    assert done.returncode == 0, done.stderr
    file = cluster.folder / name
    file.write_text(done.stdout)
    return file


def check(file, *flags):
    return tessera("check-config", f"--scheduler-config={file}", f"--scheduler-name={SCHEDULER_NAME}", "--kube-version=1.36", *flags)


def start_kube_scheduler(cluster, file, name):
    cluster.run(name, BIN / "kube-scheduler", f"--config={file}", f"--secure-port={free_port()}", f"--cert-dir={cluster.folder / 'scheduler-certs'}")


def scored_calls(cluster):
    """How often the server has given scores."""
    return sum(int(float(line.rsplit(" ", 1)[1])) for line in cluster.get("/metrics", body=True).splitlines()
               if line.startswith("tessera_extender_request_duration_seconds_count{") and 'verb="prioritize"' in line)


def knows_the_nodes(cluster, devices):
    wait_for("tessera knows the nodes", lambda: cluster.device_rows() >= devices, 60)


LEADER = ["--leader-elect", f"--leader-elect-resource-name={SCHEDULER_NAME}", "--leader-elect-resource-namespace=kube-system"]


def test_what_is_rendered_starts_kube_scheduler_and_pods_land(cluster):
    # single, with the Lease that both watch
    cluster.start_api_server()
    cluster.start_tessera("--answer=single", *LEADER)
    single = render(cluster, "single.yaml", "--single", *LEADER)
    done = check(single, "--answer=single", *LEADER)
    assert (done.returncode, done.stdout) == (0, f"{single}: in order\n")
    start_kube_scheduler(cluster, single, "kube-scheduler-single")
    cluster.register_webhook()
    cluster.start_agents(2, 2)
    knows_the_nodes(cluster, 4)
    create(cluster, pod("single", gpu=1, mem=3000, cores=10))
    p = running(cluster, "single", 60)
    assert p.metadata.annotations["hami.io/vgpu-devices-allocated"]
    assert scored_calls(cluster) == 0, "one node is not scored"
    cluster.end("kube-scheduler-single")
    cluster.end("tessera")

    # scored: kube-scheduler asks for scores
    cluster.start_tessera("--answer=scored")
    knows_the_nodes(cluster, 4)
    scored = render(cluster, "scored.yaml", "--scored", "--preempt")
    done = check(scored, "--answer=scored")
    assert (done.returncode, done.stdout) == (0, f"{scored}: in order\n")
    done = check(single, "--answer=scored")
    assert done.returncode == 1 and "error: extenders[0].prioritizeVerb: missing" in done.stdout, done.stdout
    start_kube_scheduler(cluster, scored, "kube-scheduler-scored")
    create(cluster, pod("scored", gpu=1, mem=3000))
    running(cluster, "scored", 60)
    assert scored_calls(cluster) == 1
    cluster.end("kube-scheduler-scored")

    # a wrong verb: the pod lands, and nobody but check-config says a word
    wrong = cluster.folder / "wrong.yaml"
    wrong.write_text(scored.read_text().replace("prioritizeVerb: prioritize", "prioritizeVerb: prioritise"))
    done = check(wrong, "--answer=scored")
    line = wrong.read_text().splitlines().index("  prioritizeVerb: prioritise") + 1
    assert done.returncode == 1
    assert done.stdout.startswith(f'{wrong}: line {line}: error: extenders[0].prioritizeVerb: "prioritise": tessera serve serves only '
                                  "/prioritize and /priority"), done.stdout
    assert len(done.stdout.splitlines()) == 1, done.stdout
    start_kube_scheduler(cluster, wrong, "kube-scheduler-wrong")
    create(cluster, pod("silent", gpu=1, mem=3000))
    running(cluster, "silent", 60)
    assert scored_calls(cluster) == 1, "the scores never arrived"
    assert not events(cluster, "silent", "FailedScheduling")
    assert "prioritise" not in cluster.log("kube-scheduler-wrong")
    cluster.end("kube-scheduler-wrong")
    assert cluster.violations()[0] == []


def test_kube_scheduler_refuses_what_check_config_calls_refused(cluster):
    """Errors that say that kube-scheduler does not start are held against kube-scheduler itself."""
    cluster.start_api_server()
    cluster.make_certificate()
    cluster.port = free_port()
    good = render(cluster, "good.yaml", "--scored")

    def spoil(change):
        config = yaml.safe_load(good.read_text())
        change(config)
        return config

    extender = lambda c: c["extenders"][0]  # noqa: E731
    rows = {
        "duplicate": lambda c: extender(c)["managedResources"].append(dict(extender(c)["managedResources"][0])),
        "two-binders": lambda c: c["extenders"].append({"urlPrefix": "http://127.0.0.1:1", "bindVerb": "bind"}),
        "no-weight": lambda c: extender(c).update(weight=0),
        "unknown-field": lambda c: extender(c).update(ignoreable=False),
        "policy-spelling": lambda c: extender(c).update(enableHttps=True),
        "number-for-duration": lambda c: extender(c).update(httpTimeout=30),
        "bad-resource": lambda c: extender(c)["managedResources"].append({"name": "gpu"}),
        "two-profiles": lambda c: c["profiles"].append(dict(c["profiles"][0])),
        "over-100": lambda c: c.update(percentageOfNodesToScore=101),
        "back-off": lambda c: c.update(podInitialBackoffSeconds=5),
        "old-version": lambda c: c.update(apiVersion="kubescheduler.config.k8s.io/v1beta3"),
        "insecure-and-ca": lambda c: extender(c)["tlsConfig"].update(insecure=True),
        "text-for-bool": lambda c: extender(c).update(nodeCacheCapable="yes"),
    }
    for name, change in rows.items():
        file = cluster.folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(spoil(change)))
        done = check(file, "--answer=scored")
        assert done.returncode == 1, f"{name}: {done.stdout}"
        assert "not start" in done.stdout, f"{name}: {done.stdout}"
        start_kube_scheduler(cluster, file, name)
        code = cluster.processes[name].wait(60)
        assert code != 0, f"{name}: kube-scheduler took it\n{cluster.log(name)}"
