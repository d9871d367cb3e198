"""Fires a job of Rouse once for each row of the table `queue`: see docs/many-machines.md. Needs psycopg 3."""
import json, os, sys, time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import Request, urlopen
import psycopg

HOOK, SECRET, TOKEN = (os.environ[name] for name in ("ROUSE_HOOK", "ROUSE_SECRET", "ROUSE_TOKEN"))
MAX_OPEN_RUNS = 2
OLDEST = "SELECT id, body FROM queue WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
UPDATE = "UPDATE queue SET state = %s, run_id = %s, outcome = %s WHERE id = %s AND run_id IS NOT DISTINCT FROM %s"

def post(url, secret, body, header, value):
    request = Request(url, body.encode(), {"Authorization": f"Bearer {secret}", header: value})
    return json.load(urlopen(request, timeout=30))

def call(method, params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    reply = post(HOOK.partition("/hooks/")[0] + "/rpc", TOKEN, body, "Content-Type", "application/json")
    if "error" in reply:
        raise OSError(f"{method}: {reply['error']['message']}")
    return reply["result"]

def fire(db):
    """Fires the oldest new row. Its lock lasts until the run is stored, so no other worker takes the row."""
    with db.transaction():
        for row, body in db.execute(OLDEST).fetchall():
            try:
                # The same id in every attempt: Rouse answers a repeated call with the first run.
                run = post(HOOK, SECRET, body, "Idempotency-Key", f"queue-{row}")["runId"]
                db.execute(UPDATE, ("fired", run, None, row, None))
            except HTTPError as error:
                if error.code not in (400, 413, 422):
                    raise
                db.execute(UPDATE, ("done", None, f"refused: {error}", row, None))

def settle(db):
    """Stores the ends of fired runs. Returns the number of open runs."""
    for row, run_id in db.execute("SELECT id, run_id FROM queue WHERE state = 'fired'").fetchall():
        run = call("runs.get", {"id": run_id})["run"]
        if run["state"] in ("queued", "running", "awaitingApproval"):
            continue
        # After a crash, Rouse may repeat an interrupted run by another run.
        runs = call("cron.runs", {"id": run["jobId"], "limit": 100})["entries"]
        again = [other["id"] for other in runs if other["retryOf"] == run_id]
        if run["state"] == "interrupted" and again:
            db.execute(UPDATE, ("fired", again[0], None, row, run_id))
        else:
            db.execute(UPDATE, ("done", run_id, run["state"], row, run_id))
            print(f"row {row}: {run['state']}", flush=True)
    return db.execute("SELECT count(*) FROM queue WHERE state = 'fired'").fetchone()[0]

with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as db:
    while True:
        try:
            if settle(db) < MAX_OPEN_RUNS:
                fire(db)
        except (OSError, HTTPException) as error:
            print(f"The next call waits: {error}", file=sys.stderr, flush=True)
        time.sleep(0.2)
