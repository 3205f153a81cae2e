"""A real control plane on loopback for one test: etcd, kube-apiserver, kube-scheduler, tessera over HTTPS with its webhook, and
simulated node agents. Everything is started here, on free ports, in a temporary folder, and ended here by process id."""
import base64
import contextlib
import itertools
import json
import os
import pathlib
import random
import secrets
import signal
import socket
import subprocess
import time

import kubernetes
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TESSERA_CONTROL_PLANE", ROOT / ".cache" / "control-plane"))
TESSERA = pathlib.Path(os.environ.get("TESSERA_PROGRAM", ROOT / "build" / "tessera"))
AGENTS = pathlib.Path(os.environ.get("TESSERA_AGENTS", ROOT / "build" / "tests" / "tessera-agents"))
IDLE = pathlib.Path(os.environ.get("TESSERA_IDLE_EXTENDER", TESSERA.parent / "bench" / "idle_extender"))
SCHEDULER_NAME = "hami-scheduler"
RESOURCES = ["nvidia.com/gpu", "nvidia.com/gpumem", "nvidia.com/gpucores", "nvidia.com/gpumem-percentage", "nvidia.com/priority"]


_next_port = itertools.count(random.randrange(12000))


def free_port():
    """Below the range from which the kernel takes the ports of outgoing connections, and never the same one twice: a program that
    begins to listen a second later still finds it free."""
    for number in _next_port:
        port = 20000 + number % 12000
        with contextlib.closing(socket.socket()) as s, contextlib.suppress(OSError):
            s.bind(("127.0.0.1", port))
            return port


def wait_for(what, check, seconds=30.0, pause=0.05):
    """Polls check() until it returns something true; the failure says what was waited for and what was last seen."""
    end = time.monotonic() + seconds
    last = None
    while time.monotonic() < end:
        try:
            last = check()
            if last:
                return last
        except Exception as error:  # the API server may still be starting: shown when the time is up
            last = error
        time.sleep(pause)
    raise AssertionError(f"not within {seconds} s: {what}; last seen: {last!r}")


