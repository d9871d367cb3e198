export async function run() {
  return 1;
}
