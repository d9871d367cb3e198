function run() {
  const parent = { children: [] };
  parent.children.push({ parent });
  return parent;
}
