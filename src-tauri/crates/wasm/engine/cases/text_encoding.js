function run() {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  const text = "aé€😀".repeat(20000);
  const invalid = [
    [0x61, 0xff, 0x62],
    [0xc0, 0x80],
    [0xe2, 0x82],
    [0xe2, 0x82, 0x41],
    [0xed, 0xa0, 0x80],
    [0xf0, 0x9f, 0x98],
    [0xf4, 0x90, 0x80, 0x80],
  ];
  let fatal;
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff]));
  } catch (error) {
    fatal = error.name;
  }
  return {
    bytes: [...encoder.encode("é€\ud800")],
    same: decoder.decode(encoder.encode(text)) === text,
    buffer: decoder.decode(encoder.encode("abc").buffer),
    view: decoder.decode(new DataView(encoder.encode("abc").buffer, 1)),
    invalid: invalid.map((bytes) => decoder.decode(new Uint8Array(bytes))),
    mark: [decoder.decode(new Uint8Array([0xef, 0xbb, 0xbf, 0x61])).length, encoder.encode().length],
    fatal,
  };
}
