function run(args) {
  return args.items.map((item) => item.name);
}
