function run() {
  throw "no luck";
}
