import pytest

from cluster import Cluster


@pytest.fixture
def cluster(tmp_path, request):
    c = Cluster(tmp_path / "cluster")
    yield c
    c.stop()
    if getattr(request.node, "failed", False):
        for name in ("tessera", "kube-scheduler", "agents"):
            path = c.folder / f"{name}.log"
            if path.exists():
                print(f"---- last lines of {name}.log\n" + "\n".join(path.read_text(errors="replace").splitlines()[-30:]))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call" and outcome.get_result().failed:
        item.failed = True
