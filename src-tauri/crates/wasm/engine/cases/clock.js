function run() {
  const now = new Date();
  return {
    now: now.toISOString(),
    same: [now.getTime() === Date.now(), new Date(now).getTime() === now.getTime()],
    text: typeof Date(),
    kinds: [now instanceof Date, now.constructor === Date, Date.name, Date.length],
    parsed: [Date.parse("2026-01-02"), Date.UTC(2026, 0, 2), new Date(2026, 0, 2).getTime()],
    zone: now.getTimezoneOffset(),
    subclass: new (class Day extends Date {})(0).getTime(),
  };
}
