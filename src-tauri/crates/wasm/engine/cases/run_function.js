// A comment with an export: export default 1
function run(args) {
  return { sum: args.numbers.reduce((sum, number) => sum + number, 0), greeting: `Hello, ${args.name}` };
}
