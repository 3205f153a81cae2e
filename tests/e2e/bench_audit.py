"""What the API server's audit log tells about a run: when pods were created and bound, how long calls took, who made them. Times are
seconds since the epoch, exact to the microsecond and all of one clock."""
import dataclasses
import datetime
import json
import time


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


@dataclasses.dataclass
class Call:
    verb: str
    resource: str  # "pods/binding"
    name: str
    code: int
    agent: str  # "tessera/0.1.0"
    uri: str
    received: float
    answered: float


def calls_of(path, offset=0):
    """(finished calls in the order of their ends, where to go on reading)."""
    calls = []
    with open(path, "rb") as file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):  # half written
                break
            offset += len(line)
            entry = json.loads(line)
            ref = entry.get("objectRef")
            if ref is None or entry["verb"] == "watch":
                continue
            resource = ref.get("resource", "") + ("/" + ref["subresource"] if ref.get("subresource") else "")
            calls.append(Call(entry["verb"], resource, ref.get("name", ""), entry.get("responseStatus", {}).get("code", 0),
                              entry.get("userAgent", "").split(" ")[0], entry.get("requestURI", ""),
                              moment(entry["requestReceivedTimestamp"]), moment(entry["stageTimestamp"])))
    return calls, offset


def bindings(calls):
    """{pod: [accepted Binding]}; more than one would be a pod bound twice."""
    found = {}
    for call in calls:
        if (call.verb, call.resource, call.code) == ("create", "pods/binding", 201):
            found.setdefault(call.name, []).append(call)
    return found


def created(calls):
    """{pod: when}."""
    return {c.name: c.answered for c in calls if (c.verb, c.resource, c.code) == ("create", "pods", 201) and c.name.startswith("p-")}


def writes_of_binds(calls, agent):
    """Calls on pods, bindings and nodes under a user agent; lists and handshakes aside (D16)."""
    return [c for c in calls if c.agent.startswith(agent) and c.resource in ("pods", "pods/binding", "nodes") and c.verb != "list"
            and "fieldManager=tessera-handshake" not in c.uri]


def counter_of_bindings(path, offset=0):
    """A function that counts the accepted ones after `offset`; cheaper than reading the lines as JSON, and each line is read once."""
    state = {"offset": offset, "count": 0}

    def count():
        with open(path, "rb") as file:
            file.seek(state["offset"])
            data = file.read()
        whole = data.rfind(b"\n") + 1
        state["offset"] += whole
        state["count"] += sum(b'"subresource":"binding"' in line and b'"code":201' in line for line in data[:whole].splitlines())
        return state["count"]
    return count


def wait_until_bound(cluster, pods, limit, offset=0):
    """True once all are bound. A Binding that was written although its client had hung up is logged as a failure: when nothing moves, the
    pods themselves are asked."""
    count, end = counter_of_bindings(cluster.folder / "audit.log", offset), time.monotonic() + limit
    seen, still_since = 0, time.monotonic()
    while time.monotonic() < end:
        bound = count()
        if bound >= pods:
            return True
        if bound > seen:
            seen, still_since = bound, time.monotonic()
        elif time.monotonic() - still_since > 5:
            found = cluster.pods()
            if len(found) >= pods and all(p.spec.node_name for p in found):
                return True
            still_since = time.monotonic()
        time.sleep(0.25)
    return False


def bound_at(cluster, calls, pods):
    """{pod: when its Binding was answered}, whatever was answered, of pods that are on a node."""
    bound = {name: found[-1].answered for name, found in bindings(calls).items()}
    if len(bound) >= pods:
        return bound
    on_node = {p.metadata.name for p in cluster.pods() if p.spec.node_name} - set(bound)
    for call in calls:
        if (call.verb, call.resource) == ("create", "pods/binding") and call.name in on_node:
            bound[call.name] = call.answered
    return bound
