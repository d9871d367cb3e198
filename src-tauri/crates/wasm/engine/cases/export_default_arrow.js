const $0 = 1;
export default ({ value }) => value + $0
