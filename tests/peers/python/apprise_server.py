"""The address of an Apprise server for the tests of the channel apprise: the library apprise behind `/notify/home`.

Prints `port N` when it listens, and a line of JSON for each message of a service. The services of the tag `phone` take
messages, those of the tag `broken` fail. Answers with the status codes of an Apprise server. Ends with its input.
"""

import http.server
import json
import sys
import threading

from apprise import Apprise
from apprise.common import MATCH_ALL_TAG
from apprise.decorators import notify
from apprise.result import AppriseResultStatus

HOST = "127.0.0.1"


@notify(on="phone")
def take(body, title, notify_type, *args, **kwargs):
    print(json.dumps({"title": title, "body": body, "type": str(notify_type)}), flush=True)
    return True


@notify(on="broken")
def fail(body, title, notify_type, *args, **kwargs):
    return False


SERVICES = Apprise()
SERVICES.add("phone://home", tag="phone")
SERVICES.add("broken://home", tag="broken")


def status_of(payload):
    """The status code for a message to the services of its tag."""
    outcome = SERVICES.notify(
        body=payload["body"],
        title=payload["title"],
        notify_type=payload["type"],
        body_format=payload["format"],
        tag=payload.get("tag", MATCH_ALL_TAG),
    )
    if outcome.status == AppriseResultStatus.NOMATCH:
        return 204
    if not outcome.results:
        return 400
    return 200 if outcome.status == AppriseResultStatus.SUCCESS else 424


class NotifyHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("content-length", 0))
        payload = json.loads(self.rfile.read(length))
        self.send_response(status_of(payload) if self.path == "/notify/home" else 405)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args):
        """The test reads the output."""


def main():
    server = http.server.ThreadingHTTPServer((HOST, 0), NotifyHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("port", server.server_port, flush=True)
    sys.stdin.read()


main()
