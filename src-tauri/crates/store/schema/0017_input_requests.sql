-- The input that a server requests in the middle of a call, as JSON: request and answer. NULL for an approval of a call.
ALTER TABLE approvals ADD COLUMN input TEXT;
