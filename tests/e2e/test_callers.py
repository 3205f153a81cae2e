"""Case 182: a kube-scheduler that shows a client certificate, and others that do not."""
import json
import subprocess

from cluster import create, pod, read, running

EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def client_certificate(folder, name, authority):
    """A pair for clients, signed by an authority of its own, as an operator would make it."""
    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
    if not (folder / f"{authority}.crt").exists():
        openssl("req", "-x509", *EC, "-days", "2", "-subj", f"/CN={authority}", "-keyout", folder / f"{authority}.key", "-out",
                folder / f"{authority}.crt")
    openssl("req", *EC, "-subj", f"/CN={name}", "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.csr")
    (folder / "client.cnf").write_text("extendedKeyUsage=clientAuth")
    openssl("x509", "-req", "-in", folder / f"{name}.csr", "-CA", folder / f"{authority}.crt", "-CAkey", folder / f"{authority}.key", "-days",
            "2", "-set_serial", "7", "-extfile", folder / "client.cnf", "-out", folder / f"{name}.crt")
    return {"certFile": str(folder / f"{name}.crt"), "keyFile": str(folder / f"{name}.key")}


def call(cluster, path, body, identity=None):
    arguments = ["curl", "-s", "--cacert", str(cluster.folder / "ca.crt"), f"https://127.0.0.1:{cluster.port}{path}", "-d", json.dumps(body)]
    if identity:
        arguments += ["--cert", identity["certFile"], "--key", identity["keyFile"]]
    return json.loads(subprocess.run(arguments, capture_output=True, text=True, timeout=20, check=True).stdout)


def test_kube_scheduler_with_its_certificate_binds_and_nobody_without(cluster):
    cluster.folder.mkdir(exist_ok=True)
    identity = client_certificate(cluster.folder, "kube-scheduler", "clients")
    cluster.extender_config = {"tlsConfig": {"caFile": str(cluster.folder / "ca.crt"), **identity}}
    stranger = client_certificate(cluster.folder, "stranger", "others")
    # start() also waits until the webhook is called: kube-apiserver shows no certificate and needs none
    cluster.start(nodes=2, devices=1, flags=[f"--extender-client-ca={cluster.folder / 'clients.crt'}"])
    create(cluster, pod("first", gpu=1, mem=2000))
    running(cluster, "first")

    # Nobody schedules this one.
    waiting = pod("waiting", gpu=1, mem=2000)
    waiting["spec"]["schedulerName"] = "nobody"
    create(cluster, waiting)
    uid = read(cluster, "waiting").metadata.uid
    node = cluster.core.list_node().items[0].metadata.name
    bind = {"PodName": "waiting", "PodNamespace": "default", "PodUID": uid, "Node": node}
    for shown, why in ((None, "none was shown"), (stranger, "unable to get local issuer certificate")):
        answer = call(cluster, "/bind", bind, shown)
        assert "client certificate" in answer["Error"] and why in answer["Error"], answer
    assert read(cluster, "waiting").spec.node_name is None
    page = cluster.get("/metrics", body=True)
    assert 'tessera_callers_refused_total{path="/bind"} 2' in page
    # the same calls with kube-scheduler's certificate go through to the answer that they deserve
    assert "caller is not known" not in json.dumps(call(cluster, "/bind", bind, identity))
    assert cluster.get("/readyz") == "200"
