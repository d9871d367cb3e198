// Measurements of the Node schedulers: a job per second, many jobs at one instant, the cost of a pattern.
//
// Prints a fact per line with tab-separated fields; `cargo xtask bench --peers` computes the statistics. Handlers only
// read the time.

import { readFileSync } from "node:fs";

const PATTERNS = ["* * * * *", "30 2 * * *", "0 9 * * 1-5", "0 0 29 2 *"];
const ZONES = ["UTC", "America/New_York"];
// Instants spread over 2026, so that consecutive results differ.
const INSTANTS = Array.from({ length: 64 }, (_, i) => new Date(1_767_225_617_000 + i * 494_621_000));

/** Wall time in microseconds. `Date.now()` has a resolution of a millisecond, so the clock is aligned to its ticks; of
 * many ticks the earliest observed counts. */
function wallClock() {
  const offsets = Array.from({ length: 30 }, () => {
    const started = Date.now();
    let tick = started;
    while (tick === started) tick = Date.now();
    return tick * 1_000 - performance.now() * 1_000;
  });
  const offset = Math.max(...offsets);
  return () => Math.round(offset + performance.now() * 1_000);
}

const printFact = (...fields) => process.stdout.write(`${fields.join("\t")}\n`);
const until = (ms) => new Promise((resolve) => setTimeout(resolve, ms - Date.now()));

/** A job per second for `seconds`; `every(handler)` starts the job. */
async function lateness(seconds, every) {
  const now = wallClock();
  const stamps = [];
  every(() => stamps.push(now()));
  const first = (Math.floor(Date.now() / 1_000) + 2) * 1_000;
  await until(first + seconds * 1_000 + 900);
  printFact("first", first * 1_000);
  for (const stamp of stamps) printFact("fired", stamp);
}

/** `count` jobs at one whole second; `at(date, handler)` adds a job. */
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
  printFact("due", due * 1_000);
  for (const [stamp, job] of fired) printFact("fired", stamp, job);
}

/** The fastest of many rounds, in nanoseconds per call; other load only slows rounds down. */
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
    printFact("parse", text, nanos(() => parse(text, "UTC")));
    for (const zone of ZONES) {
      const pattern = parse(text, zone);
      const prepared = instants(INSTANTS, zone);
      printFact("next", zone, text, nanos((i) => next(pattern, prepared[i])));
    }
  }
}

/** Runs the measurement named on the command line. */
export async function drive(peer, name) {
  const manifest = new URL(`./node_modules/${name}/package.json`, import.meta.url);
  printFact("version", JSON.parse(readFileSync(manifest, "utf8")).version);
  const [measurement, count, lead] = process.argv.slice(2);
  if (measurement === "lateness") await lateness(Number(count), peer.every);
  else if (measurement === "burst") await burst(Number(count), Number(lead), peer.at);
  else if (measurement === "patterns") patterns(peer);
  else throw new Error("usage: lateness, burst or patterns");
  printFact("end");
  // Writes to a pipe are asynchronous; an immediate exit would cut off the output.
  await new Promise((resolve) => process.stdout.write("", resolve));
  process.exit(0);
}
