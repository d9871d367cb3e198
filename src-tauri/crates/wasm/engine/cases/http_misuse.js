function run() {
  const url = "https://api.example.com/";
  const calls = [
    () => http(),
    () => http({ address: url }),
    () => http({ url, data: "x" }),
    () => http(url, { data: "x" }),
    () => http({ url }, { method: "POST" }),
    () => http({ url, body: { name: "x" } }),
    () => http({ url, headers: ["a: b"] }),
    () => files.write("a.txt", { name: "x" }),
    () => files.read(7),
  ];
  return calls.map((call) => {
    try {
      return call();
    } catch (error) {
      return `${error.name}: ${error.message}`;
    }
  });
}
