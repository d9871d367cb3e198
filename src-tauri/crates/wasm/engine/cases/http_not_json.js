function run() {
  const response = http("https://api.example.com/page");
  return response.ok || response.json();
}
