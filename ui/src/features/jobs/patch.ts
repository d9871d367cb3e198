/* What changed between two JSON values, as a merge patch (RFC 7396): only what differs is sent, so that keys this page
   does not know stay as they are. A changed list is sent whole, as the RFC wants it. */

import { isPlain, type Plain, same } from "@/format/json";

/** Laid over `before`, the patch gives `after`; undefined when they are the same. */
export function mergePatch(before: Plain, after: Plain): Plain | undefined {
  const patch: Plain = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[key], after[key]];
    if (same(was, is)) continue;
    if (is === undefined) patch[key] = null;
    else patch[key] = isPlain(was) && isPlain(is) ? mergePatch(was, is) : is;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Lays a merge patch over a value, as the engine does it: another kind begins afresh. */
export function laidOver(base: Plain, patch: Plain): Plain {
  const result: Plain = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    const was = base[key];
    result[key] = isPlain(value) ? laidOver(isPlain(was) && !isOtherKind(was, value) ? was : {}, value) : value;
  }
  return Object.fromEntries(Object.entries(result).filter(([key]) => patch[key] !== null));
}

function isOtherKind(was: Plain, is: Plain): boolean {
  return is.kind !== undefined && is.kind !== was.kind;
}
