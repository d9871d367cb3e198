function run() {
  const before = files.read("notes.txt");
  files.write("copy.txt", before.toUpperCase());
  files.write("bytes.txt", new Uint8Array([104, 105]));
  let missing;
  try {
    files.read("missing.txt");
  } catch (error) {
    missing = error instanceof Error && error.message.length > 0;
  }
  return { before, copy: files.read("copy.txt"), bytes: [...files.readBytes("bytes.txt")], missing };
}
