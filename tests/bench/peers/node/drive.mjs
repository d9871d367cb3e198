// What every Node peer is asked, the same way: one job a second, many jobs at one instant, and what a pattern costs.
//
// Prints one fact a line, fields parted by tabs; `cargo xtask bench --peers` does the sums. A handler does nothing but
// take the time, so that what is measured is the scheduler.

import { readFileSync } from "node:fs";

const PATTERNS = ["* * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 29 2 *"];
const ZONES = ["UTC", "America/New_York"];
// Sixty-four instants spread over 2026, so that no answer is the neighbour of the one before.
const INSTANTS = Array.from({ length: 64 }, (_, i) => new Date(1_767_225_617_000 + i * 494_621_000));

/** Wall time in microseconds. `Date.now()` knows whole milliseconds only: its edge is where parts begin, and of many
 * edges the one that was seen soonest counts. */
function wallClock() {
  const offsets = Array.from({ length: 30 }, () => {
    const begun = Date.now();
    let edge = begun;
    while (edge === begun) edge = Date.now();
    return edge * 1_000 - performance.now() * 1_000;
  });
  const offset = Math.max(...offsets);
  return () => Math.round(offset + performance.now() * 1_000);
}

const say = (...fields) => process.stdout.write(`${fields.join("\t")}\n`);
const until = (ms) => new Promise((resolve) => setTimeout(resolve, ms - Date.now()));

/** Seconds of one job a second; `every(handler)` sets it going. */
async function lateness(seconds, every) {
  const now = wallClock();
  const stamps = [];
  every(() => stamps.push(now()));
  const first = (Math.floor(Date.now() / 1_000) + 2) * 1_000;
  await until(first + seconds * 1_000 + 900);
  say("first", first * 1_000);
  for (const stamp of stamps) say("fired", stamp);
}

/** `count` jobs at one whole second; `at(date, handler)` adds one. */
async function burst(count, lead, at) {
  const due = (Math.floor(Date.now() / 1_000) + lead) * 1_000;
  const fired = [];
  let now = () => 0;
  let done;
  const all = new Promise((resolve) => (done = resolve));
  for (let job = 0; job < count; job += 1) {
    at(new Date(due), () => {
      fired.push([now(), job]);
      if (fired.length === count) done();
    });
  }
  if (Date.now() > due - 1_000) throw new Error(`adding ${count} jobs took longer than ${lead} s`);
  now = wallClock();
  await Promise.race([all, until(due + 30_000)]);
  say("due", due * 1_000);
  for (const [stamp, job] of fired) say("fired", stamp, job);
}

/** The fastest of many rounds, in nanoseconds a call: what other programs take of the machine only adds to the others. */
function nanos(call) {
  const began = process.hrtime.bigint();
  let best = Infinity;
  for (let round = 0; round < 5 || process.hrtime.bigint() - began < 300_000_000n; round += 1) {
    const before = process.hrtime.bigint();
    for (let i = 0; i < INSTANTS.length; i += 1) call(i);
    best = Math.min(best, Number(process.hrtime.bigint() - before) / INSTANTS.length);
  }
  return best.toFixed(1);
}

function patterns({ parse, instants, next }) {
  for (const text of PATTERNS) {
    say("parse", text, nanos(() => parse(text, "UTC")));
    for (const zone of ZONES) {
      const pattern = parse(text, zone);
      const prepared = instants(INSTANTS, zone);
      say("next", zone, text, nanos((i) => next(pattern, prepared[i])));
    }
  }
}

/** Answers the question on the command line. */
export async function drive(peer, name) {
  const manifest = new URL(`./node_modules/${name}/package.json`, import.meta.url);
  say("version", JSON.parse(readFileSync(manifest, "utf8")).version);
  const [what, count, lead] = process.argv.slice(2);
  if (what === "lateness") await lateness(Number(count), peer.every);
  else if (what === "burst") await burst(Number(count), Number(lead), peer.at);
  else if (what === "patterns") patterns(peer);
  else throw new Error("ask for lateness, burst or patterns");
  say("end");
  // A pipe is written to later; leaving at once would cut off what is still to be written.
  await new Promise((resolve) => process.stdout.write("", resolve));
  process.exit(0);
}
