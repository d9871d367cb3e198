function run() {
  const names = ["__cqjs", "wit", "performance", "queueMicrotask", "process", "require", "setTimeout"];
  return names.filter((name) => name in globalThis);
}
