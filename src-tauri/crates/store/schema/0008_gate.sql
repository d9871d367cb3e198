-- Where an answer was given, so that everybody else can say so.
ALTER TABLE approvals ADD COLUMN answered_from TEXT;
-- What the gate decided about a call, as JSON; none for what it does not judge.
ALTER TABLE run_steps ADD COLUMN gate TEXT;
