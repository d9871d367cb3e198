function run() {
  const { status, headers, body } = http("https://api.example.com/items", {
    method: "post",
    headers: {
      Authorization: "Bearer {{secret:API_KEY}}",
      Accept: ["text/plain", "text/html"],
      "X-Count": 3,
      "X-Absent": undefined,
    },
    body: JSON.stringify({ name: "café" }),
  });
  return { status, headers, body };
}
