function run(args) {
  return [args];
