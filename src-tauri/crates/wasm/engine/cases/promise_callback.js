function run() {
  Promise.resolve(1).then((value) => console.log(value));
}
