const LIMIT = 1;
LIMIT = 2;
function run() {}
