function run() {
  total = 1;
  return total;
}
