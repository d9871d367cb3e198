export const LIMIT = 2;
export class Counter {
  #count = 0;
  add() {
    this.#count += 1;
    return this.#count;
  }
}

export function run() {
  const counter = new Counter();
  while (counter.add() < LIMIT);
  return counter.add();
}
