-- What the later runs of a session inherit of what earlier ones have read: those may be kept no longer, or lie far behind,
-- while what they have said is said again. Skill texts are objects of a skill, a path and a digest.
ALTER TABLE sessions ADD COLUMN from_outside INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN skill_texts TEXT NOT NULL DEFAULT '[]';
