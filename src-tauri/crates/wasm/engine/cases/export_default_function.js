export default function (args) {
  return before(args.value);
}

function before(value) {
  return value - 1;
}
