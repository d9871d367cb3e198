function run() {
  const numbers = Array.from({ length: 1000 }, Math.random);
  const average = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  return {
    inRange: numbers.every((number) => number >= 0 && number < 1),
    spread: average > 0.4 && average < 0.6,
    different: new Set(numbers.slice(0, 64)).size,
  };
}
