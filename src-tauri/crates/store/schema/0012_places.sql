-- Up to where the slots of a job are decided, told by their places on its grid, which are their instants without the
-- jitter: so neither another jitter nor other rules of its zone make of one that has fired another slot. Nobody knows it
-- of a job that has had no slot since (`decided_until`); up to `settled_until` they do not come again when the clock is
-- set back either, since no row has the instants at which they would.
ALTER TABLE jobs ADD COLUMN decided_until INTEGER;
ALTER TABLE jobs ADD COLUMN settled_until INTEGER;
