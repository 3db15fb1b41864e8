# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""The server, with curl, and with clients that are slow, half open or hostile."""
import base64
import os
import socket
import ssl
import struct
import subprocess

from kit import HASH, free_port, get, samples
from verdict import check, contains, equal, need, until, within

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"


def curl(*words):
    """(status, content type, body)"""
    done = subprocess.run(["curl", "-s", "-m", "60", "-w", "\n%{http_code} %{content_type}", *map(str, words)],
                          capture_output=True, check=False, text=True)
    body, _, last = done.stdout.rpartition("\n")
    code, _, kind = last.partition(" ")
    return int(code), kind, body


def test_client_chooses(kit):
    need("curl")
    process, port = kit.serve()
    url = f"http://127.0.0.1:{port}"
    code, kind, body = curl(f"{url}/metrics")
    equal((code, kind), (200, TEXT), "without a wish")
    check("# EOF" not in body, "the older format")
    code, kind, body = curl("-H", "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5", f"{url}/metrics")
    equal((code, kind, body[-6:]), (200, OPENMETRICS, "# EOF\n"), "OpenMetrics")
    contains(curl(f"{url}/")[2], "metrics", "the first page")
    equal(curl(f"{url}/none")[0], 404, "another page")
    equal(curl("-X", "POST", "-d", "x" * 100000, f"{url}/metrics")[0], 405, "POST")
    equal(curl("-I", f"{url}/metrics")[0], 200, "HEAD")
    equal(curl("-H", "X: " + "x" * 60000, f"{url}/metrics")[0] in (413, 414, 431, 0), True, "a long header")
    kit.stop(process)


def make_certificate(kit):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", kit.folder / "key.pem", "-out", kit.folder / "cert.pem"],
                   check=True, capture_output=True)
    config = kit.folder / "web.yml"
    config.write_text(f"tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"
                      f"basic_auth_users:\n  me: {HASH}\n", encoding="utf-8")
    return config


def test_tls_and_password(kit):
    """Prometheus' web configuration file: nothing is served without them."""
    need("curl")
    need("openssl")
    process, port = kit.serve("--web-config", make_certificate(kit))
    url, trust = f"https://127.0.0.1:{port}/metrics", ("--cacert", kit.folder / "cert.pem")
    equal(curl(*trust, "-u", "me:secret", url)[0], 200, "with certificate and password")
    equal(curl(*trust, url)[0], 401, "without a password")
    equal(curl(*trust, "-u", "you:secret", url)[0], 401, "another user")
    equal(curl("-u", "me:secret", url)[0], 0, "a client that does not trust the certificate")
    equal(curl(f"http://127.0.0.1:{port}/metrics")[0] in (0, 400), True, "without TLS")
    equal(curl("--tls-max", "1.1", *trust, "-u", "me:secret", url)[0], 0, "TLS 1.1")
    # Guesses are bounded; who was right before is let in meanwhile.
    codes = [curl(*trust, "-u", f"me:{i}", url)[0] for i in range(20)]
    check(set(codes) <= {401, 429}, f"wrong passwords: {codes}")
    equal(curl(*trust, "-u", "me:secret", url)[0], 200, "the right one meanwhile")
    kit.stop(process)


def test_beyond_this_machine(kit):
    """Other addresses need TLS and a password."""
    need("openssl")
    for address in ("0.0.0.0", "[::]", "", "192.0.2.1"):
        contains(kit.call("--listen", f"{address}:{free_port()}", status=1)[1],
                 "beyond this machine", f"what is said of {address}")
    config = make_certificate(kit)
    whole = config.read_text(encoding="utf-8")
    for part in (whole[:whole.index("basic_auth")], whole[whole.index("basic_auth"):]):
        config.write_text(part, encoding="utf-8")
        contains(kit.call("--listen", f"0.0.0.0:{free_port()}", "--web-config", config, status=1)[1],
                 "beyond this machine", f"what is said with {part}")
    config.write_text(whole, encoding="utf-8")
    process, _ = kit.serve("--web-config", config, address="0.0.0.0")
    kit.stop(process)


