function run(args) {
  const response = http(`https://api.example.com/items?name=${encodeURIComponent(args.name)}`);
  return {
    status: response.status,
    ok: response.ok,
    headers: response.headers,
    body: response.body,
    items: response.json().items,
    bytes: response.bytes().length,
    whole: response,
  };
}
