"""Measurements of PyPI APScheduler: a job per second, many jobs at one instant, the cost of a pattern.

Prints a fact per line with tab-separated fields; `cargo xtask bench --peers` computes the statistics. Handlers only
read the time. Jobs are kept in memory, the default.
"""

import signal
import sys
import threading
import time
from datetime import datetime, timedelta, timezone
from importlib.metadata import version
from zoneinfo import ZoneInfo

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

PATTERNS = ["* * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 29 2 *"]
ZONES = ["UTC", "America/New_York"]
# Instants spread over 2026, so that consecutive results differ.
INSTANTS = [datetime.fromtimestamp(1_767_225_617 + i * 494_621, timezone.utc) for i in range(64)]


def now_us():
    return time.time_ns() // 1_000


def print_fact(*fields):
    print(*fields, sep="\t")


def scheduler():
    # No limit of lateness; the default drops jobs that are more than a second late.
    return BackgroundScheduler(timezone=timezone.utc, job_defaults={"misfire_grace_time": None})


def lateness(seconds):
    stamps = []
    jobs = scheduler()
    jobs.add_job(lambda: stamps.append(now_us()), "cron", second="*")
    jobs.start()
    first = int(time.time()) + 2
    time.sleep(first + seconds + 0.9 - time.time())
    print_fact("first", first * 1_000_000)
    for stamp in list(stamps):
        print_fact("fired", stamp)


def burst(count, lead):
    due = int(time.time()) + lead
    fired = []
    all_fired = threading.Event()

    def handle(job):
        fired.append((now_us(), job))
        if len(fired) == count:
            all_fired.set()

    jobs = scheduler()
    run_date = datetime.fromtimestamp(due, timezone.utc)
    for job in range(count):
        jobs.add_job(handle, "date", run_date=run_date, args=[job])
    jobs.start()
    if time.time() > due - 1:
        sys.exit(f"adding {count} jobs took longer than {lead} s")
    all_fired.wait(due + 30 - time.time())
    print_fact("due", due * 1_000_000)
    for stamp, job in list(fired):
        print_fact("fired", stamp, job)


def nanos(call):
    """The fastest of many rounds, in nanoseconds per call; other load only slows rounds down."""
    began, best, rounds = time.perf_counter_ns(), float("inf"), 0
    while rounds < 5 or time.perf_counter_ns() - began < 300_000_000:
        before = time.perf_counter_ns()
        for i in range(len(INSTANTS)):
            call(i)
        best = min(best, (time.perf_counter_ns() - before) / len(INSTANTS))
        rounds += 1
    return f"{best:.1f}"


def patterns():
    for text in PATTERNS:
        print_fact("parse", text, nanos(lambda _: CronTrigger.from_crontab(text, "UTC")))
        for name in ZONES:
            pattern = CronTrigger.from_crontab(text, name)
            instants = [instant.astimezone(ZoneInfo(name)) for instant in INSTANTS]
            # The given instant is itself a possible result; a microsecond later, no result equals an input.
            after = [instant + timedelta(microseconds=1) for instant in instants]
            print_fact("next", name, text, nanos(lambda i: pattern.get_next_fire_time(None, after[i])))


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print_fact("version", version("APScheduler"))
    match sys.argv[1:]:
        case ["lateness", seconds, *_]:
            lateness(int(seconds))
        case ["burst", count, lead]:
            burst(int(count), int(lead))
        case ["patterns", *_]:
            patterns()
        case _:
            sys.exit("usage: lateness, burst or patterns")
    print_fact("end")


if __name__ == "__main__":
    main()
