const helper = () => "helped";
function main() {
  return helper();
}
export { main as run, helper };
