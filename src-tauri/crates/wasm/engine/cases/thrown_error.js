function check(value) {
  if (value === undefined) {
    throw new Error("The argument `city` is missing");
  }
}

export function run(args) {
  check(args.city);
}
