import pytest

from cluster import Cluster


@pytest.fixture
def cluster(tmp_path, request):
    c = Cluster(tmp_path / "cluster")
    yield c
    c.stop()
    if getattr(request.node, "failed", False):
        for path in sorted(c.folder.glob("*.log")):
            if path.name == "audit.log":
                continue
            lines = path.read_text(errors="replace").splitlines()[-30:]
            print(f"---- last lines of {path.name}\n" + "\n".join(line[:500] for line in lines))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call" and outcome.get_result().failed:
        item.failed = True
