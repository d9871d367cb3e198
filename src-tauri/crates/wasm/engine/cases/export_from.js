export { run } from "./other.js";
