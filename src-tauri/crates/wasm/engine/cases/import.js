// Everything in one file.
import { helper } from "helper";

export function run() {
  return helper();
}
