-- What came with the fifth schema: incidents, and deliveries that are held.
INSERT INTO incidents VALUES
 (1, 'paused', 'run', 'It did not answer.', 1799980000000, NULL, NULL, 3, 'run-0', 'run-2', 1799990000092, 'Paused after 3 failures in a row'),
 (2, 'daily', 'run', 'No network.', 1799900000000, 1799910000000, 'recovered', 2, 'run-8', 'run-9', 1799905000000, NULL);
INSERT INTO outbox VALUES
 ('delivery-3', 'run-1', 'notification', NULL, 'Morning', 'Again three things.', 'held', 0, NULL, 1799996401202, NULL, NULL, 'hold', 1800003600000, NULL),
 ('delivery-4', NULL, 'notification', NULL, 'While it was quiet', 'Two things.', 'delivered', 1, NULL, 1799996401202, NULL, 1799996401300, NULL, NULL, NULL),
 ('delivery-5', 'run-4', 'notification', NULL, 'Removed', 'One thing.', 'delivered', 0, NULL, 1799980000001, NULL, 1799996401300, NULL, NULL, 'delivery-4');
