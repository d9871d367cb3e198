export function run(args) {
  const value = args.value;
  return value +;
}
