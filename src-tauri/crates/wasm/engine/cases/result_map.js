function run() {
  return { byName: new Map([["a", 1]]) };
}