class Cluster:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.processes = {}
        self.scheduler_config, self.extender_config = {}, {}  # what a test wants otherwise in kube-scheduler's configuration
        for program in (BIN / "kube-apiserver", TESSERA, AGENTS):
            assert program.exists(), f"{program} is missing: run this through ./dev test"

    # ---- processes ------------------------------------------------------------------------------------------------
    def run(self, name, *arguments, env=None):
        log = open(self.folder / f"{name}.log", "ab")
        self.processes[name] = subprocess.Popen([str(a) for a in arguments], stdout=log, stderr=log, cwd=self.folder,
                                                env={**os.environ, **(env or {})}, start_new_session=True)
        return self.processes[name]

    def end(self, name, how=signal.SIGTERM, seconds=10):
        process = self.processes.pop(name, None)
        if process is None or process.poll() is not None:
            return
        process.send_signal(how)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def stop(self):
        last = ("tessera", "apiserver", "etcd")
        for name in [n for n in self.processes if n not in last] + list(last):
            self.end(name)

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    # ---- control plane --------------------------------------------------------------------------------------------
    def start_api_server(self):
        f = self.folder
        self.api_port, client, peer = free_port(), free_port(), free_port()
        token = secrets.token_hex(16)
        self.account_token = secrets.token_hex(16)
        (f / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n"
                                      f'{self.account_token},system:serviceaccount:kube-system:tessera,tessera,'
                                      '"system:serviceaccounts,system:serviceaccounts:kube-system,system:authenticated"\n')
        (f / "audit.yaml").write_text(yaml.safe_dump({"apiVersion": "audit.k8s.io/v1", "kind": "Policy",
                                                      "omitStages": ["RequestReceived", "ResponseStarted"],
                                                      "rules": [{"level": "Metadata"}]}))
        subprocess.run(["openssl", "genrsa", "-out", f / "sa.key", "2048"], check=True, capture_output=True)
        self.run("etcd", BIN / "etcd", "--data-dir", f / "etcd", "--unsafe-no-fsync", "--log-level", "error",
                 f"--listen-client-urls=http://127.0.0.1:{client}", f"--advertise-client-urls=http://127.0.0.1:{client}",
                 f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                 f"--initial-cluster=default=http://127.0.0.1:{peer}")
        self.run("apiserver", BIN / "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{client}", f"--secure-port={self.api_port}",
                 "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", f"--cert-dir={f / 'certs'}",
                 f"--service-account-key-file={f / 'sa.key'}", f"--service-account-signing-key-file={f / 'sa.key'}",
                 "--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.0.0.0/24",
                 "--endpoint-reconciler-type=none", f"--token-auth-file={f / 'tokens.csv'}", "--authorization-mode=RBAC",
                 "--disable-admission-plugins=ServiceAccount", f"--audit-policy-file={f / 'audit.yaml'}",
                 f"--audit-log-path={f / 'audit.log'}", "--audit-log-mode=blocking", "--max-requests-inflight=2000",
                 "--max-mutating-requests-inflight=2000")
        self.kubeconfig = f / "kubeconfig"
        self.kubeconfig.write_text(yaml.safe_dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "local",
            "clusters": [{"name": "local", "cluster": {"server": f"https://127.0.0.1:{self.api_port}",
                                                       "certificate-authority": str(f / "certs" / "apiserver.crt")}}],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": "local", "context": {"cluster": "local", "user": "admin"}}]}))
        wait_for("kube-apiserver is ready", lambda: self.kubectl("get", "--raw", "/readyz", check=False).returncode == 0, 90, 0.25)
        kubernetes.config.load_kube_config(str(self.kubeconfig))
        self.core = kubernetes.client.CoreV1Api()

    def as_service_account(self, namespace, name):
        """From here on tessera is that service account, with the rights that RBAC gives it."""
        assert (namespace, name) == ("kube-system", "tessera"), "the one account of tokens.csv"
        config = yaml.safe_load(self.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": self.account_token}
        self.tessera_kubeconfig = self.folder / "kubeconfig-account"
        self.tessera_kubeconfig.write_text(yaml.safe_dump(config))

    def lease(self, namespace, name, holder, seconds=3600):
        """What the kube-scheduler of a pair would hold."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
        body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "namespace": namespace},
                "spec": {"holderIdentity": holder, "leaseDurationSeconds": seconds, "acquireTime": now, "renewTime": now}}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(body))

    def kubectl(self, *arguments, check=True, stdin=None):
        return subprocess.run([str(BIN / "kubectl"), "--kubeconfig", str(self.kubeconfig), *arguments], check=check,
                              capture_output=True, text=True, input=stdin, timeout=60)

    def make_certificate(self):
        """A certificate authority of its own, so that a new server certificate stays trusted."""
        f = self.folder
        if not (f / "ca.crt").exists():
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                            "-subj", "/CN=test authority", "-keyout", f / "ca.key", "-out", f / "ca.crt"], check=True, capture_output=True)
        subprocess.run(["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=tessera",
                        "-keyout", f / "new.key", "-out", f / "new.csr"], check=True, capture_output=True)
        (f / "names.cnf").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost")
        subprocess.run(["openssl", "x509", "-req", "-in", f / "new.csr", "-CA", f / "ca.crt", "-CAkey", f / "ca.key", "-days", "2",
                        "-set_serial", str(secrets.randbits(63)), "-extfile", f / "names.cnf", "-out", f / "new.crt"],
                       check=True, capture_output=True)
        os.replace(f / "new.key", f / "tls.key")
        os.replace(f / "new.crt", f / "tls.crt")

    def start_tessera(self, *flags, wait=True):
        if not (self.folder / "tls.crt").exists():
            self.make_certificate()
        if not hasattr(self, "port"):
            self.port, self.metrics_port = free_port(), free_port()
        self.run("tessera", TESSERA, "serve", f"--kubeconfig={getattr(self, 'tessera_kubeconfig', self.kubeconfig)}", f"--http_bind=127.0.0.1:{self.port}",
                 f"--cert_file={self.folder / 'tls.crt'}", f"--key_file={self.folder / 'tls.key'}",
                 f"--scheduler-name={SCHEDULER_NAME}", f"--metrics-bind-address=127.0.0.1:{self.metrics_port}", *flags)
        if wait:
            wait_for("tessera is ready", lambda: self.get("/readyz").strip() == "200", 30)

    def start_idle_extender(self):
        """What tessera is compared with: see bench/idle_extender.cc. Returns its port."""
        assert IDLE.exists(), f"{IDLE} is missing: run this through ./dev bench e2e"
        if not (self.folder / "tls.crt").exists():
            self.make_certificate()
        port = free_port()
        self.run("idle", IDLE, f"--kubeconfig={self.kubeconfig}", f"--listen=127.0.0.1:{port}", f"--cert={self.folder / 'tls.crt'}",
                 f"--key={self.folder / 'tls.key'}")
        wait_for("the idle extender serves", lambda: self.get("/counts", body=True, port=port))
        return port

    def get(self, path, body=False, port=None):
        arguments = ["curl", "-s", "--cacert", str(self.folder / "ca.crt"), f"https://127.0.0.1:{port or self.port}{path}"]
        if not body:
            arguments += ["-o", os.devnull, "-w", "%{http_code}"]
        return subprocess.run(arguments, capture_output=True, text=True, timeout=20).stdout

    def served_certificate(self):
        """The certificate that a new connection gets, as PEM text."""
        shown = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.port}", "-servername", "localhost"],
                               input="", capture_output=True, text=True, timeout=10).stdout
        begin, end = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
        return shown[shown.index(begin):shown.index(end) + len(end)]

    def start_scheduler(self, scored=False, port=None, alone=False):
        """scored: kube-scheduler asks for scores and weighs them as the rendered configuration does; port: of the extender, if it is not
        tessera; alone: without any."""
        f = self.folder
        prioritize = {"prioritizeVerb": "prioritize", "weight": 5} if scored else {"weight": 1}
        config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
                  "leaderElection": {"leaderElect": False},
                  "clientConnection": {"kubeconfig": str(self.kubeconfig), "qps": 2000, "burst": 4000},
                  "percentageOfNodesToScore": 100, "profiles": [{"schedulerName": SCHEDULER_NAME}],
                  "extenders": [] if alone else
                  [{"urlPrefix": f"https://127.0.0.1:{port or self.port}", "filterVerb": "filter", "bindVerb": "bind",
                                 "nodeCacheCapable": True, **prioritize, "httpTimeout": "30s", "enableHTTPS": True,
                                 "tlsConfig": {"caFile": str(f / "ca.crt")},
                                 "managedResources": [{"name": n, "ignoredByScheduler": True} for n in RESOURCES],
                                 **self.extender_config}],
                  **self.scheduler_config}
        (f / "kube-scheduler.yaml").write_text(yaml.safe_dump(config))
        self.scheduler_port = free_port()
        self.run("kube-scheduler", BIN / "kube-scheduler", f"--config={f / 'kube-scheduler.yaml'}", f"--secure-port={self.scheduler_port}",
                 f"--cert-dir={f / 'scheduler-certs'}")

    def wait_for_scheduler(self):
        """Until it has read everything that there is."""
        wait_for("kube-scheduler is ready", lambda: subprocess.run(
            ["curl", "-sk", f"https://127.0.0.1:{self.scheduler_port}/readyz"], capture_output=True, text=True, timeout=20).stdout == "ok", 60)

    def register_webhook(self):
        ca = base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()
        hook = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": {"name": "tessera"},
                "webhooks": [{"name": "vgpu.hami.io", "admissionReviewVersions": ["v1", "v1beta1"], "sideEffects": "None",
                              "failurePolicy": "Fail", "timeoutSeconds": 10,
                              "clientConfig": {"url": f"https://127.0.0.1:{self.port}/webhook", "caBundle": ca},
                              "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]}]}
        self.kubectl("apply", "-f", "-", stdin=json.dumps(hook))
        # the API server reads its webhooks from a watch: a dry run shows when it calls ours
        wait_for("the webhook is called", lambda: self.core.create_namespaced_pod("default", pod("probe", gpu=1, mem=1), dry_run="All")
                 .spec.scheduler_name == SCHEDULER_NAME, 20)

    def start_agents(self, nodes, devices=8, delay_ms=20, memory=81920, *more):
        self.run("agents", AGENTS, f"--kubeconfig={self.kubeconfig}", f"--nodes={nodes}", f"--devices={devices}", f"--delay={delay_ms}ms",
                 f"--memory={memory}", f"--report={self.folder / 'agents.json'}", *more)
        wait_for("all nodes are registered", lambda: len([n for n in self.core.list_node().items
                                                          if "hami.io/node-nvidia-register" in (n.metadata.annotations or {})]) >= nodes, 60)

    def start(self, nodes, devices=8, delay_ms=20, memory=81920, flags=(), agents=(), scored=False):
        self.start_api_server()
        self.start_tessera(*flags, *(["--answer=scored"] if scored else []))
        self.start_scheduler(scored)
        self.register_webhook()
        self.start_agents(nodes, devices, delay_ms, memory, *agents)
        wait_for("tessera knows the nodes", lambda: self.device_rows() >= nodes * devices, 30)

    # ---- what tests ask -------------------------------------------------------------------------------------------
    def device_rows(self):
        return sum(1 for line in self.get("/metrics", body=True).splitlines() if line.startswith("hami_gpu_memory_limit_bytes{"))

    def cpu_seconds(self):
        """{name: seconds of processor time that each process has used}."""
        used = {}
        for name, process in self.processes.items():
            with contextlib.suppress(OSError):
                fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
                used[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return used

    def metric(self, name):
        """The value of a metric without labels, or the sum over all labels."""
        rows = [line.rsplit(" ", 1) for line in self.get("/metrics", body=True).splitlines() if not line.startswith("#")]
        return sum(float(value) for key, value in rows if key.split("{")[0] == name)

    def pods(self, namespace="default"):
        return self.core.list_namespaced_pod(namespace).items

    def violations(self):
        """Ends the agents and returns what they saw broken."""
        self.end("agents")
        report = json.loads((self.folder / "agents.json").read_text())
        return report["violations"], report["served"]

    def calls_of_tessera(self, handshakes=False):
        """[(verb, resource[/subresource], name)] of every finished request under our user agent, from the audit log."""
        calls = []
        for line in (self.folder / "audit.log").read_text().splitlines():
            entry = json.loads(line)
            if not entry.get("userAgent", "").startswith("tessera/") or "objectRef" not in entry:
                continue
            if not handshakes and "fieldManager=tessera-handshake" in entry.get("requestURI", ""):
                continue  # D16: handshakes do not count
            ref = entry["objectRef"]
            resource = ref.get("resource", "") + ("/" + ref["subresource"] if ref.get("subresource") else "")
            calls.append((entry["verb"], resource, ref.get("name", ""), entry.get("responseStatus", {}).get("code", 0)))
        return calls

    def calls_per_pod(self, pods):
        """Requests on pods, bindings and nodes per pod; lists, watches and events aside (D16)."""
        counted = [c for c in self.calls_of_tessera() if c[1] in ("pods", "pods/binding", "nodes") and c[0] not in ("list", "watch")]
        return len(counted) / pods

    def locks(self):
        return {n.metadata.name: n.metadata.annotations["hami.io/mutex.lock"] for n in self.core.list_node().items
                if "hami.io/mutex.lock" in (n.metadata.annotations or {})}


def create(cluster, body):
    return cluster.core.create_namespaced_pod("default", body)


def read(cluster, name):
    return cluster.core.read_namespaced_pod(name, "default")


def running(cluster, name, seconds=30):
    """The pod, once it runs."""
    return wait_for(f"pod {name} runs", lambda: (lambda p: p if p.status.phase == "Running" else None)(read(cluster, name)), seconds)


def events(cluster, name, reason=None):
    found = cluster.core.list_namespaced_event("default", field_selector=f"involvedObject.name={name}").items
    return [e for e in found if reason is None or e.reason == reason]


def refusal(cluster, name, seconds=30):
    """What kube-scheduler first says of a pod that fits nowhere."""
    return wait_for(f"{name} is refused", lambda: [e.message for e in events(cluster, name, "FailedScheduling")], seconds)[0]


def registered(cluster, node):
    return json.loads(cluster.core.read_node(node).metadata.annotations["hami.io/node-nvidia-register"])


def device_container(name, gpu=None, mem=None, cores=None, percent=None, **more):
    """A container that asks for slices; `more` goes into it as it is."""
    limits = {}
    for key, value in (("gpu", gpu), ("gpumem", mem), ("gpucores", cores), ("gpumem-percentage", percent)):
        if value is not None:
            limits[f"nvidia.com/{key}"] = str(value)
    return {"name": name, "image": "none", "resources": {"limits": limits}, **more}


def pod(name, gpu=None, mem=None, cores=None, annotations=None, containers=None, scheduler=None):
    """A pod as a user writes it: one container with limits, or the containers given."""
    limits = {}
    for key, value in (("nvidia.com/gpu", gpu), ("nvidia.com/gpumem", mem), ("nvidia.com/gpucores", cores)):
        if value is not None:
            limits[key] = str(value)
    spec = {"containers": containers or [{"name": "main", "image": "none", "resources": {"limits": limits}}],
            "terminationGracePeriodSeconds": 0}
    if scheduler:
        spec["schedulerName"] = scheduler
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations or {}}, "spec": spec}


def usage_by_device(pods):
    """{(node, uuid): [pods, memory, cores]} of live bound pods, from their allocated annotations."""
    used = {}
    for p in pods:
        text = (p.metadata.annotations or {}).get("hami.io/vgpu-devices-allocated")
        if not p.spec.node_name or not text or p.status.phase in ("Succeeded", "Failed"):
            continue
        for entry in filter(None, text.replace(";", "").split(":")):
            uuid, _, memory, cores = entry.split(",")[:4]
            row = used.setdefault((p.spec.node_name, uuid), [0, 0, 0])
            row[0] += 1
            row[1] += int(memory)
            row[2] += int(cores)
    return used


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
