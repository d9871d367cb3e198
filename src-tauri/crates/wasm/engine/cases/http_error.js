function run() {
  http("https://api.example.com/down");
}
