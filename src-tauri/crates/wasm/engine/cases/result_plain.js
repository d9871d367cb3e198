function run() {
  return {
    date: new Date(0),
    nan: NaN,
    gone: undefined,
    list: [undefined, -0],
    text: "\ud800é😀",
    backslash: "\\ud800",
    "key \udc00": true,
  };
}
