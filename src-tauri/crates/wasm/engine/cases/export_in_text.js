const text = "export default 1";
const regex = /[/"'`]export \{/;
/*
export function run() { return "comment"; }
*/
const template = `
export function run() { return "${[`
export default ${1 + 1}`].join("}")}"; }
`;
const member = { export: 5 }
  .export;
const ratio = template.length / 2 / text.length;
export function run() {
  const object = { export: 1, import: 2 };
  return [template.split("\n")[1], regex.source, object.export + object.import + member, ratio > 0];
}
