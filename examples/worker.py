#!/usr/bin/env python3
"""A Heddle worker in Python's standard library alone: see docs/worker-protocol.md.

    python3 worker.py http://127.0.0.1:7411 [token]
"""

import base64, hashlib, json, os, socket, ssl, struct, sys, threading, time, urllib.parse, uuid

OWN_PATIENCE = 0.9  # of the member's patience: an attempt stops before the member declares it lost


class Closed(Exception):
    pass


class WebSocket:
    """A client's WebSocket (RFC 6455) for text messages."""

    def __init__(self, url, token):
        at = urllib.parse.urlsplit(url)
        port = at.port or (443 if at.scheme == "https" else 80)
        self.sock = socket.create_connection((at.hostname, port), timeout=10)
        if at.scheme == "https":
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=at.hostname)
        self.lock, self.buffer = threading.Lock(), b""
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {at.path.rstrip('/')}/ws/worker HTTP/1.1", f"Host: {at.netloc}", "Upgrade: websocket",
                 "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        self.sock.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self._fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        accept = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        if b" 101 " not in head.split(b"\r\n")[0] or base64.b64encode(accept) not in head:
            raise Closed(head.split(b"\r\n")[0].decode())

    def _fill(self):
        data = self.sock.recv(65536)
        if not data:
            raise Closed("the server closed the connection")
        self.buffer += data

    def _take(self, count):
        while len(self.buffer) < count:
            self._fill()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def send(self, data, opcode=1):
        size, mask = len(data), os.urandom(4)
        length = bytes([0x80 | size]) if size < 126 else (
            struct.pack("!BH", 0x80 | 126, size) if size < 65536 else struct.pack("!BQ", 0x80 | 127, size))
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        with self.lock:
            self.sock.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def receive(self):
        """The next text message; pings are answered on the way."""
        text = b""
        while True:
            first, second = self._take(2)
            size = second & 127
            if size == 126:
                size = struct.unpack("!H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack("!Q", self._take(8))[0]
            data, opcode = self._take(size), first & 15
            if opcode == 8:
                raise Closed(data[2:].decode("utf-8", "replace") or "the server closed the connection")
            if opcode == 9:
                self.send(data, 10)
            elif opcode in (0, 1):
                text += data
                if first & 0x80:
                    return text.decode()


class Worker:
    def __init__(self, url, token, jobs, slots=4):
        self.url, self.token, self.slots = url, token, slots
        self.id = str(uuid.uuid4())  # new for each process
        self.jobs = {f"{name}@{signature(schema)}": (function, schema) for name, (function, schema) in jobs.items()}
        self.lock = threading.RLock()
        self.link, self.welcome = None, None
        self.sequence = self.highest = self.closed = 0
        self.seen, self.sent = set(), {}
        self.incarnation, self.epochs = 0, {}
        self.beat, self.lost = 10.0, 60.0
        self.renewed = time.monotonic()
        self.running, self.results = {}, {}  # by attempt id: {"grant", "descriptor"}, and "outcome" once it has ended

    def run(self):
        while True:
            try:
                self.serve()
            except (Closed, OSError) as error:
                print(f"not connected: {error}", file=sys.stderr, flush=True)
            time.sleep(0.5)

    def serve(self):
        with self.lock:
            self.link = WebSocket(self.url, self.token)
            # Numbers of grants count for one connection; attempts from earlier ones have grant 0.
            self.highest = self.closed = 0
            self.seen, self.sent = set(), {}
            for each in [*self.running.values(), *self.results.values()]:
                each["grant"] = 0
            self.say({"type": "Hello", "worker": self.id, **self.numbers(), "jobs": list(self.jobs),
                      "jobDetails": [{"id": id, "parameters": json.dumps(schema)} for id, (_, schema) in self.jobs.items()],
                      "slots": self.slots, **({"lastWelcome": self.welcome} if self.welcome else {}),
                      "running": [plain(each) for each in self.running.values()], "results": list(self.results.values())})
        self.link.sock.settimeout(self.beat * 2)
        stop = threading.Event()
        threading.Thread(target=self.heartbeats, args=(self.link, stop), daemon=True).start()
        try:
            while True:
                self.on(json.loads(self.link.receive()))
        finally:
            stop.set()

    def heartbeats(self, link, stop):
        while not stop.wait(self.beat):
            with self.lock:
                self.give_up_expired()
                for result in self.results.values():
                    self.report(result)
                self.say({"type": "Heartbeat", **self.numbers(), "running": [key(each) for each in self.running.values()],
                          "finished": [key(each) for each in self.results.values()]}, link)

    def numbers(self):
        """Numbers a hello or heartbeat, and closes the grants seen so far."""
        self.sequence += 1
        self.sent[self.sequence] = time.monotonic()
        self.closed, self.seen = self.highest, set()
        return {"sequence": self.sequence, "lastGrant": self.closed}

    def say(self, message, link=None):
        try:
            (link or self.link).send(json.dumps(message).encode())
        except OSError:
            pass  # lost: what matters is sent again

    def report(self, result):
        self.say({"type": "Result", **key(result), "outcome": result["outcome"],
                  "startedAt": result["descriptor"]["startedAt"]})

    def on(self, message):
        with self.lock:
            kind = message["type"]
            if kind in ("Welcome", "Renewed"):
                self.on_renewal(message)
            elif kind == "Grant":
                self.on_grant(message)
            elif kind == "Abort":
                self.seen.add(message["grant"])
                self.highest = max(self.highest, message["grant"])
                self.forget(self.running, message)
                self.say({"type": "Refused", **only_key(message), "why": "the task was aborted"})
            elif kind == "Acknowledged":
                self.forget(self.results, message)
            elif kind == "Goodbye":
                raise Closed("the member cannot serve it")

    def on_renewal(self, message):
        if message["type"] == "Welcome":
            self.welcome, self.beat, self.lost = message["welcome"], message["beatMs"] / 1000, message["lostMs"] / 1000
            self.link.sock.settimeout(self.beat * 2)
            print("connected", flush=True)
        at = self.sent.pop(message["sequence"], None)
        if at is None:
            return
        self.renewed = at
        for each in message["unwanted"]:
            self.forget(self.running, each)
        ages = {each["attemptId"]: each["ageMs"] / 1000 for each in message["renewalAges"]}
        undecided = {each["attemptId"] for each in message["undecided"]}
        for id, each in self.running.items():
            if id not in undecided:
                each["renewed"] = max(each["renewed"], at - ages.get(id, 0))

    def on_grant(self, message):
        grant, descriptor = message["grant"], message["descriptor"]
        id = descriptor["attemptId"]
        if grant <= self.closed or grant in self.seen:
            return
        self.seen.add(grant)
        self.highest = max(self.highest, grant)
        why = self.fenced(message.get("fence"))
        if why is None and id in self.results and self.results[id]["outcome"]["kind"] != "lost":
            self.results[id]["grant"] = grant
            return self.report(self.results[id])
        if why is not None:
            pass
        elif id in self.running:
            self.running.pop(id)
            why = "an earlier go at the attempt was still running"
        elif len(self.running) >= self.slots:
            why = f"all {self.slots} slots are in use"
        elif self.find(descriptor["job"]) is None:
            why = f"the worker has no job {descriptor['job']}"
        if why:
            return self.say({"type": "Refused", "attemptId": id, "grant": grant, "why": why})
        self.results.pop(id, None)
        attempt = self.running[id] = {"grant": grant, "descriptor": descriptor, "renewed": self.renewed}
        threading.Thread(target=self.execute, args=(attempt, message["params"]), daemon=True).start()

    def fenced(self, fence):
        """Why a grant of an earlier owner of the shard is refused."""
        if fence is None:
            return None
        if fence["incarnation"] > self.incarnation:
            self.incarnation, self.epochs = fence["incarnation"], {}
        if fence["incarnation"] < self.incarnation or fence["epoch"] < self.epochs.get(fence["shard"], 0):
            return "the shard has a later owner"
        self.epochs[fence["shard"]] = fence["epoch"]
        return None

    def find(self, job):
        """By id, or by name: outside namespace default the name begins with @namespace/."""
        local = job.split("/", 1)[1] if job.startswith("@") else job
        return self.jobs.get(local) or next((j for id, j in self.jobs.items() if id.rsplit("@", 1)[0] == local), None)

    def execute(self, attempt, params):
        function, _ = self.find(attempt["descriptor"]["job"])
        try:
            output = function(json.loads(params) if params else None)
            outcome = {"kind": "success", "output": json.dumps(output)}
        except Exception as error:
            failure = {"type": type(error).__name__, "message": str(error), "retryable": True}
            outcome = {"kind": "failure", "failure": failure}
        with self.lock:
            id = attempt["descriptor"]["attemptId"]
            if self.running.get(id) is attempt:  # otherwise it was aborted, or given up
                self.finish(attempt, outcome)

    def finish(self, attempt, outcome):
        id = attempt["descriptor"]["attemptId"]
        del self.running[id]
        self.results[id] = {**plain(attempt), "outcome": outcome}
        self.report(self.results[id])

    def give_up_expired(self):
        """A thread cannot be killed: a job that must not run twice at once looks at the time itself."""
        for attempt in list(self.running.values()):
            if time.monotonic() - attempt["renewed"] >= OWN_PATIENCE * self.lost:
                self.finish(attempt, {"kind": "lost"})

    def forget(self, attempts, about):
        if attempts.get(about["attemptId"], {}).get("grant") == about["grant"]:
            del attempts[about["attemptId"]]


def signature(schema):
    return hashlib.sha256(json.dumps(schema, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


def plain(attempt):
    return {"grant": attempt["grant"], "descriptor": attempt["descriptor"]}


def key(attempt):
    return {"attemptId": attempt["descriptor"]["attemptId"], "grant": attempt["grant"]}


def only_key(message):
    return {"attemptId": message["attemptId"], "grant": message["grant"]}


def shout(params):
    time.sleep(params.get("seconds", 0))
    return params["text"].upper()


SHOUT = {"type": "object", "properties": {"text": {"type": "string"}, "seconds": {"type": "number"}}, "required": ["text"]}

if __name__ == "__main__":
    address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:7411"
    Worker(address, sys.argv[2] if len(sys.argv) > 2 else None, {"shout": (shout, SHOUT)}).run()
