function run() {
  console.log("plain", 1, true, null, undefined, 2n);
  console.info({ list: [1, "a"] }, ["b"]);
  console.warn(new RangeError("too far"));
  console.error("lone \ud800 surrogate");
  console.debug(Object.assign(Object.create(null), { a: 1 }), Symbol("s"));
  const cycle = {};
  cycle.cycle = cycle;
  console.log(cycle);
}
