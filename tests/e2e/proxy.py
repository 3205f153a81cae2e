"""A plain HTTP/1.1 proxy between two programs of a test. It can stop a request before it is sent on, or its answer before it is given
back, so that a program can be killed exactly there; and it can change bodies on their way."""
import contextlib
import socket
import ssl
import threading
import time


class Hold:
    """The first request that matches stops at the point named ("before" it is sent on or "after" its answer has come)."""

    def __init__(self, point, match):
        assert point in ("before", "after")
        self.point, self.match = point, match
        self.reached, self._go = threading.Event(), threading.Event()
        self._lock, self._taken, self._dropped = threading.Lock(), False, False
        self.request = None

    def take(self, point, method, path, body):
        if point != self.point or not self.match(method, path, body):
            return False
        with self._lock:
            if self._taken:
                return False
            self._taken = True
        self.request = (method, path, body)
        return True

    def stop_here(self):
        """Returns whether the exchange goes on."""
        self.reached.set()
        assert self._go.wait(120), "nobody let the request go"
        return not self._dropped

    def drop(self):
        self._dropped = True
        self._go.set()


class Dropped(Exception):
    pass


class Proxy:
    """Listens on loopback without TLS and speaks TLS to the target, as the client `token` names when there is one."""

    def __init__(self, host, port, ca=None, token=None, change=None):
        self.target = (host, port)
        self.tls = ssl.create_default_context(cafile=str(ca)) if ca else None
        self.token = token
        self.change = change  # (direction, path, body) -> body; None: bodies stay as they are
        self.holds = []
        self._open = set()
        self._guard = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        self._closing = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def hold(self, point, match):
        hold = Hold(point, match)
        self.holds.append(hold)
        return hold

    def close(self):
        self._closing = True
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for hold in self.holds:
            hold.drop()
        with self._guard:
            for s in self._open:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)

    # ---- one connection after the other -------------------------------------------------------------------------------
    def _accept(self):
        while not self._closing:
            try:
                client, _ = self.listener.accept()
            except OSError:  # of one connection that has gone already, or of the listener that is closed
                time.sleep(0.01)
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        upstream = None
        try:
            upstream = socket.create_connection(self.target, timeout=30)
            upstream.settimeout(None)
            if self.tls:
                upstream = self.tls.wrap_socket(upstream, server_hostname=self.target[0])
            for s in (client, upstream):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._guard:
                self._open.update((client, upstream))
            up, down = upstream.makefile("rb"), client.makefile("rb")
            while self._exchange(client, down, upstream, up):
                pass
        except (OSError, Dropped, ValueError):
            pass
        finally:
            for s in filter(None, (client, upstream)):
                with self._guard:
                    self._open.discard(s)
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
                s.close()

    def _stop_at(self, point, method, path, body):
        for hold in list(self.holds):
            if hold.take(point, method, path, body):
                if not hold.stop_here():
                    raise Dropped()

    def _exchange(self, client, down, upstream, up):
        head = read_head(down)
        if not head:
            return False
        method, path, _ = head[0].split(" ", 2)
        body = read_body(down, head)
        if self.change:
            body = self.change("request", path, body)
        self._stop_at("before", method, path, body)
        kept = [line for line in head[1:] if name_of(line) not in ("accept-encoding", "content-length", "transfer-encoding", "authorization")]
        if self.token:
            kept.append(f"Authorization: Bearer {self.token}")
        elif auth := [line for line in head[1:] if name_of(line) == "authorization"]:
            kept += auth
        if body or method in ("POST", "PUT", "PATCH"):
            kept.append(f"Content-Length: {len(body)}")
        upstream.sendall("\r\n".join([head[0], *kept, "", ""]).encode("latin-1") + body)
        answer = read_head(up)
        while answer and answer[0].split(" ")[1].startswith("1"):
            answer = read_head(up)
        if not answer:
            return False
        return self._give_back(client, up, (method, path, body), answer)

    def _give_back(self, client, up, request, answer):
        status = int(answer[0].split(" ")[1])
        chunked = any(name_of(line) == "transfer-encoding" for line in answer[1:])
        sized = any(name_of(line) == "content-length" for line in answer[1:])
        changes = self.change and self.change("applies", request[1], b"")
        if request[0] == "HEAD" or status in (204, 304):
            body = b""
        elif chunked and not changes and not sized:
            self._stop_at("after", *request)
            client.sendall("\r\n".join([*answer, "", ""]).encode("latin-1"))
            return relay_chunks(client, up)
        else:
            body = read_body(up, answer)
            if not (sized or chunked):
                body = up.read()
        if changes:
            body = self.change("answer", request[1], body)
        self._stop_at("after", *request)
        kept = [line for line in answer if name_of(line) not in ("content-length", "transfer-encoding")]
        if status not in (204, 304):
            kept.append(f"Content-Length: {len(body)}")
        client.sendall("\r\n".join([*kept, "", ""]).encode("latin-1") + body)
        return sized or chunked or status in (204, 304)


def name_of(line):
    return line.split(":", 1)[0].strip().lower()


def read_head(stream):
    lines = []
    while True:
        line = stream.readline(65536)
        if not line:
            return None
        line = line.decode("latin-1").rstrip("\r\n")
        if not line:
            if lines:
                return lines
            continue
        lines.append(line)


def read_body(stream, head):
    fields = {name_of(line): line.split(":", 1)[1].strip() for line in head[1:]}
    if "chunked" in fields.get("transfer-encoding", ""):
        body = b""
        while True:
            size = int(stream.readline().split(b";")[0], 16)
            piece = stream.read(size)
            stream.readline()
            if size == 0:
                return body
            body += piece
    return stream.read(int(fields.get("content-length", "0")))


def relay_chunks(client, stream):
    """Chunk by chunk, as a watch sends them. Returns whether the connection goes on."""
    while True:
        line = stream.readline()
        if not line:
            return False
        piece = stream.read(int(line.split(b";")[0], 16))
        end = stream.readline()
        client.sendall(line + piece + end)
        if not piece:
            return True
