-- Places on channels that the person has paired, and what arrives from there. `next_update` of a source, such as a bot, is the
-- first message that was not handled. `reply_buttons` are the buttons of sent approval requests: the hash of the random text
-- that the service returns, and the decision. A message on a channel requests one approval: `approval_id`. `decided_by` of an
-- approval names the recipient or the device.
CREATE TABLE recipients (
    channel TEXT NOT NULL,
    address TEXT NOT NULL,
    label TEXT NOT NULL,
    paired_at INTEGER NOT NULL,
    PRIMARY KEY (channel, address)
) STRICT, WITHOUT ROWID;
CREATE TABLE received_offsets (
    source TEXT NOT NULL PRIMARY KEY,
    next_update INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE reply_buttons (
    hash TEXT NOT NULL PRIMARY KEY,
    delivery_id TEXT NOT NULL,
    decision TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reply_buttons_of_delivery ON reply_buttons (delivery_id);
ALTER TABLE outbox ADD COLUMN approval_id TEXT;
ALTER TABLE approvals ADD COLUMN decided_by TEXT;
CREATE INDEX outbox_outcomes ON outbox (channel, state, settled_at) WHERE settled_at IS NOT NULL;
