-- Slots that came one after the other and were left out for the same reason share a row: from `first_slot_at` (none
-- where the row has one slot) up to `slot_at`. `counted_under` is what held for them, such as the job's revision; a slot
-- under anything else gets a row of its own. What was counted since the row was made fires never again: the slots from
-- `counted_from` on.
ALTER TABLE runs ADD COLUMN first_slot_at INTEGER;
ALTER TABLE runs ADD COLUMN counted_from INTEGER;
ALTER TABLE runs ADD COLUMN counted_under TEXT;
