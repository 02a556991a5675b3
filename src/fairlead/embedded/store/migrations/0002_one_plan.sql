-- A plan has one shape, wherever it is: its time is `estimate_s`, and its leaves are told from the
-- revisions, not kept. Plans of the release before name leaves only.

UPDATE plans SET value = json_set(
    json_remove(value, '$.estimate'),
    '$.leaves', json('[]'),
    '$.estimate_s', coalesce(json_extract(value, '$.estimate'), 0.0)
);

UPDATE records SET value = json_set(
    json_remove(value, '$.plan.estimate'),
    '$.plan.leaves', json('[]'),
    '$.plan.estimate_s', coalesce(json_extract(value, '$.plan.estimate'), 0.0)
) WHERE json_type(value, '$.plan') = 'object';
