function run() {
  return { total: 2n ** 64n };
}
