function run() {
  const attempts = [
    () => eval("1"),
    () => (0, eval)("1"),
    () => Function("return 1")(),
    () => new Function("return 1")(),
    () => (() => 1).constructor("return 1")(),
    () => (async () => 1).constructor("return 1")(),
    () => (function* () {}).constructor("yield 1")().next().value,
    () => (async function* () {}).constructor("yield 1")(),
    () => Object.getPrototypeOf((function* () {}).constructor)("return 1"),
    () => new (class extends Function {})("return 1")(),
    () => Reflect.construct(Function, ["return 1"])(),
    () => {
      Error.prepareStackTrace = (error, frames) => frames;
      return new Error().stack.map((frame) => frame.getFunction())[0];
    },
  ];
  const outcomes = attempts.map((attempt) => {
    try {
      return String(attempt());
    } catch (error) {
      return error.name;
    }
  });
  return { outcomes, isFunction: run instanceof Function, sameConstructor: run.constructor === Function };
}
