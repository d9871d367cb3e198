#!/usr/bin/env node
function run() {
  return nothing;
}
