-- What came with the twenty-second schema: an accepted version of a built tool, and the hash of its compiled component.
INSERT INTO tool_builds (seq, name, hash, language, engine, engine_version, tests, errors, files, manifest, run_id,
        is_tainted, checked_at, state)
    VALUES (1, 'weather', '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', 'javascript', 'wasmtime',
        '48.0.8', '[{"name":"rain","passed":true,"durationMs":3}]', '[]',
        '[{"path":"tool.js","text":"export const run = () => 1;","bytes":27}]', '{"name":"weather"}', 'run-1', 0,
        1799999600000, 'accepted');
INSERT INTO compiled_components (key, hash, recorded_at) VALUES
    ('48.0.8-9f86d081', '60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752', 1799999600001);
