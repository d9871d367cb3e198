globalThis.count = (globalThis.count ?? 0) + 1;
function run() {
  return globalThis.count;
}
