function run() {
  const original = { list: [1, { deep: true }] };
  const copy = structuredClone(original);
  copy.list[1].deep = false;
  let refused;
  try {
    structuredClone({ call: () => 1 });
  } catch (error) {
    refused = error.message;
  }
  return { original, copy, refused, nothing: structuredClone(undefined) === undefined };
}
