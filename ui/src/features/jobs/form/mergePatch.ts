/* JSON merge patches (RFC 7396). Lists are replaced whole. */

import { isJsonObject, type JsonObject, isEqualJson } from "@/format/json";

/** Patch from `before` to `after`; undefined without changes. */
export function mergePatch(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch: JsonObject = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[key], after[key]];
    if (isEqualJson(was, is)) continue;
    if (is === undefined) patch[key] = null;
    else patch[key] = isJsonObject(was) && isJsonObject(is) ? mergePatch(was, is) : is;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** Applies a patch as the engine does: a changed `kind` resets the object. */
export function applyMergePatch(base: JsonObject, patch: JsonObject): JsonObject {
  const result: JsonObject = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    const was = base[key];
    result[key] = isJsonObject(value)
      ? applyMergePatch(isJsonObject(was) && !hasOtherKind(was, value) ? was : {}, value)
      : value;
  }
  return Object.fromEntries(Object.entries(result).filter(([key]) => patch[key] !== null));
}

function hasOtherKind(was: JsonObject, is: JsonObject): boolean {
  return is.kind !== undefined && is.kind !== was.kind;
}
