function run() {
  const text = "{x";
  return JSON.parse(text);
}
