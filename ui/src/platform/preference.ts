/* Display preferences. Kept in memory if storage is full or forbidden. */

const memory = new Map<string, string>();
const key = (name: string) => `rouse.${name}`;

export const preference = {
  get(name: string): string | null {
    try {
      return localStorage.getItem(key(name)) ?? memory.get(name) ?? null;
    } catch {
      return memory.get(name) ?? null;
    }
  },
  set(name: string, value: string | null) {
    if (value === null) memory.delete(name);
    else memory.set(name, value);
    try {
      if (value === null) localStorage.removeItem(key(name));
      else localStorage.setItem(key(name), value);
    } catch {
      // The value stays in memory.
    }
  },
};
