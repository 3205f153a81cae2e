"""Pods for the benchmarks."""
import concurrent.futures


def create_pods(cluster, count, body, prefix="p"):
    """Named p-00000 and so on; returns the names."""
    names = [f"{prefix}-{i:05}" for i in range(count)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: cluster.core.create_namespaced_pod("default", body(name)), names))
    return names
