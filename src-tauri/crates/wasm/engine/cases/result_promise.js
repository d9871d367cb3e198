function run() {
  return { value: (async () => 1)() };
}
