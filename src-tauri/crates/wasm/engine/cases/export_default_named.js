export default function factorial({ value }) {
  return value <= 1 ? 1 : value * factorial({ value: value - 1 });
}