def test_without_the_library(kit):
    """A program without libmicrohttpd refuses --listen in a sentence, and does all else."""
    contains(kit.call("--listen", "127.0.0.1", fake="fake-without-http", status=77)[1], "without libmicrohttpd",
             "what is said")
    contains(kit.call(fake="fake-without-http")[0], "gpumon_ring_done_total", "the text")


def test_address_in_use(kit):
    process, port = kit.serve()
    contains(kit.call("--listen", f"127.0.0.1:{port}", status=1)[1], "Address already in use", "what is said")
    kit.stop(process)


def test_socket_of_systemd(kit):
    """A socket that systemd has opened is descriptor 3, and named by the environment."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(5)
        port = listening.getsockname()[1]
        script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" metrics --listen systemd'

        def as_third():
            os.dup2(listening.fileno(), 3)
        process = kit.start("/bin/sh", "-c", script, kit.tools / "fake", env=kit.environment(), preexec_fn=as_third,
                            pass_fds=(3,), stderr=subprocess.DEVNULL)
    contains(get(port), "gpumon_source_up 1", "what is served")
    kit.stop(process)


def descriptors(process):
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def test_slow_clients_are_bounded(kit):
    """100 clients that say nothing, a part, or do not read: their number and time are bounded, and others
    are served."""
    kit.set(containers=400, rings=8)
    process, port = kit.serve()
    before = descriptors(process)
    request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
    clients = []
    for i in range(100):
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(("127.0.0.1", port))
        if i % 3:
            client.send(request if i % 3 == 1 else request + b"\r\n")
        clients.append(client)
    until(lambda: descriptors(process) > before + 30, "they are connected")
    within(descriptors(process) - before, 0, 70, "descriptors")
    get(port, timeout=120)
    # A byte now and then does not keep a connection.
    for client in clients:
        try:
            client.send(b"X")
        except OSError:
            pass
    until(lambda: descriptors(process) <= before + 2, "they are all gone", timeout=90)
    for client in clients:
        client.close()
    kit.stop(process)


def client_hello():
    """The first message of a handshake."""
    context, to_us, to_them = ssl.create_default_context(), ssl.MemoryBIO(), ssl.MemoryBIO()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        context.wrap_bio(to_us, to_them).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return to_them.read()


def test_half_handshakes(kit):
    """100 clients that stop before, in and after the hello of TLS: their time is bounded, and others are served."""
    need("curl")
    need("openssl")
    process, port = kit.serve("--web-config", make_certificate(kit))
    before, hello, clients = descriptors(process), client_hello(), []
    for i in range(100):
        clients.append(socket.create_connection(("127.0.0.1", port)))
        clients[-1].send(hello[:(0, 60, len(hello))[i % 3]])
    until(lambda: descriptors(process) > before + 30, "they are connected")
    equal(curl("--cacert", kit.folder / "cert.pem", "-u", "me:secret", f"https://127.0.0.1:{port}/metrics")[0], 200,
          "another client meanwhile")
    until(lambda: descriptors(process) <= before + 2, "they are all gone", timeout=90)
    for client in clients:
        client.close()
    kit.stop(process)


def test_endless_requests(kit):
    """Bodies without an end, and 5,000 requests at once of a client that does not read: each is cut off."""
    process, port = kit.serve()
    get(port)
    before = resident(process)
    heads = [b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
             b"POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
             b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n",
             b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 5000,
             b"GET /metrics HTTP/1.1\r\n"]
    pieces = [b"x" * 65536, b"10000\r\n" + b"x" * 65536 + b"\r\n", b"x" * 65536, b"", b"X: y\r\n" * 100]
    clients = []
    for head in heads:
        client = socket.create_connection(("127.0.0.1", port))
        client.setblocking(False)
        clients.append([client, head])

    def are_cut():
        for i, (client, rest) in enumerate(clients):
            try:
                if not rest and not pieces[i]:
                    client.send(b"\r\n")
                clients[i][1] = rest[client.send(rest):] or pieces[i]
            except BlockingIOError:
                pass
            except OSError:
                clients[i][0].close()
                del clients[i], pieces[i]
                break
        return not clients
    until(are_cut, "all are cut off", timeout=90, pause=0.001)
    contains(get(port), "gpumon_source_up 1", "what is served afterwards")
    grown = resident(process) - before
    check(grown < 3 << 20, f"it has grown by {grown} bytes")
    kit.stop(process)


def test_nonsense(kit):
    """Bytes that are no HTTP, and clients that leave, change nothing."""
    process, port = kit.serve()
    pieces = [b"\0" * 5000, b"GET\r\n\r\n", b"GET " + b"/" * 40000, b"\x16\x03\x01" + b"x" * 500,
              b"GET /metrics HTTP/9.9\r\n\r\n", b"GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
              b"GET /metrics HTTP/1.1\r\nAuthorization: Basic ****\r\nHost: x\r\n\r\n"]
    for piece in pieces * 20:
        with socket.create_connection(("127.0.0.1", port)) as client:
            try:
                client.sendall(piece)
            except OSError:
                pass
    contains(get(port), "gpumon_source_up 1", "what is served afterwards")
    kit.stop(process)


def test_clients_leave(kit):
    """Clients that reset their connection while they are answered, in the clear and by TLS, change nothing."""
    need("openssl")
    kit.set(containers=300, rings=8)
    trust = ssl.create_default_context()
    trust.check_hostname, trust.verify_mode = False, ssl.CERT_NONE
    secret = base64.b64encode(b"me:secret").decode()
    for words in ((), ("--web-config", make_certificate(kit))):
        process, port = kit.serve(*words)
        for i in range(30):
            client = socket.create_connection(("127.0.0.1", port))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            if words:
                client = trust.wrap_socket(client)
            client.sendall(f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {secret}\r\n\r\n".encode())
            if i % 2:
                client.recv(100)
            client.close()
        until(lambda: descriptors(process) < 30, "they are gone")
        kit.stop(process)


def resident(process):
    """Bytes of memory of its own."""
    with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith("Anonymous:")) * 1024


def scrape(port, times):
    for _ in range(times):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            size = 0
            while data := client.recv(65536):
                size += len(data)
            check(size > 1000, "an answer")


def highest(process, port, scrapes, readings):
    """The most memory that it has while it is scraped so often, and until it has read its source so often."""
    most, done = 0, 0
    while done < scrapes or samples(get(port))["gpumon_exporter_readings_total"] < readings:
        scrape(port, 200)
        done += 200
        most = max(most, resident(process))
    return most


def test_memory_does_not_grow(kit):
    """10,000 scrapes, while each reading has other containers: 60,000 in all."""
    kit.set(containers=100, rings=1, churn=1)
    process, port = kit.serve("--max-series", "400", "--interval", "10ms")
    before = highest(process, port, 2000, 200)
    check(samples(get(port))["gpumon_exporter_series_folded_total"] > 100, "there are more than have room")
    grown = highest(process, port, 8000, 600) - before
    check(grown < 3 << 20, f"it has grown by {grown} bytes")
    kit.stop(process)


def test_root_is_given_up(kit):
    """Started by root, the server is another user, with no capability: the programs of BPF are loaded."""
    from verdict import Skip
    if os.geteuid():
        raise Skip("only root has something to give up")
    port = free_port()
    log = kit.folder / "log"
    with open(log, "wb") as errors:
        process = kit.start(kit.program, "metrics", "--source=bpf", "--listen", f"127.0.0.1:{port}", stderr=errors)

    def serves():
        return process.poll() is not None or "serving" in log.read_text(encoding="utf-8")
    until(serves, "the server serves")
    if process.poll() == 77:
        raise Skip(log.read_text(encoding="utf-8").strip())
    status = dict(line.split(":\t", 1) for line in open(f"/proc/{process.pid}/status", encoding="ascii"))
    check(status["Uid"].split()[0] != "0", "its user is " + status["Uid"])
    for kind in ("CapPrm", "CapEff"):
        equal(int(status[kind], 16), 0, kind)
    equal(status["NoNewPrivs"].strip(), "1", "no_new_privs")
    contains(get(port), "gpumon_source_up 1", "what it serves")
    kit.stop(process)
