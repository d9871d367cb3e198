"""PyPI APScheduler, asked what every peer is asked: one job a second, many jobs at one instant, what a pattern costs.

Prints one fact a line, fields parted by tabs; `cargo xtask bench --peers` does the sums. A handler does nothing but take
the time, so that what is measured is the scheduler. Jobs are kept in memory, as its default is.
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
# Sixty-four instants spread over 2026, so that no answer is the neighbour of the one before.
INSTANTS = [datetime.fromtimestamp(1_767_225_617 + i * 494_621, timezone.utc) for i in range(64)]


def now_us():
    return time.time_ns() // 1_000


def say(*fields):
    print(*fields, sep="\t")


def scheduler():
    # Without a limit on how late a job may be, else those that it cannot serve within a second are dropped.
    return BackgroundScheduler(timezone=timezone.utc, job_defaults={"misfire_grace_time": None})


def lateness(seconds):
    stamps = []
    jobs = scheduler()
    jobs.add_job(lambda: stamps.append(now_us()), "cron", second="*")
    jobs.start()
    first = int(time.time()) + 2
    time.sleep(first + seconds + 0.9 - time.time())
    say("first", first * 1_000_000)
    for stamp in list(stamps):
        say("fired", stamp)


def burst(count, lead):
    due = int(time.time()) + lead
    fired = []
    every_one = threading.Event()

    def handle(job):
        fired.append((now_us(), job))
        if len(fired) == count:
            every_one.set()

    jobs = scheduler()
    run_date = datetime.fromtimestamp(due, timezone.utc)
    for job in range(count):
        jobs.add_job(handle, "date", run_date=run_date, args=[job])
    jobs.start()
    if time.time() > due - 1:
        sys.exit(f"adding {count} jobs took longer than {lead} s")
    every_one.wait(due + 30 - time.time())
    say("due", due * 1_000_000)
    for stamp, job in list(fired):
        say("fired", stamp, job)


def nanos(call):
    """The fastest of many rounds, in nanoseconds a call: what others take of the machine only adds to the others."""
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
        say("parse", text, nanos(lambda _: CronTrigger.from_crontab(text, "UTC")))
        for name in ZONES:
            pattern = CronTrigger.from_crontab(text, name)
            instants = [instant.astimezone(ZoneInfo(name)) for instant in INSTANTS]
            # It counts the instant it is given as a possible answer; a microsecond later, none is.
            after = [instant + timedelta(microseconds=1) for instant in instants]
            say("next", name, text, nanos(lambda i: pattern.get_next_fire_time(None, after[i])))


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    say("version", version("APScheduler"))
    match sys.argv[1:]:
        case ["lateness", seconds, *_]:
            lateness(int(seconds))
        case ["burst", count, lead]:
            burst(int(count), int(lead))
        case ["patterns", *_]:
            patterns()
        case _:
            sys.exit("ask for lateness, burst or patterns")
    say("end")


if __name__ == "__main__":
    main()
