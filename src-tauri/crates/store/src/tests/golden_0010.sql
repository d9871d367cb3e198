-- What came with the tenth schema: a row that stands for the slots of an hour, half of them counted later.
UPDATE runs SET first_slot_at = slot_at - 3600000, counted_from = slot_at - 1800000, counted_under = '3'
    WHERE id = 'run-4';
