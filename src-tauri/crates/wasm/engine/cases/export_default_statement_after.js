export default function ({ value }) {
  return value;
}
[1, 2].forEach((number) => number);
